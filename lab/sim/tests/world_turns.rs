//! Time sharing: who is stopped when, what it costs, and what programs do that lose processors in
//! the middle of their work. Closed forms where there are such.

mod world_support;

use numaestro_sim::dist::Dist;
use numaestro_sim::machine::{Costs, Model, System};
use numaestro_sim::outcome::Outcome;
use numaestro_sim::program::{Program, Vacates, Wait};
use numaestro_sim::read::{Files, Text};
use numaestro_sim::scenario::Scenario;
use numaestro_sim::speedup::Curve;
use numaestro_sim::world::{Setup, World};
use std::fmt::Write as _;
use world_support::{curve, each, machine, program, run};

const MS: u64 = 1_000_000;
/// The quantum of the policies.
const QUANTUM: u64 = 100 * MS;

struct NoFiles;

impl Files for NoFiles {
    fn text(&self, name: &str) -> Result<String, String> {
        Err(format!("there is no {name}"))
    }
}

fn plain(pus: usize) -> Model {
    machine(pus, System::RoundRobin, QUANTUM)
}

/// `threads` threads that each work so long, without meeting before the end.
fn wide(threads: u32, ms: u64) -> Program {
    program(threads, vec![each(threads, 1, Dist::Constant((ms * MS) as f64), Wait::Spin)])
}

fn ends(outcome: &Outcome) -> Vec<u64> {
    let mut jobs: Vec<_> = outcome.jobs.iter().map(|job| (job.job, job.ended)).collect();
    jobs.sort_unstable();
    jobs.into_iter().map(|(_, ended)| ended / MS).collect()
}

#[test]
fn two_equal_ones_take_turns() {
    let outcome = run(plain(4), "round-robin", vec![(0, wide(4, 400)), (0, wide(4, 400))]);
    // One has the quanta 1, 3, 5, 7, the other 2, 4, 6, 8.
    assert_eq!(ends(&outcome), [700, 800]);
    assert_eq!(outcome.pus.iter().map(|pu| pu.spin + pu.idle).sum::<u64>(), 0, "nobody waits for anybody");
    assert_eq!(outcome.decisions.stops, outcome.jobs.iter().map(|job| u64::from(job.stops)).sum::<u64>());
    assert!(outcome.decisions.stops >= 6, "{:?}", outcome.decisions);
}

/// A program may end at the instant at which its turn does: it is stopped, its processors are given
/// on, and nobody has told the engine yet that it is over.
#[test]
fn who_ends_with_its_turn_owns_nothing_any_more() {
    for (policy, processors, programs, class, phases) in [
        (
            "sw-dss",
            3,
            7,
            "class = \"malleable\"\nphase_source = \"program\"",
            "iterations = 5, work_each = \"5 ms\", wait = \"spin\" }, { do = \"pause\", time = \"1 ms\" }, \
             { do = \"serial\", work = \"11 ms\" }",
        ),
        (
            "vtq-dss",
            8,
            6,
            "class = \"setter\"\nphase_source = \"manager\"",
            "iterations = 9, work_each = \"3 ms\", wait = \"block\" }",
        ),
    ] {
        let mut text = format!(
            "policy = \"{policy}\"\n[machine.inline]\nname = \"m\"\nabout = \"m\"\ncycle = \"1 ns\"\n\
             topology = \"pack:1 numa:1 core:{processors} pu:1\"\n\
             memory = {{ page_bytes = 4096, node_pages = 1048576 }}\n\
             access = {{ unit = \"ns\", hit = 0, class = [{{ name = \"local\", within = \"machine\", line = 0 }}] }}\n\
             system = {{ scheduler = \"round-robin\", quantum = \"10 ms\" }}\n"
        );
        for width in 1..=programs {
            let _ = write!(
                text,
                "[[program]]\nname = \"p{width}\"\nprocessors = {width}\n{class}\n\
                 phases = [{{ do = \"repeat\", times = 2, phases = [{{ do = \"parallel\", width = {width}, {phases}] }}]\n"
            );
        }
        let scenario =
            Scenario::read(Text::new("s.toml", &text), &NoFiles).unwrap_or_else(|mistake| panic!("{mistake}"));
        let setup = Setup { checks: true, ..scenario.setup(1) };
        let outcome = World::new(setup, scenario.source(1)).expect("a policy").run(&mut ());
        assert_eq!(outcome.jobs.len(), programs, "{policy}");
    }
}

#[test]
fn curves_take_turns_too() {
    let one = || curve(4, (1600 * MS) as f64, Curve::Linear, 0);
    let outcome = run(plain(4), "round-robin", vec![(0, one()), (0, one())]);
    assert_eq!(ends(&outcome), [700, 800]);
}

