//! What must change in a known way, or not at all, when a scenario is changed in a known way: on
//! random small scenarios, all of them with conservation checked at every event.

#[path = "support/drawn.rs"]
mod drawn;
mod support;
mod world_support;

use drawn::{Jobs, POLICIES, STEP, amount, any_program, asks, jobs, policy, region, run, tasks, times, tree, wait};
use numaestro_sim::dist::Dist;
use numaestro_sim::machine::{Costs, System};
use numaestro_sim::program::{
    Asks, Data, PagePlace, Part, Phase, PhaseSource, Program, Refs, Split, Vacates, Wait, Work,
};
use numaestro_sim::workload::offered::mean_work;
use numaestro_topology::PuId;
use proptest::collection::vec;
use proptest::prelude::*;
use support::cases;
use world_support::{machine, program, setup};

/// All times of a distribution, a phase, a program, so many times longer.
fn longer(dist: &Dist, k: u64) -> Dist {
    let k = k as f64;
    match dist {
        Dist::Constant(value) => Dist::Constant(value * k),
        Dist::Choice(values) => Dist::Choice(values.iter().map(|(value, weight)| (value * k, *weight)).collect()),
        other => panic!("{other:?} is rounded"),
    }
}

fn longer_phase(phase: &Phase, k: u64) -> Phase {
    let mut phase = phase.clone();
    match &mut phase {
        Phase::Serial { work, .. } | Phase::Tasks { work, .. } => *work = longer(work, k),
        Phase::Pause { time } => *time = longer(time, k),
        Phase::Parallel { work, wait, locked, .. } => {
            match work {
                Work::Divided(dist, _) | Work::Each(dist) => *dist = longer(dist, k),
            }
            if let Wait::SpinThenBlock(limit) = wait {
                *limit *= k;
            }
            *locked = locked.as_ref().map(|locked| longer(locked, k));
        }
        Phase::Request { .. } | Phase::Repeat { .. } => {}
    }
    phase
}

fn longer_jobs(jobs: &Jobs, k: u64) -> Jobs {
    let program = |program: &Program| {
        let numaestro_sim::program::Body::Phases(phases) = &program.body else { panic!("phases") };
        let phases = phases.iter().map(|phase| longer_phase(phase, k)).collect();
        Program {
            body: numaestro_sim::program::Body::Phases(phases),
            creation_ns: program.creation_ns * k,
            ..program.clone()
        }
    };
    jobs.iter().map(|(at, job)| (at * k, program(job))).collect()
}

