//! Processes of a program: each is created once, at the creator's cost, and keeps its processor
//! while a later phase has work for it.

mod world_support;

use numaestro_engine::{Action, Event};
use numaestro_sim::dist::Dist;
use numaestro_sim::machine::{Model, System};
use numaestro_sim::program::{Asks, Phase, PhaseSource, Program, Vacates, Wait};
use numaestro_sim::world::{Observer, Occupant};
use numaestro_topology::{PuId, PuSet};
use world_support::{each, machine, program, run, run_with, setup};

const MS: u64 = 1_000_000;
const DEMAND: &str = "share=demand placement=worst-fit(level=machine) admission=fifo";

fn plain(pus: usize) -> Model {
    machine(pus, System::RoundRobin, 10 * MS)
}

fn serial(ms: u64) -> Phase {
    Phase::Serial { work: Dist::Constant((ms * MS) as f64), refs: Vec::new() }
}

fn region(ms: u64) -> Phase {
    each(4, 1, Dist::Constant((ms * MS) as f64), Wait::Spin)
}

fn tasks(count: u32, ms: u64) -> Phase {
    let work = Dist::Constant((ms * MS) as f64);
    Phase::Tasks { count: Dist::Constant(f64::from(count)), work, refs: Vec::new() }
}

/// Four processes at most, 10 ms to create one.
fn creating(asks: Asks, phases: Vec<Phase>) -> Program {
    Program { asks, creation_ns: 10 * MS, ..program(4, phases) }
}

/// The processors that an application is told, one set for each change.
#[derive(Debug, Default)]
struct Told(Vec<PuSet>);

impl Observer for Told {
    fn wants_journal(&self) -> bool {
        true
    }

    fn journal(&mut self, _at: u64, _event: &Event, actions: &[Action]) {
        for action in actions {
            if let Action::Target { pus, .. } = action
                && self.0.last() != Some(pus)
            {
                self.0.push(pus.clone());
            }
        }
    }
}

fn told(phases: Vec<Phase>) -> (Vec<PuSet>, numaestro_sim::outcome::Outcome) {
    let mut told = Told::default();
    let outcome = run_with(setup(plain(8), DEMAND, 1), vec![(0, creating(Asks::Creation, phases))], &mut told);
    (told.0, outcome)
}

#[test]
fn tasks_cost_their_creator_a_process_each_and_not_a_task_each() {
    // Three processes are created beside the master: 30 ms, then 40 tasks on four processors.
    for asks in [Asks::Creation, Asks::Once(PhaseSource::Program), Asks::Runnable] {
        let outcome = run(plain(4), DEMAND, vec![(0, creating(asks, vec![tasks(40, 10)]))]);
        assert_eq!(outcome.jobs[0].children, 3, "{asks:?}");
        assert_eq!(outcome.jobs[0].response(), 130 * MS, "{asks:?}");
    }
}

#[test]
fn processes_are_created_once_and_stay_where_they_are() {
    let (sets, outcome) = told(vec![region(50), serial(20), region(50), tasks(8, 10)]);
    assert_eq!(outcome.jobs[0].children, 3);
    assert_eq!(outcome.jobs[0].migrations, 0, "each has its processor to itself");
    assert_eq!(outcome.jobs[0].response(), (30 + 50 + 20 + 50 + 20) * MS);
    let largest = sets.iter().map(PuSet::len).max();
    let first_full = sets.iter().position(|set| Some(set.len()) == largest).unwrap();
    // It gives processors back in the end only, one after the other.
    assert!(sets[..=first_full].windows(2).all(|pair| pair[0].is_subset(&pair[1])), "{sets:?}");
    assert!(sets[first_full..].windows(2).all(|pair| pair[1].is_subset(&pair[0])), "{sets:?}");
}

#[test]
fn processes_end_with_the_last_work_there_is_for_them() {
    // While the master goes on alone, the other processors are free.
    let (sets, _) = told(vec![region(50), serial(100)]);
    assert_eq!(sets.last().map(PuSet::len), Some(1));
    let again = Phase::Repeat { times: 2, phases: vec![region(50), serial(100)] };
    let (sets, outcome) = told(vec![again]);
    assert_eq!(outcome.jobs[0].children, 3);
    assert_eq!(sets.last().map(PuSet::len), Some(1));
}

/// The times at which threads come and go, nanoseconds.
#[derive(Debug, Default)]
struct Switches(Vec<u64>);

impl Observer for Switches {
    fn runs(&mut self, at: u64, _pu: PuId, _what: Occupant) {
        self.0.push(at);
    }
}

#[test]
fn a_preempted_task_waits_for_the_next_free_processor() {
    // Four tasks on four processors, with ends of 100 ms. At 10 ms another program takes one: by
    // D3, at once, and its task goes back to the head of the queue.
    let preempted = |recovers| {
        let forks =
            Program { asks: Asks::Runnable, vacates: Vacates::Task, recovers, ..program(4, vec![tasks(4, 100)]) };
        let other = Program { asks: Asks::Runnable, ..program(1, vec![serial(500)]) };
        let mut switches = Switches::default();
        let setup = setup(plain(4), "share=dynamic placement=base-priority admission=fifo", 1);
        let outcome = run_with(setup, vec![(0, forks), (10 * MS, other)], &mut switches);
        let between = switches.0.iter().filter(|&&at| at > 10 * MS && at < 100 * MS).count();
        let response = |job: u64| outcome.jobs.iter().find(|record| record.job == job).unwrap().response();
        (response(0), response(1), between)
    };
    assert_eq!(preempted(true), (190 * MS, 500 * MS, 0));
    let (_, other, between) = preempted(false);
    assert!(other == 500 * MS && between > 0, "it shares a processor with another task: {between}");
}
