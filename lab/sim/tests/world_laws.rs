//! What is known in closed form of threads, teams and curves, found again by simulation.

mod world_support;

use numaestro_sim::dist::Dist;
use numaestro_sim::machine::{Costs, System};
use numaestro_sim::program::{Limits, Phase, Program, Vacates, Wait, Work};
use numaestro_sim::speedup::Curve;
use numaestro_sim::workload::{Arrival, List};
use numaestro_sim::world::World;
use std::sync::Arc;
use world_support::{curve, each, machine, program, run, run_with, setup};

const MS: u64 = 1_000_000;

fn plain(pus: usize) -> numaestro_sim::machine::Model {
    machine(pus, System::RoundRobin, 10 * MS)
}

#[test]
fn exponential_work_between_barriers_is_one_over_the_harmonic_number_efficient() {
    for (threads, expected) in [(4u32, 0.480), (16, 0.296), (64, 0.211)] {
        let iterations = 4000;
        let region = each(threads, iterations, Dist::Exponential(1e6), Wait::Spin);
        let mut setup = setup(plain(threads as usize), "equi", 7);
        setup.checks = false;
        let outcome = run_with(setup, vec![(0, program(threads, vec![region]))], &mut ());
        let work: u64 = outcome.pus.iter().map(|time| time.work).sum();
        let spin: u64 = outcome.pus.iter().map(|time| time.spin).sum();
        let efficiency = work as f64 / (work + spin) as f64;
        assert!((efficiency / expected - 1.0).abs() < 0.02, "{threads}: {efficiency} instead of {expected}");
    }
}

#[test]
fn two_threads_on_one_processor_take_twice_as_long() {
    let region = each(2, 1, Dist::Constant(100e6), Wait::Block);
    let serial = Phase::Serial { work: Dist::Constant(500e6), refs: Vec::new() };
    // The second one takes a processor away when the first is half done.
    let outcome = run(plain(2), "equi", vec![(0, program(2, vec![region])), (50 * MS, program(1, vec![serial]))]);
    assert_eq!(outcome.jobs[0].response(), 150 * MS);
    assert_eq!(outcome.jobs[0].cpu_ns, 200 * MS);
}

#[test]
fn a_spinner_that_shares_its_processor_burns_its_slices() {
    // Thread 1 has nothing to do and waits for thread 0 on the same processor.
    let uneven = Work::Each(Dist::Choice(vec![(100e6, 0.5), (1e6, 0.5)]));
    let region = |wait| Phase::Parallel {
        width: 2,
        iterations: 1,
        work: uneven.clone(),
        refs: Vec::new(),
        wait,
        locked: None,
        curve: None,
    };
    let other = || program(1, vec![Phase::Serial { work: Dist::Constant(5e9), refs: Vec::new() }]);
    let response = |wait, seed| {
        let programs = vec![(0, program(2, vec![region(wait)])), (1, other())];
        run_with(setup(plain(2), "equi", seed), programs, &mut ()).jobs[0].response()
    };
    // A seed with one long and one short part.
    let seed = (0..50)
        .find(|&seed| (101 * MS - 10..=101 * MS).contains(&response(Wait::Block, seed)))
        .expect("half of all seeds are uneven");
    let spun = response(Wait::Spin, seed);
    assert!(spun > 180 * MS, "{spun}");
    // Spinning for 5 ms at most costs at most 5 ms.
    let limited = response(Wait::SpinThenBlock(5 * MS), seed);
    assert!((102 * MS..=106 * MS).contains(&limited), "{limited}");
}

#[test]
fn time_sharing_divides_a_processor() {
    let serial = || program(1, vec![Phase::Serial { work: Dist::Constant(300e6), refs: Vec::new() }]);
    for system in [System::RoundRobin, System::Linux24, System::Irix] {
        let outcome = run(machine(1, system, 10 * MS), "equi", vec![(0, serial()), (0, serial()), (0, serial())]);
        let ends: Vec<u64> = outcome.jobs.iter().map(|job| job.ended).collect();
        assert_eq!(ends[2], 900 * MS, "{system:?}: nothing is lost");
        assert!(ends[0] >= 850 * MS, "{system:?}: {ends:?} end together");
    }
}

/// New threads of IRIX come where the lowest processor runs one of their kind, so that five of six
/// wait for one processor. None of them ever leaves its processor idle, so only balancing brings
/// three to each.
#[test]
fn irix_balances_processors_that_are_never_idle() {
    let serial = || program(1, vec![Phase::Serial { work: Dist::Constant(2e9), refs: Vec::new() }]);
    let first_end = |rebalance_ns| {
        let mut model = machine(2, System::Irix, 30 * MS);
        model.irix.rebalance_ns = rebalance_ns;
        let programs = (0..6).map(|job| (job * MS, serial())).collect();
        let outcome = run(model, "linux24", programs);
        assert!(outcome.end <= 6_060 * MS, "work is conserved: {}", outcome.end);
        outcome.jobs.iter().map(|job| job.ended).min().unwrap()
    };
    let (crowded, balanced) = (first_end(0), first_end(100 * MS));
    assert!(crowded < 2_500 * MS, "one has a processor of its own: {crowded}");
    assert!(balanced > 4_000 * MS, "three share each: {balanced}");
}

