//! Time, work, processors and threads are conserved whatever programs, machines and policies are
//! put together; and the same seed gives the same log, byte for byte.

mod world_support;

use numaestro_engine::{Action, Event};
use numaestro_sim::dist::Dist;
use numaestro_sim::machine::{Costs, System};
use numaestro_sim::program::{Asks, Body, Class, Phase, PhaseSource, Program, Vacates, Wait, Work};
use numaestro_sim::speedup::Curve;
use numaestro_sim::world::Observer;
use proptest::prelude::*;
use world_support::{machine, run_with, setup, stretch};

/// Keeps everything.
#[derive(Default)]
struct Recorder {
    lines: Vec<String>,
    decisions: usize,
}

impl Observer for Recorder {
    fn wants_log(&self) -> bool {
        true
    }

    fn log(&mut self, line: &str) {
        self.lines.push(line.to_owned());
    }

    fn wants_journal(&self) -> bool {
        true
    }

    fn journal(&mut self, _at: u64, _event: &Event, _actions: &[Action]) {
        self.decisions += 1;
    }
}

fn amount() -> impl Strategy<Value = Dist> {
    prop_oneof![
        (0.0..3e6f64).prop_map(Dist::Constant),
        (1.0..3e6f64).prop_map(Dist::Exponential),
        (1.0..2e6f64, 0.1..2.0f64).prop_map(|(mean, cv)| Dist::MeanCv(mean, cv)),
    ]
}

fn wait() -> impl Strategy<Value = Wait> {
    prop_oneof![Just(Wait::Spin), Just(Wait::Block), (0..2_000_000u64).prop_map(Wait::SpinThenBlock)]
}

fn work() -> impl Strategy<Value = Work> {
    prop_oneof![(amount(), 0.0..1.5f64).prop_map(|(total, cv)| Work::Divided(total, cv)), amount().prop_map(Work::Each)]
}

fn phase() -> impl Strategy<Value = Phase> {
    let leaf = prop_oneof![
        amount().prop_map(|work| Phase::Serial { work, refs: Vec::new() }),
        amount().prop_map(|time| Phase::Pause { time }),
        (1..9u32).prop_map(|processors| Phase::Request { processors }),
        (0..12u32, amount()).prop_map(|(count, work)| Phase::Tasks {
            count: Dist::Constant(f64::from(count)),
            work,
            refs: Vec::new()
        }),
        (1..9u32, 1..6u32, work(), wait(), proptest::option::of(amount())).prop_map(
            |(width, iterations, work, wait, locked)| Phase::Parallel {
                width,
                iterations,
                work,
                refs: Vec::new(),
                wait,
                locked,
                curve: None
            }
        ),
    ];
    leaf.prop_recursive(2, 8, 3, |inner| {
        (0..4u32, proptest::collection::vec(inner, 1..3)).prop_map(|(times, phases)| Phase::Repeat { times, phases })
    })
}

fn program() -> impl Strategy<Value = Program> {
    let body = prop_oneof![
        8 => proptest::collection::vec(phase(), 1..5).prop_map(Body::Phases),
        2 => (proptest::collection::vec(stretch(amount), 1..4), 1..4u32, 0..500_000u64).prop_map(|(stretches, times, resize_ns)| Body::Curve {
            stretches,
            times,
            curve: Curve::Amdahl(0.2),
            resize_ns
        }),
    ];
    let once = proptest::sample::select(&PhaseSource::ALL[..]).prop_map(Asks::Once);
    let asks = prop_oneof![once, Just(Asks::Runnable), Just(Asks::Creation)];
    let vacates = prop_oneof![Just(Vacates::AtOnce), Just(Vacates::Task), Just(Vacates::Region)];
    let class = prop_oneof![Just(Class::Malleable), Just(Class::Fold)];
    (1..9u32, asks, vacates, class, 0..200_000u64, 0..2000u64, body).prop_map(
        |(processors, asks, vacates, class, creation_ns, footprint_lines, body)| Program {
            class,
            asks,
            vacates,
            creation_ns,
            footprint_lines,
            ..Program::new("random", processors, body)
        },
    )
}

fn costs() -> impl Strategy<Value = Costs> {
    (0..20_000u64, 0..20_000u64, prop_oneof![Just(0u64), 1..50_000u64]).prop_map(
        |(switch_ns, migration_ns, decision_ns)| Costs {
            switch_ns,
            migration_ns,
            page_fault_ns: 0,
            decision_ns,
            ..Costs::default()
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn everything_is_conserved_and_everybody_ends(
        programs in proptest::collection::vec((0..5_000_000u64, program()), 1..6),
        pus in 1..9usize,
        system in prop_oneof![Just(System::RoundRobin), Just(System::Linux24), Just(System::Irix)],
        quantum in 100_000..5_000_000u64,
        costs in costs(),
        policy in prop_oneof![Just("equi"), Just("dss"), Just("fifo"), Just("linux24"), Just("sgi-mp"), Just("equip"), Just("batch")],
        seed in any::<u64>(),
    ) {
        let mut programs = programs;
        programs.sort_by_key(|(at, _)| *at);
        let mut model = machine(pus, system, quantum);
        model.costs = costs;
        model.cache.lines = 1000;
        let mut recorder = Recorder::default();
        let watched = run_with(setup(model.clone(), policy, seed), programs.clone(), &mut recorder);
        prop_assert_eq!(recorder.decisions as u64, watched.engine_events);
        let mut again = Recorder::default();
        let second = run_with(setup(model.clone(), policy, seed), programs.clone(), &mut again);
        prop_assert_eq!(&recorder.lines, &again.lines);
        prop_assert_eq!(&watched, &second);
        let unwatched = run_with(setup(model, policy, seed), programs, &mut ());
        prop_assert_eq!(watched, unwatched);
    }
}
