//! The simulator against a naive one, on random small scenarios: the same event log, line by line.

#![allow(clippy::cast_sign_loss)] // Times are never below 0.

#[path = "support/naive/mod.rs"]
mod naive;
mod support;
mod world_support;

use numaestro_sim::dist::Dist;
use numaestro_sim::machine::{AccessClass, Model, Op, System};
use numaestro_sim::program::{
    Asks, Body, Data, PagePlace, Part, Phase, PhaseSource, Program, Refs, Split, Vacates, Wait, Work,
};
use numaestro_sim::speedup::Curve;
use numaestro_topology::synthetic;
use proptest::collection::vec;
use proptest::prelude::*;
use support::{cases, logged};
use world_support::{Listed, curve, machine, program, setup, stretch};

/// Longest pause and serial phase that is not told to the engine, so that nobody lends processors.
const TOLD_NS: u64 = 100_000;

/// `nodes` nodes of `pus` processors; a reference to the own one costs as much as a microsecond of
/// work, to the next 3, to others 7: rates of 1/2, 1/4 and 1/8, which are exact.
fn model(nodes: usize, pus: usize) -> Model {
    let topology = synthetic::parse(&format!("numa:{nodes} core:{pus} pu:1")).expect("a tree");
    let mut model = machine(nodes * pus, System::RoundRobin, 1_000_000);
    let class = |us: u64| AccessClass { name: us.to_string(), cost_ps: [us * 1_000_000; Op::COUNT] };
    model.access.classes = [1, 3, 7].map(class).to_vec();
    let class_of = |pu: usize, node: usize| (pu / pus).abs_diff(node).min(2) as u8;
    model.access.class_of = (0..nodes * pus).flat_map(|pu| (0..nodes).map(move |node| class_of(pu, node))).collect();
    model.topology = topology;
    model
}

fn refs() -> impl Strategy<Value = Vec<Refs>> {
    let part = prop_oneof![2 => Just(Part::Own), 1 => Just(Part::Master)];
    let one = (0..4usize, part).prop_map(|(data, part)| Refs { part, ..Refs::new(data, 1.0) });
    proptest::option::of(one).prop_map(|one| one.into_iter().collect())
}

fn time(most: u64) -> impl Strategy<Value = Dist> {
    (1..most).prop_map(|time| Dist::Constant(time as f64))
}

fn phase() -> impl Strategy<Value = Phase> {
    let wait = prop_oneof![Just(Wait::Spin), Just(Wait::Block)];
    let work =
        prop_oneof![time(2_000_000).prop_map(|total| Work::Divided(total, 0.0)), time(500_000).prop_map(Work::Each)];
    let leaf = prop_oneof![
        (time(TOLD_NS), refs()).prop_map(|(work, refs)| Phase::Serial { work, refs }),
        time(TOLD_NS).prop_map(|time| Phase::Pause { time }),
        (1..12u32, time(400_000), refs()).prop_map(|(count, work, refs)| Phase::Tasks {
            count: Dist::Constant(f64::from(count)),
            work,
            refs
        }),
        (1..9u32, 1..5u32, work, wait, refs()).prop_map(|(width, iterations, work, wait, refs)| Phase::Parallel {
            width,
            iterations,
            work,
            refs,
            wait,
            locked: None,
            curve: None
        }),
    ];
    leaf.prop_recursive(2, 6, 3, |inner| {
        (1..4u32, vec(inner, 1..3)).prop_map(|(times, phases)| Phase::Repeat { times, phases })
    })
}

fn shape() -> impl Strategy<Value = Curve> {
    prop_oneof![
        Just(Curve::Linear),
        Just(Curve::Amdahl(0.25)),
        Just(Curve::Downey { average: 3.0, sigma: 0.5 }),
        Just(Curve::Table(vec![(1, 1.0), (4, 3.0)])),
    ]
}

fn odd() -> impl Strategy<Value = Dist> {
    (1..1_000_000u64).prop_map(|amount| Dist::Constant((amount * 2 + 1) as f64))
}