#[test]
fn going_on_costs_what_the_machine_says() {
    let mut model = plain(4);
    model.costs = Costs { stop_ns: 5 * MS, ..Costs::default() };
    let outcome = run(model, "round-robin", vec![(0, wide(4, 400)), (0, wide(4, 400))]);
    let overhead: u64 = outcome.jobs.iter().map(|job| job.overhead_ns).sum();
    let continued: u64 = outcome.decisions.continues;
    // Four threads each time, unless the application had not begun.
    assert!(overhead > 0 && overhead <= continued * 4 * 5 * MS, "{overhead} {continued}");
    assert_eq!(overhead % (4 * 5 * MS), 0);
    assert!(ends(&outcome)[1] > 800);
}

#[test]
fn a_thread_goes_on_where_it_was() {
    let outcome = run(plain(8), "round-robin", vec![(0, wide(8, 400)), (0, wide(8, 400)), (0, wide(8, 400))]);
    assert_eq!(ends(&outcome), [1000, 1100, 1200]);
    assert_eq!(outcome.jobs.iter().map(|job| job.migrations).sum::<u32>(), 0, "everybody is put back");
}

#[test]
fn pauses_end_while_stopped_but_nothing_runs() {
    use numaestro_sim::program::Phase;
    // Too short to be told: it is stopped in the middle of it.
    let pausing = program(
        4,
        vec![
            each(4, 1, Dist::Constant((100 * MS - 50_000) as f64), Wait::Spin),
            Phase::Pause { time: Dist::Constant(90_000.0) },
            each(4, 1, Dist::Constant((100 * MS) as f64), Wait::Spin),
        ],
    );
    let outcome = run(plain(4), "round-robin", vec![(0, pausing), (0, wide(4, 200))]);
    // Its second region begins with its second turn, not before.
    assert_eq!(ends(&outcome), [300, 400]);
}

#[test]
fn who_cannot_be_stopped_is_a_guest() {
    let stubborn = Program { stoppable: false, ..wide(4, 400) };
    let outcome = run(plain(4), "round-robin", vec![(0, stubborn), (0, wide(4, 400))]);
    let stops: Vec<u32> = outcome.jobs.iter().filter(|job| job.job == 0).map(|job| job.stops).collect();
    assert_eq!(stops, [0]);
    let work: u64 = outcome.pus.iter().map(|pu| pu.work).sum();
    assert_eq!(work, 2 * 4 * 400 * MS, "it shares, and nothing is lost");
    assert!(outcome.end >= 800 * MS);
}

/// A region on eight processors of which four are taken by force in its middle.
fn taken(recovers: bool, iterations: u32) -> Outcome {
    let team = Program {
        recovers,
        vacates: Vacates::Region,
        ..program(8, vec![each(8, iterations, Dist::Constant((100 * MS) as f64), Wait::Spin)])
    };
    let late = wide(4, 1000);
    let mut setup = world_support::setup(plain(8), "equi", 1);
    setup.settings.grace_ns = MS;
    world_support::run_with(setup, vec![(0, team), (50 * MS, late)], &mut ())
}

#[test]
fn stolen_threads_are_run_by_those_that_would_wait() {
    let end = |recovers| ends(&taken(recovers, 1))[0];
    // At 51 ms eight threads with 49 ms left each are folded onto four processors: 98 ms in all.
    assert_eq!(end(true), 149);
    // Whoever is first waits on its processor until its slice ends.
    assert!(end(false) >= 149);
    let spin = |recovers| taken(recovers, 4).jobs.iter().find(|job| job.job == 0).map(|job| job.spin_ns);
    assert!(spin(true) <= spin(false), "{:?} {:?}", spin(true), spin(false));
}

#[test]
fn recovery_takes_work_from_other_processors() {
    // Three processors are left for four threads: two on one of them, which the others help as soon
    // as they are done.
    let team = |recovers| Program {
        recovers,
        vacates: Vacates::AtOnce,
        ..program(4, vec![each(4, 1, Dist::Choice(vec![((100 * MS) as f64, 1.0)]), Wait::Spin)])
    };
    let with = |recovers| {
        let outcome = run(plain(4), "equi", vec![(0, team(recovers)), (50 * MS, wide(1, 500))]);
        let first = outcome.jobs.iter().find(|job| job.job == 0).cloned().unwrap_or_default();
        (first.ended / MS, first.spin_ns / MS, first.migrations)
    };
    let (end, spin, _) = with(true);
    assert_eq!(end, 150, "the stolen thread does its 50 ms after those that are done with theirs");
    assert_eq!(spin, 2 * 50, "one of the three goes on, two have nothing to do");
    assert!(with(false).0 >= end);
}
