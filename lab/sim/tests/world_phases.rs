//! The phases of one program, known in three ways: the program says them, the manager looks for
//! them, nobody knows them. A looked-for phase is told by the rules of the manager's own sensor.

mod world_support;

use numaestro_engine::{Action, AppId, Event};
use numaestro_sim::dist::Dist;
use numaestro_sim::machine::System;
use numaestro_sim::outcome::{JobRecord, Outcome};
use numaestro_sim::program::{Asks, Body, Phase, PhaseSource, Program, Stretch, Wait, Work};
use numaestro_sim::speedup::Curve;
use numaestro_sim::world::Observer;
use world_support::{each, machine, program, run_with, setup};

const MS: u64 = 1_000_000;
const SOURCES: [PhaseSource; 3] = [PhaseSource::Program, PhaseSource::Manager, PhaseSource::Nobody];

/// Everything that the engine heard and decided.
#[derive(Default)]
struct Journal(Vec<(u64, Event, Vec<Action>)>);

impl Observer for Journal {
    fn wants_journal(&self) -> bool {
        true
    }

    fn journal(&mut self, at: u64, event: &Event, actions: &[Action]) {
        self.0.push((at, event.clone(), actions.to_vec()));
    }
}

impl Journal {
    /// The phases of the first application, each with its time in nanoseconds.
    fn phases(&self) -> Vec<(&'static str, u64)> {
        let phase = |(at, event, _): &(u64, Event, Vec<Action>)| {
            let (app, word) = match event {
                Event::Sequential { app } => (app, "sequential"),
                Event::Blocked { app } => (app, "blocked"),
                Event::Parallel { app } => (app, "parallel"),
                _ => return None,
            };
            (*app == AppId(1)).then_some((word, *at))
        };
        self.0.iter().filter_map(phase).collect()
    }
}

fn team(iterations: u32) -> Phase {
    each(2, iterations, Dist::Constant(MS as f64), Wait::Block)
}

/// A team for 40 ms, `between`, and a team again.
fn with(between: Phase, source: PhaseSource) -> Program {
    Program { asks: Asks::Once(source), ..program(2, vec![team(40), between, team(40)]) }
}

fn pausing(source: PhaseSource) -> Program {
    with(Phase::Pause { time: Dist::Constant(60.0 * MS as f64) }, source)
}

/// A program that is faster with more processors, without phases.
fn busy() -> Program {
    let work = Work::Divided(Dist::Constant(2.0 * MS as f64), 0.0);
    let (refs, wait) = (Vec::new(), Wait::Block);
    let region = Phase::Parallel { width: 4, iterations: 200, work, refs, wait, locked: None, curve: None };
    Program { asks: Asks::Once(PhaseSource::Nobody), ..program(2, vec![region]) }
}

/// Runs programs that come at once, on two processors.
fn run(policy: &str, programs: Vec<Program>) -> (Journal, Outcome) {
    let mut journal = Journal::default();
    let model = machine(2, System::RoundRobin, 3 * MS);
    let programs = programs.into_iter().map(|program| (0, program)).collect();
    let outcome = run_with(setup(model, policy, 1), programs, &mut journal);
    (journal, outcome)
}

#[test]
fn a_phase_is_said_at_once_or_found_after_a_while_or_never_known() {
    let [said, found, unknown] = SOURCES.map(|source| run("equi", vec![pausing(source), busy()]));
    // Its team takes 41 ms, because the other comes within the first one; its pause ends at 101.
    assert_eq!(said.0.phases(), [("blocked", 41 * MS), ("parallel", 101 * MS)]);
    assert_eq!(unknown.0.phases(), []);
    // A look finds it outside of a region, and the next one, 2 ms later, that it has used no time:
    // the first within 2 ms. Its next region is at the end of its pause: it was told that its
    // processor is lent.
    let [("blocked", begin), ("parallel", end)] = found.0.phases()[..] else { panic!("{:?}", found.0.phases()) };
    assert!((43 * MS..=45 * MS).contains(&begin) && end == 101 * MS, "{begin} {end}");
    let turnaround = |outcome: &Outcome| outcome.jobs.iter().find(|job| job.job == 1).map(JobRecord::response);
    let [said, found, unknown] = [said, found, unknown].map(|(_, outcome)| turnaround(&outcome));
    assert!(said < found && found < unknown, "the other gets lent processors: {said:?} {found:?} {unknown:?}");
}