fn any_program() -> impl Strategy<Value = Program> {
    let data = |name: &str, split, place| Data { name: name.to_owned(), pages: 8, split, place };
    let memory = vec![
        data("shared", Split::Whole, PagePlace::FirstTouch),
        data("own", Split::PerThread, PagePlace::Policy),
        data("master's", Split::PerThread, PagePlace::Master),
        data("far", Split::Whole, PagePlace::Node(1)),
    ];
    let phases = (1..7u32, vec(phase(), 1..5)).prop_map(move |(processors, phases)| Program {
        vacates: Vacates::Region,
        data: memory.clone(),
        ..program(processors, phases)
    });
    // Odd work, so that curves do not end at the same nanosecond.
    let curves = (1..7u32, 1..3_000_000u64, shape(), 0..20_000u64)
        .prop_map(|(processors, work, shape, resize)| curve(processors, (work * 2 + 1) as f64, shape, resize));
    let stretched = (1..7u32, vec(stretch(odd), 1..5), 1..4u32, shape(), 0..20_000u64).prop_map(
        |(processors, stretches, times, curve, resize_ns)| Program {
            asks: Asks::Once(PhaseSource::Nobody),
            body: Body::Curve { stretches, times, curve, resize_ns },
            ..program(processors, Vec::new())
        },
    );
    prop_oneof![8 => phases, 1 => curves, 1 => stretched]
}

/// Both simulators on the same jobs. False if the naive one cannot tell that story.
fn both_say(mut jobs: Vec<(u64, Program)>, model: Model, policy: &str, seed: u64) -> Result<bool, TestCaseError> {
    jobs.sort_by_key(|(at, _)| *at);
    let mut setup = setup(model, policy, seed);
    // Nobody is forced.
    (setup.settings.grace_ns, setup.settings.reclaim_ns) = (u64::MAX >> 8, u64::MAX >> 8);
    let Some(naive) = naive::run((*setup.model).clone(), setup.settings.clone(), seed, jobs.clone()) else {
        return Ok(false);
    };
    let (outcome, mut log) = logged(setup, Listed::new(jobs.clone()));
    // Slices that end while nobody else wants the processor change nothing, and the naive one has
    // none.
    log.retain(|entry| entry.name != "slice");
    prop_assert_eq!(outcome.jobs.len(), jobs.len());
    let same = log.iter().zip(&naive).take_while(|(a, b)| a == b).count();
    prop_assert!(
        log == naive,
        "after {} lines the simulator says {:?}\nand the naive one {:?}\n",
        same,
        log.get(same.saturating_sub(3)..log.len().min(same + 3)),
        naive.get(same.saturating_sub(3)..naive.len().min(same + 3))
    );
    Ok(true)
}

proptest! {
    #![proptest_config(cases(600))]

    #[test]
    fn both_tell_the_same_story(
        jobs in vec((0..3_000_000u64, any_program()), 1..7),
        (nodes, pus) in (2..4usize, 3..5usize),
        policy in prop::sample::select(vec![
            "fifo", "batch", "fcfs", "share=dss admission=fifo", "share=equip admission=fifo",
            "share=equi placement=lowest admission=fifo", "share=equi placement=localized admission=fifo",
        ]),
        seed in any::<u64>(),
    ) {
        prop_assume!(both_say(jobs, model(nodes, pus), policy, seed)?);
    }

    #[test]
    fn both_tell_of_the_same_turns(
        jobs in vec((0..3_000_000u64, any_program()), 2..6),
        // Not much larger than one of them, so that they have to take turns.
        (nodes, pus) in (2..3usize, 3..5usize),
        policy in prop::sample::select(vec![
            "share=dss placement=affinity turns=round-robin(quantum=1ms)",
            "share=dss placement=affinity turns=sw-dss(quantum=1ms)",
            "share=dss placement=affinity turns=ssw-dss(quantum=1ms)",
            "share=equi placement=lowest turns=round-robin(quantum=1ms)",
        ]),
        seed in any::<u64>(),
    ) {
        prop_assume!(both_say(jobs, model(nodes, pus), policy, seed)?);
    }
}
