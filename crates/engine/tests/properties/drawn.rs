//! What is drawn: machines, policies, and what happens.

use numaestro_policy::{Bus, Party, Policy, Random, catalogue};
use numaestro_topology::Machine;
use proptest::prelude::*;
use std::sync::LazyLock;

pub const MACHINES: [&str; 8] = [
    "core:1 pu:1",
    "core:2 pu:1",
    "core:2 pu:2",
    "numa:2 core:3 pu:1",
    "pack:2 l3:2 core:2 pu:2",
    "pack:3 numa:1 core:5 pu:1",
    "numa:4 l3:2 core:4 pu:1",
    "pack:1 core:7 pu:2",
];

/// Every combination that makes sense.
pub fn policies() -> Vec<String> {
    let of = |part: &str| -> Vec<&'static str> {
        catalogue().iter().filter(|entry| entry.part == part).map(|entry| entry.info.name).collect()
    };
    let mut out = Vec::new();
    for share in of("share") {
        for placement in of("placement") {
            for admission in of("admission") {
                let text = format!("share={share} placement={placement} admission={admission}");
                if Policy::parse(&text, 0).is_ok() {
                    out.push(text);
                }
            }
        }
    }
    let refused = |share: &str| Policy::parse(&format!("share={share} admission=easy"), 0).is_err();
    assert!(refused("equi") && Policy::parse("share=batch", 0).is_err() && !refused("batch"));
    assert!(out.len() >= of("share").len() * of("placement").len(), "{out:?}");
    out
}

/// A combination, a preset, one that depends on the machine, or one of `others`.
pub fn some_policy(which: u32, pus: u32, others: &[&str]) -> String {
    static POLICIES: LazyLock<Vec<String>> = LazyLock::new(policies);
    static PRESETS: LazyLock<Vec<&'static str>> = LazyLock::new(|| {
        catalogue().iter().filter(|entry| entry.part == "preset").map(|entry| entry.info.name).collect()
    });
    static TURNS: LazyLock<Vec<&'static str>> = LazyLock::new(|| {
        let turns = catalogue().into_iter().filter(|entry| entry.part == "turns");
        turns.map(|entry| entry.info.name).filter(|name| Policy::parse(&format!("turns={name}"), 0).is_ok()).collect()
    });
    let which = which as usize;
    match which % 8 {
        0..=1 => POLICIES[which / 8 % POLICIES.len()].clone(),
        2 => {
            let turns = TURNS[which / 8 % TURNS.len()];
            let text = format!("{} turns={turns}", POLICIES[which / 64 % POLICIES.len()]);
            if Policy::parse(&text, 0).is_ok() { text } else { format!("share=dss turns={turns}") }
        }
        3 => {
            let (a, b) = (fixed_places(pus, which as u32 / 8), fixed_places(pus, which as u32 / 64));
            format!("share=demand placement=fixed(at={a};{b}) admission=share")
        }
        4 if !others.is_empty() => others[which / 8 % others.len()].to_owned(),
        _ => PRESETS[which / 8 % PRESETS.len()].to_owned(),
    }
}

/// Up to three places, from one on; never the first processor if there are others, because that one
/// may be reserved.
pub fn fixed_places(pus: u32, from: u32) -> String {
    let lowest = u32::from(pus > 2);
    let number = |pu: u32| (pu + pus - lowest - from % (pus - lowest)) % (pus - lowest) + 1;
    (0..pus).map(|pu| if pu < lowest || number(pu) > 3 { "-".to_owned() } else { number(pu).to_string() }).collect()
}

/// One for each memory node; what they carry is sometimes not known.
pub fn buses(machine: &Machine, seed: u64) -> Vec<Bus> {
    let nodes = machine.numa_nodes().iter().enumerate();
    let saturation = |node: usize| if (seed >> node).is_multiple_of(3) { 0 } else { 30_000 };
    nodes.map(|(node, there)| Bus { pus: there.pus.clone(), saturation: saturation(node) }).collect()
}

/// None, or up to four: with limits and reserves, or without.
pub fn parties(seed: u64, pus: u32) -> Vec<Party> {
    let mut random = Random::new(seed);
    let count = random.below(8).saturating_sub(3);
    let party = |_| Party {
        weight_milli: [1000, 1000, 2000, 500][random.below(4) as usize],
        most: if random.below(2) == 0 { u32::MAX } else { 1 + random.below(pus) },
        reserved: if random.below(2) == 0 { 0 } else { random.below(1 + pus / 2) },
    };
    (0..count).map(party).collect()
}

/// Kinds of what happens.
pub const KINDS: u8 = 55;

/// What a random number makes happen.
#[derive(Debug, Clone)]
pub struct Op {
    pub kind: u8,
    pub who: u32,
    pub a: u32,
    pub b: u32,
    pub after_ns: u64,
}

pub fn op() -> impl Strategy<Value = Op> {
    let time = prop_oneof![4 => 0u64..1000, 2 => 0u64..6_000_000, 1 => 0u64..3_000_000_000];
    (0..KINDS, any::<u32>(), any::<u32>(), any::<u32>(), time).prop_map(|(kind, who, a, b, after_ns)| Op {
        kind,
        who,
        a,
        b,
        after_ns,
    })
}

/// A story for a policy that is not drawn but given.
pub fn drawn_ops(seed: u64) -> Vec<Op> {
    let mut random = Random::new(seed);
    let op = |_| Op {
        kind: random.below(u32::from(KINDS)) as u8,
        who: random.draw() as u32,
        a: random.draw() as u32,
        b: random.draw() as u32,
        after_ns: [u64::from(random.below(1000)), u64::from(random.below(6_000_000)), 3_000_000_000]
            [random.below(5).saturating_sub(2) as usize],
    };
    // The policy stays: it is the one that is looked at.
    (0..70).map(op).filter(|op| op.kind != 30).collect()
}
