//! What the tests of the world have in common: machines that cost nothing, small programs, lists of
//! arrivals.
#![allow(dead_code)] // Each test crate uses a part of it.

use numaestro_engine::Settings;
use numaestro_sim::dist::Dist;
use numaestro_sim::machine::{Access, AccessClass, Cache, Costs, Irix, Model, Op, Replacement, System};
use numaestro_sim::outcome::Outcome;
use numaestro_sim::program::{Body, Phase, Program, Stretch, Vacates, Wait, Work};
use numaestro_sim::speedup::Curve;
use numaestro_sim::workload::{Arrival, Source};
use numaestro_sim::world::{Observer, Setup, World};
use numaestro_topology::{Level, PuSet, synthetic};
use proptest::prelude::{Strategy, prop_oneof};
use std::collections::VecDeque;
use std::sync::Arc;

/// A machine of `pus` processors on which nothing but work takes time.
pub fn machine(pus: usize, system: System, quantum_ns: u64) -> Model {
    let topology = synthetic::parse(&format!("pack:1 numa:1 core:{pus} pu:1")).unwrap();
    Model {
        name: "plain".to_owned(),
        about: String::new(),
        cycle_ps: 1000,
        delay: 0,
        access: Access {
            classes: vec![AccessClass { name: "local".to_owned(), cost_ps: [0; Op::COUNT] }],
            class_of: vec![0; pus],
            hit_ps: 0,
        },
        cache: Cache { level: Level::Pu, lines: 0, line_bytes: 64, replacement: Replacement::Lru },
        page_bytes: 4096,
        node_pages: 1 << 20,
        channels: Vec::new(),
        costs: Costs::default(),
        system,
        quantum_ns,
        favours_new: true,
        irix: Irix::default(),
        reserved: PuSet::new(),
        topology,
    }
}

/// A program of these phases that wants this many processors.
pub fn program(processors: u32, phases: Vec<Phase>) -> Program {
    Program { vacates: Vacates::AtOnce, ..Program::new("program", processors, Body::Phases(phases)) }
}

/// Any stretch of a curve, of such an amount.
pub fn stretch<S: Strategy<Value = Dist>>(amount: impl Fn() -> S) -> impl Strategy<Value = Stretch> {
    prop_oneof![
        amount().prop_map(Stretch::Parallel),
        amount().prop_map(Stretch::Serial),
        amount().prop_map(Stretch::Pause)
    ]
}

/// A program that is only a curve.
pub fn curve(processors: u32, work: f64, curve: Curve, resize_ns: u64) -> Program {
    Program { body: Body::curve(Dist::Constant(work), curve, resize_ns), ..program(processors, Vec::new()) }
}

/// A region in which every thread draws its own work.
pub fn each(width: u32, iterations: u32, work: Dist, wait: Wait) -> Phase {
    Phase::Parallel { width, iterations, work: Work::Each(work), refs: Vec::new(), wait, locked: None, curve: None }
}

/// Arrivals at these times.
#[derive(Debug)]
pub struct Listed(VecDeque<Arrival>);

impl Listed {
    /// In order of time.
    #[allow(clippy::unnecessary_box_returns)] // A world wants it boxed.
    pub fn new(programs: Vec<(u64, Program)>) -> Box<Self> {
        let arrival = |(job, (at, program))| Arrival {
            at,
            job: job as u64,
            stream: 0,
            program: Arc::new(program),
            estimate_ns: None,
            until: None,
        };
        Box::new(Self(programs.into_iter().enumerate().map(arrival).collect()))
    }
}

impl Source for Listed {
    fn next(&mut self) -> Option<Arrival> {
        self.0.pop_front()
    }

    fn total(&self) -> Option<u64> {
        None
    }
}

/// A run with every check on.
pub fn setup(model: Model, policy: &str, seed: u64) -> Setup {
    let settings = Settings { policy: policy.to_owned(), ..Settings::default() };
    Setup { settings, seed, checks: true, ..Setup::new(Arc::new(model)) }
}

/// Runs these programs to their ends.
pub fn run(model: Model, policy: &str, programs: Vec<(u64, Program)>) -> Outcome {
    run_with(setup(model, policy, 1), programs, &mut ())
}

/// The same, watched.
pub fn run_with(setup: Setup, programs: Vec<(u64, Program)>, observer: &mut dyn Observer) -> Outcome {
    let count = programs.len();
    let mut world = World::new(setup, Listed::new(programs)).unwrap();
    let mut steps = 0;
    while world.step(observer) {
        steps += 1;
        assert!(steps < 300_000, "it does not end: {:?}", world.outcome());
    }
    let outcome = world.outcome();
    assert_eq!(outcome.jobs.len() + outcome.refusals as usize, count, "everybody ends");
    for time in &outcome.pus {
        assert_eq!(time.work + time.spin + time.reload + time.overhead + time.idle, outcome.end);
    }
    outcome
}
