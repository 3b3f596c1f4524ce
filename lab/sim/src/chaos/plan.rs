//! The parts of one run, drawn from its seed: machine, policy, settings, programs.

use super::faults::Faults;
use crate::Nanos;
use crate::random::{Purpose, Stream};
use numaestro_engine::{Class, Engine, Needs, Settings, Wish};
use numaestro_policy::{Bus, Party, catalogue};
use numaestro_topology::{Machine, PuId, PuSet, synthetic};

/// Processors of the largest machine.
const PUS_MAX: u32 = 64;
/// Tries to find a policy that fits, before `equi` is taken.
const TRIES: u32 = 6;
const MS: Nanos = 1_000_000;

/// The parts of a run.
#[derive(Debug)]
pub struct Plan {
    /// Its seed.
    pub seed: u64,
    /// The machine, as a synthetic description.
    pub description: String,
    /// The machine.
    pub machine: Machine,
    /// The engine's settings, with the policy to begin with.
    pub settings: Settings,
    /// Number of programs that arrive while faults strike.
    pub programs: u32,
    /// Duration of the faults, nanoseconds.
    pub chaos_ns: Nanos,
    draws: Stream,
}

impl Plan {
    /// Draws the plan of a seed.
    pub fn draw(seed: u64) -> Self {
        let mut draws = Stream::new(seed, Purpose::Generator, 0);
        let (description, machine) = machine(&mut draws);
        let pus = machine.pu_count() as u32;
        let reserved =
            if pus > 2 && draws.below(5) == 0 { PuSet::from_iter([PuId(draws.below(pus))]) } else { PuSet::new() };
        let mut settings = Settings {
            grace_ns: [MS, 10 * MS, 10 * MS, 50 * MS][draws.below(4) as usize],
            cooldown_ns: [MS, 100 * MS][draws.below(2) as usize],
            host: Needs { requests: true, speedup: true, bandwidth: true, page_control: true, preemption: true },
            move_for_rounding: draws.below(4) == 0,
            positions: [u32::MAX, 1][draws.below(2) as usize],
            reserved,
            buses: buses(&machine, &mut draws),
            parties: parties(&mut Stream::new(seed, Purpose::Generator, 1), pus),
            ..Settings::default()
        };
        settings.policy = policy(&mut draws, &machine, &settings);
        let most = [3, 8, 20, 40][draws.below(4) as usize];
        let programs = 1 + draws.below(most);
        let chaos_ns = [20 * MS, 200 * MS, 1000 * MS, 6000 * MS][draws.below(4) as usize];
        Self { seed, description, machine, settings, programs, chaos_ns, draws }
    }

    /// Machine, policy, faults: one line.
    pub(super) fn about(&self, faults: &Faults) -> String {
        let Self { description, settings, programs, .. } = self;
        let faults = faults.describe();
        format!("machine `{description}`, policy `{}`, {programs} programs, faults {faults}", settings.policy)
    }

    /// Draws another policy that can be used here.
    pub fn policy(&mut self) -> String {
        policy(&mut self.draws, &self.machine, &self.settings)
    }

    /// Draws other parties, or none any more, as an administrator may say at any time.
    pub fn other_parties(&mut self) -> Vec<Party> {
        parties(&mut self.draws, self.machine.pu_count() as u32)
    }

    /// The wish of the program with this number; the same whatever happened before.
    pub fn wish(&self, program: u32) -> Wish {
        let mut draws = Stream::new(self.seed, Purpose::Program, u64::from(program));
        let pus = self.machine.pu_count() as u32;
        let min = if draws.below(5) == 0 { 1 + draws.below(pus) } else { 1 };
        let max = if draws.below(6) == 0 { min + draws.below(4) } else { u32::MAX };
        Wish {
            request: 1 + draws.below(2 * pus),
            min,
            max,
            weight_milli: if draws.below(4) == 0 { 1 + draws.below(4000) } else { 1000 },
            class: [Class::Malleable, Class::Malleable, Class::Setter, Class::Fold][draws.below(4) as usize],
            wait: [None, None, Some(true), Some(false)][draws.below(4) as usize],
            estimate_ns: (draws.below(2) == 0).then(|| u64::from(1 + draws.below(1000)) * MS),
            party: draws.below(6),
            memory: if draws.below(3) == 0 { u64::from(draws.below(64)) << 30 } else { 0 },
            ..Wish::new(1)
        }
    }
}

fn machine(draws: &mut Stream) -> (String, Machine) {
    loop {
        let (nodes, cores, threads) = (1 + draws.below(8), 1 + draws.below(16), 1 + u32::from(draws.below(3) == 0));
        if nodes * cores * threads <= PUS_MAX {
            let level = ["numa", "pack"][draws.below(2) as usize];
            let description = format!("{level}:{nodes} core:{cores} pu:{threads}");
            if let Ok(machine) = synthetic::parse(&description) {
                return (description, machine);
            }
        }
    }
}

/// Draws a bus for each memory node; not every capacity is known.
fn buses(machine: &Machine, draws: &mut Stream) -> Vec<Bus> {
    let mut bus = |pus: &PuSet| Bus { pus: pus.clone(), saturation: [0, 30_000, 30_000][draws.below(3) as usize] };
    machine.numa_nodes().iter().map(|node| bus(&node.pus)).collect()
}

/// Draws no parties in half of all runs; else up to five, with limits and reserves or without. Some
/// of them have no program, and some programs name a party that does not exist.
fn parties(draws: &mut Stream, pus: u32) -> Vec<Party> {
    let count = draws.below(11).saturating_sub(5);
    let mut party = |_| Party {
        weight_milli: if draws.below(3) == 0 { 1 + draws.below(4000) } else { 1000 },
        most: if draws.below(3) == 0 { 1 + draws.below(pus) } else { u32::MAX },
        reserved: if draws.below(4) == 0 { draws.below(1 + pus / 2) } else { 0 },
    };
    (0..count).map(&mut party).collect()
}

/// Draws a preset or any combination of parts that this machine and host can have.
fn policy(draws: &mut Stream, machine: &Machine, settings: &Settings) -> String {
    let entries = catalogue();
    for _ in 0..TRIES {
        let mut some = |part: &str| {
            let names: Vec<&str> =
                entries.iter().filter(|entry| entry.part == part).map(|entry| entry.info.name).collect();
            names[draws.below(names.len() as u32) as usize]
        };
        let preset = some("preset").to_owned();
        let mut combination = format!("share={}", some("share"));
        for part in ["placement", "turns", "admission", "pages"] {
            combination.push_str(&[" ", part, "=", some(part)].concat());
        }
        let text = if draws.below(2) == 0 { preset } else { combination };
        let tried = Settings { policy: text.clone(), ..settings.clone() };
        if Engine::new(machine.clone(), tried, 0).is_ok() {
            return text;
        }
    }
    "equi".to_owned()
}