#[test]
fn gangs_that_nobody_coordinates_lose_most_when_they_spin_and_little_when_they_block() {
    let team = |wait| program(4, vec![each(4, 400, Dist::Constant(1e6), wait)]);
    let end = |wait| {
        let programs = vec![(0, team(wait)), (3 * MS, team(wait))];
        run(machine(4, System::Linux24, 20 * MS), "linux24", programs).end
    };
    let (spun, blocked) = (end(Wait::Spin), end(Wait::Block));
    assert!((800 * MS..1200 * MS).contains(&blocked), "blocking comes near to half speed each: {blocked}");
    assert!(spun > blocked * 5 / 4, "spinning {spun}, blocking {blocked}");
}

#[test]
fn space_sharing_gives_each_team_a_half_without_any_loss() {
    let region = || each(4, 100, Dist::Constant(1e6), Wait::Spin);
    let team = || Program { vacates: Vacates::Region, ..program(4, vec![region()]) };
    let outcome = run(plain(4), "equi", vec![(0, team()), (0, team())]);
    // The second one begins when the first has met once. Work is each thread's own, so a smaller
    // team has less to do.
    assert_eq!(outcome.end, 101 * MS);
    let spin: u64 = outcome.pus.iter().map(|time| time.spin).sum();
    assert_eq!(spin, 0);
}

#[test]
fn divided_work_takes_as_long_as_the_team_is_small() {
    let divided = |processors| {
        let region = Phase::Parallel {
            width: 8,
            iterations: 10,
            work: Work::Divided(Dist::Constant(8e6), 0.0),
            refs: Vec::new(),
            wait: Wait::Spin,
            locked: None,
            curve: None,
        };
        run(plain(processors), "equi", vec![(0, program(8, vec![region]))]).end
    };
    assert_eq!((divided(8), divided(4), divided(1)), (10 * MS, 20 * MS, 80 * MS));
}

#[test]
fn a_team_is_resized_at_its_meetings() {
    let region = Phase::Parallel {
        width: 4,
        iterations: 100,
        work: Work::Divided(Dist::Constant(4e6), 0.0),
        refs: Vec::new(),
        wait: Wait::Spin,
        locked: None,
        curve: None,
    };
    let long = Program { vacates: Vacates::Region, ..program(4, vec![region]) };
    let short = program(2, vec![each(2, 1, Dist::Constant(20e6), Wait::Spin)]);
    let outcome = run(plain(4), "equi", vec![(0, long), (10 * MS + 1, short)]);
    let (long, short) = (&outcome.jobs[1], &outcome.jobs[0]);
    // The newcomer gets its processors when the iteration ends; 11 iterations on two processors
    // take 11 ms longer: the last of them begins at the nanosecond at which the newcomer ends, and
    // meetings come first.
    assert_eq!(short.started, 11 * MS);
    assert_eq!(short.ended, 31 * MS);
    assert_eq!(long.ended, 111 * MS);
}

#[test]
fn a_lock_lets_one_in_at_a_time() {
    let region = Phase::Parallel {
        width: 4,
        iterations: 10,
        work: Work::Each(Dist::Constant(0.0)),
        refs: Vec::new(),
        wait: Wait::Spin,
        locked: Some(Dist::Constant(1e6)),
        curve: None,
    };
    let outcome = run(plain(4), "equi", vec![(0, program(4, vec![region]))]);
    assert_eq!(outcome.end, 40 * MS);
}

#[test]
fn tasks_are_taken_by_whoever_is_free() {
    let tasks = |count| Phase::Tasks { count: Dist::Constant(count), work: Dist::Constant(10e6), refs: Vec::new() };
    for (processors, count, expected) in [(1, 5.0, 50), (2, 5.0, 30), (4, 5.0, 20), (8, 5.0, 10)] {
        let outcome = run(plain(8), "equi", vec![(0, program(processors, vec![tasks(count)]))]);
        assert_eq!(outcome.end, expected * MS, "{processors} processors");
    }
}

#[test]
fn a_curve_is_done_after_its_work_divided_by_its_speedup() {
    for n in [1u32, 3, 7, 16] {
        for shape in [Curve::Linear, Curve::Amdahl(0.07), Curve::Downey { average: 9.0, sigma: 0.7 }] {
            let expected = 12_345_678_901.0 / shape.speedup(n);
            let outcome = run(plain(16), "equi", vec![(0, curve(n, 12_345_678_901.0, shape, 0))]);
            assert!((outcome.end as f64 - expected).abs() <= 1.0, "{n}: {} instead of {expected}", outcome.end);
        }
    }
}