proptest! {
    #![proptest_config(cases(250))]

    #[test]
    fn a_clock_that_runs_slower_changes_nothing_but_times(
        jobs in jobs(any_program(), 6),
        pus in 1..9usize,
        quantum in 100..6000u64,
        costs in (0..20u64, 0..20u64, 0..40u64),
        policy in policy(),
        k in 2..10u64,
        seed in any::<u64>(),
    ) {
        let run_with = |k: u64| {
            let mut model = machine(pus, System::RoundRobin, quantum * STEP * k);
            let (switch, migration, decision) = costs;
            model.costs = Costs {
                switch_ns: switch * STEP * k,
                migration_ns: migration * STEP * k,
                decision_ns: decision * STEP * k,
                ..Costs::default()
            };
            let mut setup = setup(model, policy, seed);
            let settings = &mut setup.settings;
            for time in [
                &mut settings.grace_ns,
                &mut settings.reclaim_ns,
                &mut settings.cooldown_ns,
                &mut settings.recovery_ns,
            ] {
                *time *= k;
            }
            run(setup, &longer_jobs(&jobs, k))
        };
        let ((plain, mut log), (slow, slow_log)) = (run_with(1), run_with(k));
        for entry in &mut log {
            entry.at *= k;
        }
        prop_assert_eq!(log, slow_log);
        prop_assert_eq!(plain.end * k, slow.end);
        for (plain, slow) in plain.pus.iter().zip(&slow.pus) {
            let [plain, slow] = [plain, slow].map(|time| [time.work, time.spin, time.reload, time.overhead, time.idle]);
            prop_assert_eq!(plain.map(|time| time * k), slow);
        }
    }

    #[test]
    fn processors_of_a_cluster_have_only_different_names(
        jobs in jobs(any_program(), 6),
        holes in [vec(0..4u32, 3..4), vec(0..4u32, 3..4)],
        system in prop_oneof![Just(System::RoundRobin), Just(System::Linux24), Just(System::Irix)],
        policy in prop::sample::select(vec![
            "equi", "dss", "fifo", "linux24", "share=equi placement=lowest",
            "share=demand placement=worst-fit(tie=lowest) admission=fifo",
            "share=demand placement=localized(tie=lowest) admission=fifo",
        ]),
    ) {
        // Three clusters of four, in each of which one is missing; the others are numbered through.
        let run_without = |holes: &[u32]| {
            let mut model = tree("numa:3 core:4 pu:1", [0; 3]);
            model.system = system;
            model.cache.lines = 1000;
            model.reserved = holes.iter().enumerate().map(|(node, hole)| PuId(node as u32 * 4 + hole)).collect();
            let names: Vec<PuId> = model.topology.pus().iter().map(|pu| pu.id).filter(|&pu| !model.reserved.contains(pu)).collect();
            let (outcome, mut log) = run(setup(model, policy, 1), &jobs);
            for entry in log.iter_mut().filter(|entry| entry.is_on_pu()) {
                let known = names.iter().position(|name| name.0 == entry.value);
                entry.value = known.expect("not a reserved one") as u32;
            }
            (times(&outcome), log)
        };
        let ((times, log), (other_times, other_log)) = (run_without(&holes[0]), run_without(&holes[1]));
        prop_assert_eq!(log, other_log);
        prop_assert_eq!(times, other_times);
    }
}

/// Programs of which it is known how much they have to do, whatever they get: nothing is each
/// thread's own.
fn of_known_work() -> impl Strategy<Value = Program> {
    let constant = || (120..4000u64).prop_map(|steps| Dist::Constant((steps * STEP) as f64));
    let phase = prop_oneof![
        constant().prop_map(|work| Phase::Serial { work, refs: Vec::new() }),
        constant().prop_map(|time| Phase::Pause { time }),
        (1..9u32).prop_map(|processors| Phase::Request { processors }),
        (1..10u32, constant()).prop_map(|(count, work)| Phase::Tasks {
            count: Dist::Constant(f64::from(count)),
            work,
            refs: Vec::new()
        }),
        (1..9u32, 1..5u32, constant(), wait()).prop_map(|(width, iterations, total, wait)| Phase::Parallel {
            width,
            iterations,
            work: Work::Divided(total, 0.0),
            refs: Vec::new(),
            wait,
            locked: None,
            curve: None
        }),
    ];
    let vacates = prop_oneof![Just(Vacates::AtOnce), Just(Vacates::Task), Just(Vacates::Region)];
    (1..9u32, asks(), vacates, vec(phase, 1..6)).prop_map(|(processors, asks, vacates, phases)| Program {
        asks,
        vacates,
        ..program(processors, phases)
    })
}

proptest! {
    #![proptest_config(cases(300))]

    #[test]
    fn processors_work_as_long_as_programs_have_to_do(
        jobs in jobs(of_known_work(), 6),
        pus in 1..9usize,
        costs in (0..20_000u64, 0..20_000u64, 0..30_000u64),
        policy in prop::sample::select([&POLICIES[..], &["sgi-mp", "HS-Dist", "FP-Dist", "batch", "easy"]].concat()),
        seed in any::<u64>(),
    ) {
        let mut model = machine(pus, System::RoundRobin, 300_000);
        let (switch_ns, migration_ns, decision_ns) = costs;
        model.costs = Costs { switch_ns, migration_ns, page_fault_ns: 0, decision_ns, ..Costs::default() };
        let (outcome, _) = run(setup(model, policy, seed), &jobs);
        prop_assume!(outcome.refusals == 0);
        let given: f64 = jobs.iter().map(|(_, program)| mean_work(program)).sum();
        let worked: u64 = outcome.pus.iter().map(|time| time.work).sum();
        prop_assert!((given - worked as f64).abs() < 0.5, "{} is not {}", worked, given);
    }
}

