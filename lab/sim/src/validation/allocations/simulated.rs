//! The same steps in the simulator.
//!
//! The steps are [`STEP_NS`] apart, which is longer than any time of the engine's settings, so
//! everything is at rest before the next one. Programs are teams that meet for ever, until they are
//! told to end. The memory of a program is where its first thread began, as in the staged ones:
//! placements may look at it.

use super::staged::Step;
use super::stages::{Change, Stage, Stages};
use crate::Nanos;
use crate::dist::Dist;
use crate::machine::{Access, AccessClass, Cache, Costs, Irix, Model, Op, Replacement, System};
use crate::memory::Contention;
use crate::program::{
    Asks, Body, Data, Limits, PagePlace, Part, Phase, PhaseSource, Program, Refs, Split, Vacates, Wait, Work,
};
use crate::workload::{Arrival, List};
use crate::world::{Observer, Setup, World};
use numaestro_engine::{Action, Event, Rejected, Settings};
use numaestro_topology::{Level, Machine, PuSet};
use std::sync::Arc;

/// Time between two steps, nanoseconds.
const STEP_NS: Nanos = 10_000_000_000;
/// Time between two meetings of a team, nanoseconds.
const MEETING_NS: f64 = 10e6;
/// Time from an event to the moment when the decision reaches programs, nanoseconds.
const DECISION_NS: Nanos = 50_000;
/// Memory of a program, pages.
const PAGES: u64 = 64;
/// References to it; they take no time.
const REFERENCES_PER_US: f64 = 1e-3;
const PAGE_BYTES: u32 = 4096;
/// Memory of a node where the machine does not say it, pages.
const NODE_PAGES: u64 = 1 << 20;

/// The stages of these steps on a machine under a policy; the seed is of its random choices.
///
/// # Errors
/// The policy cannot run there.
pub fn simulate(
    machine: &Machine,
    steps: &[Step],
    (policy, seed): (&str, u64),
) -> Result<Vec<(Change, Stage)>, Rejected> {
    let model = Arc::new(model(machine));
    let settings = Settings { policy: policy.to_owned(), ..Settings::default() };
    let until = Some(STEP_NS * (steps.len() as u64 + 1));
    let setup = Setup { settings, seed, contention: Contention::None, until, ..Setup::new(model) };
    let mut watch = Watch::default();
    World::new(setup, Box::new(List::new(arrivals(steps))))?.run(&mut watch);
    Ok(watch.0.finish())
}

/// Keeps the stages of a run.
#[derive(Default)]
struct Watch(Stages);

impl Observer for Watch {
    fn wants_journal(&self) -> bool {
        true
    }

    fn journal(&mut self, _at: Nanos, event: &Event, actions: &[Action]) {
        self.0.hear(event, actions);
    }

    fn wants_runs(&self) -> bool {
        false
    }
}

/// The time of a step, by its number from 0.
fn time(number: usize) -> Nanos {
    STEP_NS * number as u64
}

fn arrivals(steps: &[Step]) -> Vec<Arrival> {
    let mut arrivals: Vec<Arrival> = Vec::new();
    for (number, step) in steps.iter().enumerate() {
        match step {
            Step::Arrive { processors, rigid } => {
                // The staged one declared its maximum too, and policies may go by that.
                let (max, min) = (*processors, if *rigid { *processors } else { 1 });
                let limits = Limits { min, max, ..Limits::default() };
                let program = Arc::new(Program { limits, ..endless(max) });
                arrivals.push(Arrival { at: time(number), job: 0, stream: 0, program, estimate_ns: None, until: None });
            }
            Step::Depart(application) => {
                if let Some(arrival) = arrivals.get_mut(application - 1) {
                    arrival.until = Some(time(number));
                }
            }
        }
    }
    arrivals
}

/// A team that meets for ever. Nobody looks for its phases, because it has none.
fn endless(processors: u32) -> Program {
    let region = Phase::Parallel {
        width: processors,
        iterations: u32::MAX,
        work: Work::Each(Dist::Constant(MEETING_NS)),
        refs: vec![Refs { part: Part::All, ..Refs::new(0, REFERENCES_PER_US) }],
        wait: Wait::Block,
        locked: None,
        curve: None,
    };
    let program = Program::new("endless", processors, Body::Phases(vec![region]));
    let data = Data { name: "own".to_owned(), pages: PAGES, split: Split::Whole, place: PagePlace::Master };
    Program { asks: Asks::Once(PhaseSource::Nobody), vacates: Vacates::AtOnce, data: vec![data], ..program }
}

/// A machine on which nothing but work and decisions takes time.
fn model(machine: &Machine) -> Model {
    let classes = vec![AccessClass { name: "memory".to_owned(), cost_ps: [0; Op::COUNT] }];
    let nodes = machine.numa_nodes();
    let bytes = nodes.iter().filter_map(|node| node.memory_bytes).min();
    Model {
        name: "staged".to_owned(),
        about: "The machine of a staged run".to_owned(),
        cycle_ps: 1000,
        delay: 0,
        access: Access { classes, class_of: vec![0; machine.pu_count() * nodes.len()], hit_ps: 0 },
        cache: Cache { level: Level::Pu, lines: 0, line_bytes: 64, replacement: Replacement::Lru },
        page_bytes: PAGE_BYTES,
        node_pages: bytes.map_or(NODE_PAGES, |bytes| (bytes / u64::from(PAGE_BYTES)).max(1)),
        channels: Vec::new(),
        costs: Costs { decision_ns: DECISION_NS, ..Costs::default() },
        system: System::RoundRobin,
        quantum_ns: 3_000_000,
        favours_new: true,
        irix: Irix::default(),
        reserved: PuSet::new(),
        topology: machine.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn held(policy: &str, steps: &[Step]) -> Vec<(Change, Vec<usize>)> {
        let machine = numaestro_topology::synthetic::parse("numa:2 core:4 pu:1").expect("a machine");
        let stages = simulate(&machine, steps, (policy, 1)).expect("a policy");
        stages
            .into_iter()
            .map(|(change, stage)| (change, stage.values().map(|holding| holding.pus.len()).collect()))
            .collect()
    }

    const fn arrive(processors: u32) -> Step {
        Step::Arrive { processors, rigid: false }
    }

    #[test]
    fn programs_come_and_go_in_the_order_of_the_steps() {
        use Change::{Arrived, Departed};
        let steps = [arrive(8), arrive(8), arrive(2), Step::Depart(1), Step::Depart(3)];
        let expected = [
            (Arrived(1), vec![8]),
            (Arrived(2), vec![4, 4]),
            (Arrived(3), vec![3, 3, 2]),
            (Departed(1), vec![6, 2]),
            (Departed(3), vec![8]),
        ];
        assert_eq!(held("equi", &steps), expected);
    }

    /// A program that arrives declares its maximum, as the live one does.
    #[test]
    fn shares_by_declared_maximums_leave_nothing_free_that_another_could_have() {
        let found: Vec<Vec<usize>> =
            held("EQUI-Dist", &[arrive(8), arrive(3)]).into_iter().map(|(_, counts)| counts).collect();
        assert_eq!(found, [vec![8], vec![5, 3]]);
    }

    #[test]
    fn a_rigid_program_waits() {
        let steps = [arrive(6), Step::Arrive { processors: 4, rigid: true }, Step::Depart(1)];
        let found: Vec<Vec<usize>> = held("fcfs", &steps).into_iter().map(|(_, counts)| counts).collect();
        assert_eq!(found, [vec![6], vec![6, 0], vec![4]]);
    }
}