#[test]
fn curves_share_their_processors_and_pay_for_changes() {
    let long = || curve(4, 400e6, Curve::Linear, 0);
    assert_eq!(run(plain(4), "equi", vec![(0, long()), (0, long())]).end, 200 * MS);
    // Alone for 50 ms (200 of work done), then two processors each; the first pays 3 ms.
    let first = curve(4, 400e6, Curve::Linear, 3 * MS);
    let outcome = run(plain(4), "equi", vec![(0, first), (50 * MS, long())]);
    assert_eq!(outcome.jobs[0].ended, 153 * MS);
    // More curves than processors: each gets its part of one.
    let one = || curve(1, 100e6, Curve::Linear, 0);
    assert_eq!(run(plain(1), "equi", vec![(0, one()), (0, one())]).end, 200 * MS);
}

#[test]
fn pauses_need_no_processor() {
    let phases = || {
        vec![
            Phase::Serial { work: Dist::Constant(10e6), refs: Vec::new() },
            Phase::Pause { time: Dist::Constant(30e6) },
            Phase::Serial { work: Dist::Constant(10e6), refs: Vec::new() },
        ]
    };
    let outcome = run(plain(1), "equi", vec![(0, program(1, phases())), (0, program(1, phases()))]);
    assert_eq!(outcome.pus[0].work, 40 * MS);
    assert!(outcome.end <= 70 * MS, "{}", outcome.end);
}

#[test]
fn repetitions_are_nested() {
    let serial = || Phase::Serial { work: Dist::Constant(1e6), refs: Vec::new() };
    let inner = Phase::Repeat { times: 3, phases: vec![serial(), serial()] };
    let none = Phase::Repeat { times: 0, phases: vec![serial()] };
    let outer = Phase::Repeat { times: 4, phases: vec![inner, none, serial()] };
    let outcome = run(plain(1), "equi", vec![(0, program(1, vec![outer, serial()]))]);
    assert_eq!(outcome.end, (4 * 7 + 1) * MS);
}

#[test]
fn costs_are_paid_and_accounted() {
    let mut model = plain(2);
    model.costs =
        Costs { switch_ns: 1000, migration_ns: 5000, page_fault_ns: 0, decision_ns: 7000, ..Costs::default() };
    let serial = Phase::Serial { work: Dist::Constant(1e6), refs: Vec::new() };
    let outcome = run(model, "equi", vec![(0, program(1, vec![serial]))]);
    // The decision arrives after 7 us; one switch.
    assert_eq!(outcome.jobs[0].started, 7000);
    assert_eq!(outcome.jobs[0].response(), 7000 + 1000 + MS);
    assert_eq!(outcome.pus.iter().map(|time| time.overhead).sum::<u64>(), 1000);
}

/// Numbers of threads that have ended are used again, but who gets such a number is somebody else.
#[test]
fn every_new_thread_pays_its_first_switch() {
    let mut model = plain(1);
    model.costs = Costs { switch_ns: 1000, migration_ns: 0, page_fault_ns: 0, decision_ns: 0, ..Costs::default() };
    let serial = || Phase::Serial { work: Dist::Constant(1e6), refs: Vec::new() };
    let one_after_another = (0..4).map(|number| (number * 10 * MS, program(1, vec![serial(), serial()])));
    let outcome = run(model, "equi", one_after_another.collect());
    assert!(outcome.jobs.iter().all(|job| job.response() == 1000 + 2 * MS), "{:?}", outcome.jobs);
    assert_eq!(outcome.pus[0].overhead, 4 * 1000);
}

#[test]
fn a_program_that_is_told_to_end_ends_when_its_team_meets() {
    let endless = Arc::new(Program {
        limits: Limits { min: 2, ..Limits::default() },
        ..program(2, vec![each(2, u32::MAX, Dist::Constant(10e6), Wait::Block)])
    });
    let arrival = |at: u64, until: u64| {
        let (at, until) = (at * MS, Some(until * MS));
        Arrival { at, job: 0, stream: 0, program: Arc::clone(&endless), estimate_ns: None, until }
    };
    // The second one is told while it waits, the third one after it has begun.
    let source = List::new(vec![arrival(0, 35), arrival(5, 20), arrival(6, 55)]);
    let outcome = World::new(setup(plain(2), "fcfs", 1), Box::new(source)).unwrap().run(&mut ());
    let times: Vec<_> = outcome.jobs.iter().map(|job| (job.job, job.started / MS, job.ended / MS)).collect();
    assert_eq!(times, [(0, 0, 40), (1, 40, 40), (2, 40, 60)]);
}