/// References to all kinds of data, in every way.
fn references() -> Vec<Refs> {
    let refs = |data, part| Refs { part, hits: 0.25, ..Refs::new(data, 0.5) };
    vec![refs(0, Part::Own), refs(1, Part::Own), refs(2, Part::All), refs(3, Part::Master)]
}

fn memory() -> Vec<Data> {
    let data = |name: &str, split, place| Data { name: name.to_owned(), pages: 10, split, place };
    vec![
        data("shared", Split::Whole, PagePlace::Policy),
        data("own", Split::PerThread, PagePlace::FirstTouch),
        data("scattered", Split::Whole, PagePlace::RoundRobin),
        data("master's", Split::Whole, PagePlace::Master),
    ]
}

/// Programs that refer to memory.
fn referring(asks: Asks) -> impl Strategy<Value = Program> {
    let phase = prop_oneof![
        amount().prop_map(|work| Phase::Serial { work, refs: references() }),
        amount().prop_map(|time| Phase::Pause { time }),
        tasks(references()),
        region(Just(Wait::Spin), references()),
    ];
    of_phases(asks, phase)
}

/// The same without what makes a program lend processors: who takes lent ones has them a moment
/// later than who takes free ones, and which of the two it takes is the placement's choice. For the
/// same reason nothing is taken away from anybody where they are used.
fn never_lending() -> impl Strategy<Value = Program> {
    of_phases(
        Asks::Once(PhaseSource::Program),
        prop_oneof![tasks(references()), region(Just(Wait::Spin), references())],
    )
}

fn of_phases(asks: Asks, phase: impl Strategy<Value = Phase>) -> impl Strategy<Value = Program> {
    (1..9u32, vec(phase, 1..4)).prop_map(move |(processors, phases)| Program {
        asks,
        vacates: Vacates::Region,
        data: memory(),
        ..program(processors, phases)
    })
}

/// Programs that say how many processors they could use. Their times are drawn finely: what happens
/// at the same nanosecond happens in the order of processors, which is the placement's choice.
fn on_demand() -> impl Strategy<Value = Program> {
    let time = || (1..4_000_000u64).prop_map(|mean| Dist::Exponential(mean as f64));
    let phase = prop_oneof![
        time().prop_map(|work| Phase::Serial { work, refs: references() }),
        time().prop_map(|time| Phase::Pause { time }),
        (1..10u32, time()).prop_map(|(count, work)| Phase::Tasks {
            count: Dist::Constant(f64::from(count)),
            work,
            refs: references()
        }),
        (1..9u32, 1..4u32, time()).prop_map(|(width, iterations, work)| Phase::Parallel {
            width,
            iterations,
            work: Work::Each(work),
            refs: references(),
            wait: Wait::Spin,
            locked: None,
            curve: None
        }),
    ];
    of_phases(Asks::Runnable, phase)
}