#[test]
fn a_curve_lends_in_its_serial_stretches_and_pauses() {
    let ms = |time: u64| Dist::Constant((time * MS) as f64);
    let of = |stretches: Vec<Stretch>, source| {
        let body = Body::Curve { stretches, times: 1, curve: Curve::Linear, resize_ns: 0 };
        Program { asks: Asks::Once(source), body, ..program(4, Vec::new()) }
    };
    let ends = |source| {
        let stretches =
            vec![Stretch::Parallel(ms(80)), Stretch::Serial(ms(60)), Stretch::Pause(ms(20)), Stretch::Parallel(ms(80))];
        let programs = [of(stretches, source), of(vec![Stretch::Parallel(ms(820))], source)];
        let model = machine(4, System::RoundRobin, 3 * MS);
        let mut journal = Journal::default();
        let programs = programs.into_iter().map(|program| (0, program)).collect();
        let outcome = run_with(setup(model, "equi", 1), programs, &mut journal);
        let end = |job| outcome.jobs.iter().find(|record| record.job == job).map_or(0, |record| record.ended);
        (journal.phases(), [end(0), end(1)])
    };
    let near = |found: [u64; 2], expected: [u64; 2]| {
        found.into_iter().zip(expected).all(|(found, expected)| found.abs_diff(expected * MS) < 1000)
    };
    // Parallel for 40 ms on two processors, twice. The other has two processors, three while the
    // first is serial, four while it pauses and when it has ended.
    let (said, with) = ends(PhaseSource::Program);
    assert!(near(with, [160, 260]), "{with:?}");
    let words: Vec<&str> = said.iter().map(|(word, _)| *word).collect();
    assert_eq!(words, ["sequential", "blocked", "parallel"]);
    let (unknown, without) = ends(PhaseSource::Nobody);
    assert!(near(without, [160, 285]) && unknown.is_empty(), "{without:?}, {unknown:?}");
}

#[test]
fn a_paused_program_says_at_once_that_it_has_given_its_only_processor_up() {
    let (journal, _) = run("equi", vec![pausing(PhaseSource::Program), busy()]);
    let both = |(_, _, actions): &&(u64, Event, Vec<Action>)| {
        let is_both = |action: &Action| matches!(action, Action::Target { app: AppId(2), count: 2, .. });
        actions.iter().any(is_both)
    };
    assert_eq!(journal.0.iter().find(both).map(|(at, ..)| *at), Some(41 * MS), "the other program gets it");
    assert!(
        !journal.0.iter().any(|(_, _, actions)| actions.iter().any(|action| matches!(action, Action::Force { .. })))
    );
}

#[test]
fn serial_work_is_found_where_it_leaves_a_processor_idle() {
    let serial = || Phase::Serial { work: Dist::Constant(60.0 * MS as f64), refs: Vec::new() };
    let many = |source| {
        let wide = |program: Program| Program { processors: 4, ..program };
        let other = wide(busy());
        let mut journal = Journal::default();
        let programs = vec![(0, wide(with(serial(), source))), (0, other)];
        run_with(setup(machine(4, System::RoundRobin, 3 * MS), "equi", 1), programs, &mut journal);
        journal.phases()
    };
    let [said, found, unknown] = SOURCES.map(many);
    assert_eq!(said, [("sequential", 40 * MS), ("parallel", 100 * MS)]);
    let [("sequential", begin), ("parallel", end)] = found[..] else { panic!("{found:?}") };
    assert!((43 * MS..=46 * MS).contains(&begin) && end == 100 * MS, "{begin} {end}");
    assert_eq!(unknown, []);
}

#[test]
fn a_program_on_its_only_processor_shows_no_serial_work() {
    let serial = Phase::Serial { work: Dist::Constant(60.0 * MS as f64), refs: Vec::new() };
    let (journal, _) = run("equi", vec![with(serial, PhaseSource::Manager), busy()]);
    assert_eq!(journal.phases(), []);
}

