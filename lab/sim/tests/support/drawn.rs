//! Random small programs, when they arrive, and what they run on.

use super::support::{Entry, logged};
use super::world_support::{Listed, machine, program};
use numaestro_sim::dist::Dist;
use numaestro_sim::machine::{AccessClass, Model, Op, System};
use numaestro_sim::outcome::Outcome;
use numaestro_sim::program::{Asks, Class, Phase, PhaseSource, Program, Refs, Vacates, Wait, Work};
use numaestro_sim::world::Setup;
use numaestro_topology::synthetic;
use proptest::collection::vec;
use proptest::prelude::*;

/// Divides among up to eight threads without a remainder, and is above what is too short to be told
/// when taken 120 times.
pub const STEP: u64 = 840;

/// Programs and when they arrive.
pub type Jobs = Vec<(u64, Program)>;

pub fn amount() -> impl Strategy<Value = Dist> {
    let steps = || (120..4000u64).prop_map(|steps| (steps * STEP) as f64);
    prop_oneof![
        2 => steps().prop_map(Dist::Constant),
        1 => (steps(), steps()).prop_map(|(one, other)| Dist::Choice(vec![(one, 0.7), (other, 0.3)])),
    ]
}

pub fn wait() -> impl Strategy<Value = Wait> {
    prop_oneof![Just(Wait::Spin), Just(Wait::Block), (1..2000u64).prop_map(|steps| Wait::SpinThenBlock(steps * STEP))]
}

pub fn region(wait: impl Strategy<Value = Wait>, refs: Vec<Refs>) -> impl Strategy<Value = Phase> {
    let work = prop_oneof![amount().prop_map(|total| Work::Divided(total, 0.0)), amount().prop_map(Work::Each),];
    (1..9u32, 1..5u32, work, wait, proptest::option::of(amount())).prop_map(
        move |(width, iterations, work, wait, locked)| Phase::Parallel {
            width,
            iterations,
            work,
            refs: refs.clone(),
            wait,
            locked,
            curve: None,
        },
    )
}

pub fn tasks(refs: Vec<Refs>) -> impl Strategy<Value = Phase> {
    (1..10u32, amount()).prop_map(move |(count, work)| Phase::Tasks {
        count: Dist::Constant(f64::from(count)),
        work,
        refs: refs.clone(),
    })
}

pub fn phase() -> impl Strategy<Value = Phase> {
    prop_oneof![
        amount().prop_map(|work| Phase::Serial { work, refs: Vec::new() }),
        amount().prop_map(|time| Phase::Pause { time }),
        (1..9u32).prop_map(|processors| Phase::Request { processors }),
        tasks(Vec::new()),
        region(wait(), Vec::new()),
    ]
}

pub fn asks() -> impl Strategy<Value = Asks> {
    prop_oneof![Just(Asks::Once(PhaseSource::Program)), Just(Asks::Runnable), Just(Asks::Creation)]
}

pub fn any_program() -> impl Strategy<Value = Program> {
    let vacates = prop_oneof![Just(Vacates::AtOnce), Just(Vacates::Task), Just(Vacates::Region)];
    let class = prop_oneof![Just(Class::Malleable), Just(Class::Fold)];
    (1..9u32, asks(), vacates, class, 0..200u64, vec(phase(), 1..5)).prop_map(
        |(processors, asks, vacates, class, creation, phases)| Program {
            asks,
            vacates,
            class,
            creation_ns: creation * STEP,
            ..program(processors, phases)
        },
    )
}

/// Jobs in order of arrival.
pub fn jobs(program: impl Strategy<Value = Program>, most: usize) -> impl Strategy<Value = Jobs> {
    vec((0..6000u64, program), 1..most).prop_map(|mut jobs| {
        jobs.sort_by_key(|(at, _)| *at);
        jobs.into_iter().map(|(at, program)| (at * STEP, program)).collect()
    })
}

pub fn run(setup: Setup, jobs: &Jobs) -> (Outcome, Vec<Entry>) {
    logged(setup, Listed::new(jobs.clone()))
}

/// Arrival, start, end and processor time of each job, by its number.
pub fn times(outcome: &Outcome) -> Vec<[u64; 5]> {
    let mut times: Vec<[u64; 5]> =
        outcome.jobs.iter().map(|job| [job.job, job.arrived, job.started, job.ended, job.cpu_ns]).collect();
    times.sort_unstable();
    times
}

/// A machine of this tree on which only references to memory cost anything: 1000, 3000, 7000 ns by
/// class, or all the same.
pub fn tree(text: &str, costs_ns: [u64; 3]) -> Model {
    let topology = synthetic::parse(text).expect("a tree");
    let nodes = topology.numa_nodes().len();
    let mut model = machine(topology.pu_count(), System::RoundRobin, 1_000_000);
    let class = |ns: &u64| AccessClass { name: ns.to_string(), cost_ps: [ns * 1000; Op::COUNT] };
    model.access.classes = costs_ns.iter().map(class).collect();
    let reach =
        |pu: &numaestro_topology::Pu, node: usize| match (pu.node.index() == node, pu.node.index() / 2 == node / 2) {
            (true, _) => 0,
            (false, true) => 1,
            (false, false) => 2,
        };
    let pus = topology.pus();
    model.access.class_of = pus.iter().flat_map(|pu| (0..nodes).map(move |node| reach(pu, node))).collect();
    model.topology = topology;
    model
}

/// Policies without constants of their own.
pub const POLICIES: [&str; 9] =
    ["equi", "dss", "equip", "cluster", "fifo", "linux24", "nopool", "localized", "DYN-Dist"];

pub fn policy() -> impl Strategy<Value = &'static str> {
    prop::sample::select(POLICIES.to_vec())
}