proptest! {
    #![proptest_config(cases(120))]

    #[test]
    fn one_cluster_is_uniform_memory(jobs in jobs(referring(Asks::Once(PhaseSource::Program)), 5), policy in policy(), seed in any::<u64>()) {
        let (one, one_log) = run(setup(tree("numa:1 core:8 pu:1", [1000, 3000, 7000]), policy, seed), &jobs);
        let (uniform, uniform_log) = run(setup(tree("numa:1 core:8 pu:1", [1000; 3]), policy, seed), &jobs);
        prop_assert_eq!(one_log, uniform_log);
        prop_assert_eq!(one, uniform);
    }

    #[test]
    fn without_distances_every_placement_takes_the_same_time(jobs in jobs(never_lending(), 6), seed in any::<u64>()) {
        let times_under = |policy: &str| {
            times(&run(setup(tree("numa:4 core:2 pu:1", [1000; 3]), policy, seed), &jobs).0)
        };
        let lowest = times_under("share=batch admission=fifo placement=lowest");
        for placement in ["affinity", "localized", "base-priority", "worst-fit", "worst-fit(level=machine)"] {
            let policy = format!("share=batch admission=fifo placement={placement}");
            prop_assert_eq!(&lowest, &times_under(&policy), "{}", policy);
        }
    }

    #[test]
    fn without_distances_the_same_holds_for_processors_on_demand(
        jobs in vec((0..6_000_000u64, on_demand()), 1..5),
        seed in any::<u64>(),
    ) {
        let mut jobs = jobs;
        jobs.sort_by_key(|(at, _)| *at);
        let times_under = |placement: &str| {
            let policy = format!("share=demand admission=fifo placement={placement}");
            times(&run(setup(tree("numa:4 core:2 pu:1", [1000; 3]), &policy, seed), &jobs).0)
        };
        let lowest = times_under("lowest");
        for placement in ["affinity", "localized", "base-priority", "worst-fit", "worst-fit(level=machine)"] {
            prop_assert_eq!(&lowest, &times_under(placement), "{}", placement);
        }
    }

    #[test]
    fn a_pool_of_the_whole_machine_is_no_pool(jobs in jobs(any_program(), 6), seed in any::<u64>()) {
        let run_with = |placement: &str| {
            let policy = format!("share=demand placement={placement} admission=fifo");
            run(setup(tree("numa:4 core:2 pu:1", [0; 3]), &policy, seed), &jobs)
        };
        // Where there is one pool, the rule of choosing one does not matter.
        let lowest = run_with("worst-fit(level=machine,tie=lowest)");
        for rule in ["first-fit", "best-fit", "worst-fit-jobs"] {
            for formation in ["level=machine", "equal=1"] {
                let placement = format!("{rule}({formation},tie=lowest)");
                prop_assert_eq!(&lowest, &run_with(&placement), "{}", placement);
            }
        }
    }
}

/// Jobs of one processor.
fn small_jobs() -> impl Strategy<Value = Vec<(u64, u64)>> {
    vec((0..3_000_000u64, 1..4_000_000u64), 1..40)
}

/// When each of them starts and ends, first come first served; arrivals are brought together by
/// `percent`.
fn served(jobs: &[(u64, u64)], pus: usize, percent: u64, policy: &str) -> Vec<(u64, u64)> {
    let mut at = 0;
    let programs = jobs.iter().map(|&(gap, work)| {
        at += gap * percent / 100;
        (at, program(1, vec![Phase::Serial { work: Dist::Constant(work as f64), refs: Vec::new() }]))
    });
    let (outcome, _) = run(setup(machine(pus, System::RoundRobin, 1_000_000), policy, 1), &programs.collect());
    times(&outcome).into_iter().map(|[_, arrived, started, ended, _]| (started - arrived, ended)).collect()
}

proptest! {
    #![proptest_config(cases(300))]

    #[test]
    fn one_processor_more_makes_nobody_later(jobs in small_jobs(), pus in 1..6usize, policy in prop::sample::select(vec!["fcfs", "fifo", "easy"])) {
        let (fewer, more) = (served(&jobs, pus, 100, policy), served(&jobs, pus + 1, 100, policy));
        for (job, (fewer, more)) in fewer.iter().zip(&more).enumerate() {
            prop_assert!(more.1 <= fewer.1, "job {}: {} is later than {}", job, more.1, fewer.1);
        }
    }

    #[test]
    fn more_load_makes_nobody_wait_less(jobs in small_jobs(), pus in 1..6usize, percent in 0..100u64) {
        let (calm, busy) = (served(&jobs, pus, 100, "fcfs"), served(&jobs, pus, percent, "fcfs"));
        for (job, (calm, busy)) in calm.iter().zip(&busy).enumerate() {
            prop_assert!(busy.0 >= calm.0, "job {}: {} is less than {}", job, busy.0, calm.0);
        }
    }
}