#[test]
fn a_pause_before_the_first_region_is_found_and_serial_work_there_is_too() {
    let pause = || Phase::Pause { time: Dist::Constant(60.0 * MS as f64) };
    let of = |source| Program { asks: Asks::Once(source), ..program(2, vec![pause(), team(40)]) };
    let [said, found, _] = SOURCES.map(|source| run("equi", vec![of(source), busy()]).0);
    assert_eq!(said.phases(), [("blocked", 0), ("parallel", 60 * MS)]);
    let [("blocked", begin), ("parallel", end)] = found.phases()[..] else { panic!("{:?}", found.phases()) };
    assert!((2 * MS..=8 * MS).contains(&begin) && end == 60 * MS, "{begin} {end}");
    let serial = || Phase::Serial { work: Dist::Constant(60.0 * MS as f64), refs: Vec::new() };
    let wide = |program: Program| Program { processors: 4, ..program };
    let first = Program { asks: Asks::Once(PhaseSource::Manager), ..program(2, vec![serial(), team(40)]) };
    let mut journal = Journal::default();
    let programs = vec![(0, wide(first)), (0, wide(busy()))];
    run_with(setup(machine(4, System::RoundRobin, 3 * MS), "equi", 1), programs, &mut journal);
    let [("sequential", begin), ("parallel", end)] = journal.phases()[..] else { panic!("{:?}", journal.phases()) };
    assert!((2 * MS..=10 * MS).contains(&begin) && end == 60 * MS, "{begin} {end}");
}

#[test]
fn phases_of_a_program_without_regions_are_found_by_its_threads() {
    let serial = || Phase::Serial { work: Dist::Constant(60.0 * MS as f64), refs: Vec::new() };
    let pause = || Phase::Pause { time: Dist::Constant(60.0 * MS as f64) };
    for (between, expected) in [(serial(), "sequential"), (pause(), "blocked")] {
        let wide = |program: Program| Program { processors: 4, ..program };
        let mut journal = Journal::default();
        let programs = vec![(0, wide(with(between, PhaseSource::Threads))), (0, wide(busy()))];
        run_with(setup(machine(4, System::RoundRobin, 3 * MS), "equi", 1), programs, &mut journal);
        let [(found, begin), ("parallel", end)] = journal.phases()[..] else { panic!("{:?}", journal.phases()) };
        assert_eq!(found, expected);
        // Two looks at 2 ms each, at the beginning and at the end.
        assert!((42 * MS..=46 * MS).contains(&begin) && (102 * MS..=106 * MS).contains(&end), "{begin} {end}");
    }
}

#[test]
fn nothing_is_found_where_nobody_lacks_processors() {
    let small = || Program { processors: 1, asks: Asks::Once(PhaseSource::Nobody), ..program(1, vec![team(400)]) };
    for others in [vec![], vec![small()]] {
        let run = |source: PhaseSource| {
            let mut journal = Journal::default();
            let all = std::iter::once(pausing(source)).chain(others.iter().cloned());
            let programs = all.map(|program| (0, program)).collect();
            let outcome = run_with(setup(machine(3, System::RoundRobin, 3 * MS), "equi", 1), programs, &mut journal);
            (journal, outcome)
        };
        let [(said, _), (found, outcome), (unknown, _)] = SOURCES.map(run);
        assert_eq!((said.phases().len(), found.phases().len()), (2, 0));
        assert_eq!(found.0, unknown.0, "looks leave no trace");
        let last = outcome.jobs.iter().map(|job| job.ended).max();
        assert_eq!(Some(outcome.end), last, "no look is left at the end");
    }
}

#[test]
fn nothing_is_found_while_the_others_are_stopped() {
    let [said, found, unknown] = SOURCES.map(|source| run("sw-dss", vec![pausing(source), busy()]).0);
    assert!(found.0.iter().any(|(_, _, actions)| actions.contains(&Action::Stop { app: AppId(1) })));
    assert!(!said.phases().is_empty());
    assert_eq!(found.phases(), []);
    assert_eq!(found.0, unknown.0);
}

#[test]
fn a_run_with_looks_is_the_same_each_time() {
    let all = || run("equi", vec![pausing(PhaseSource::Manager), pausing(PhaseSource::Manager), busy()]);
    let [(first, outcome), (second, other)] = [all(), all()];
    assert!(first.phases().len() > 1);
    assert_eq!((first.0, outcome.fingerprint), (second.0, other.fingerprint));
}
