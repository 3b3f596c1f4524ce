//! How long the policies of the NANOS family take for one decision about 64 applications of 16
//! threads each on 256 PUs: at the end of a turn and within it, turns and share together. Prints
//! microseconds: median and 99th percentile.
//!
//! `cargo run --release -p numaestro-policy --example nanos`

mod times;

use numaestro_policy::{App, AppId, Policy, Processor, PuState, Random, Shares, Slot, Speedup, Turn, View};
use numaestro_topology::{Machine, synthetic};
use std::time::Instant;
use times::percentile;

const APPS: u32 = 64;
const PUS: u32 = 256;
const TURNS: u32 = 2000;
const QUANTUM: u64 = 100_000_000;

fn app(slot: u32) -> App {
    App::new(AppId(u64::from(slot) + 1), 16)
}

/// Who asks and what there is.
struct Bench {
    machine: Machine,
    pus: Vec<Processor>,
    apps: Vec<App>,
    order: Vec<Slot>,
    policy: Policy,
    turn: Turn,
    shares: Shares,
}

impl Bench {
    /// One decision: nanoseconds.
    fn decide(&mut self, now_ns: u64) -> u64 {
        for app in &mut self.apps {
            app.turn = u32::MAX;
        }
        let begin = Instant::now();
        self.turn.reset(&self.order);
        let (machine, pus) = (&self.machine, &self.pus[..]);
        let (apps, order) = (&self.apps[..], &self.order[..]);
        let view =
            View { now_ns, machine, pus, apps, order, capacity: PUS, threads: &[], buses: &[], free_memory: &[] };
        self.policy.turns.now(&view, &mut self.turn);
        for &(slot, limit) in self.turn.limits() {
            self.apps[slot.index()].turn = limit;
        }
        self.shares.reset(self.apps.len());
        let (apps, order) = (&self.apps[..], &self.turn.running[..]);
        let view =
            View { now_ns, machine, pus, apps, order, capacity: PUS, threads: &[], buses: &[], free_memory: &[] };
        self.policy.share.divide(&view, &mut self.shares);
        begin.elapsed().as_nanos() as u64
    }

    /// What the decision says is so; half of those that run report a speedup.
    fn carry_out(&mut self, random: &mut Random) {
        for (slot, app) in self.apps.iter_mut().enumerate() {
            let count = self.shares.count(Slot(slot as u32));
            app.report = None;
            if count > 0 && count == app.allocation && random.below(2) == 0 {
                app.report = Some(Speedup { processors: count, speedup_milli: count * (600 + random.below(400)) });
                app.reports += 1;
            }
            app.allocation = count;
            if random.below(16) == 0 {
                app.request = 1 + random.below(32);
            }
        }
    }
}

fn measure(policy: &str) {
    let mut bench = Bench {
        machine: synthetic::parse("pack:4 core:64 pu:1").expect("a machine"),
        pus: vec![Processor { state: PuState::Free, ..Processor::default() }; PUS as usize],
        apps: (0..APPS).map(app).collect(),
        order: (0..APPS).map(Slot).collect(),
        policy: Policy::parse(policy, 0).unwrap_or_else(|rejected| panic!("{rejected}")),
        turn: Turn::new(),
        shares: Shares::new(),
    };
    let mut random = Random::new(1);
    let (mut at_end, mut within) = (Vec::new(), Vec::new());
    for turn in 0..u64::from(TURNS) {
        at_end.push(bench.decide(turn * QUANTUM));
        bench.carry_out(&mut random);
        within.push(bench.decide(turn * QUANTUM + QUANTUM / 2));
        bench.carry_out(&mut random);
    }
    println!(
        "{policy:20} end of turn {:6.1} {:6.1}  within {:6.1} {:6.1}",
        percentile(&mut at_end, 50),
        percentile(&mut at_end, 99),
        percentile(&mut within, 50),
        percentile(&mut within, 99)
    );
}

fn main() {
    for policy in ["round-robin", "sw-dss", "ssw-dss", "vtq-dss", "turns=vtq-dss(k=2)", "pdpa"] {
        measure(policy);
    }
}
