//! The same scenario and seed give the same run, whoever watches, whatever is checked, on whichever
//! thread, on whichever day.

mod support;

use numaestro_contract::Duties;
use numaestro_engine::{Action, Event};
use numaestro_sim::Nanos;
use numaestro_sim::outcome::{JobRecord, Outcome};
use numaestro_sim::read::{Files, Text};
use numaestro_sim::scenario::Scenario;
use numaestro_sim::world::{Observer, Occupant, World};
use numaestro_topology::PuId;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use support::Log;

/// Events of each run: enough for every kind of them.
const STEPS: usize = 1000;
/// Events of the runs whose fingerprints are kept.
const GOLDEN_STEPS: usize = 5000;
const SEEDS: [u64; 2] = [1, 2];

struct Folder(PathBuf);

impl Files for Folder {
    fn text(&self, name: &str) -> Result<String, String> {
        std::fs::read_to_string(self.0.join(name)).map_err(|error| error.to_string())
    }
}

/// The last point of every example: the one that is farthest from the defaults.
fn scenarios() -> Vec<Scenario> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scenarios");
    let entries = std::fs::read_dir(&folder).expect("the folder of scenarios");
    let mut names: Vec<String> =
        entries.map(|entry| entry.expect("an entry").file_name().into_string().expect("a plain name")).collect();
    names.retain(|name| name.ends_with("toml"));
    names.sort();
    let last = |name: &String| {
        let text = std::fs::read_to_string(folder.join(name)).expect("a text");
        let scenario = Scenario::read(Text::new(name, &text), &Folder(folder.clone())).expect("a scenario");
        scenario.points().pop().expect("a point").scenario
    };
    names.iter().map(last).collect()
}

/// The first events of a run.
fn run(scenario: &Scenario, seed: u64, checks: bool, steps: usize, observer: &mut dyn Observer) -> Outcome {
    let setup = numaestro_sim::world::Setup { checks, ..scenario.setup(seed) };
    let mut world = World::new(setup, scenario.source(seed)).expect("a policy");
    for _ in 0..steps {
        if !world.step(observer) {
            break;
        }
    }
    world.outcome()
}

/// Wants to see everything.
#[derive(Default)]
struct Curious {
    log: Log,
    duties: Duties,
    decisions: u64,
    occupants: u64,
    ended: usize,
}

impl Observer for Curious {
    fn wants_log(&self) -> bool {
        true
    }

    fn log(&mut self, line: &str) {
        self.log.log(line);
    }

    fn wants_journal(&self) -> bool {
        true
    }

    fn journal(&mut self, at: Nanos, event: &Event, actions: &[Action]) {
        self.decisions += 1;
        self.duties.step(at, event, actions);
    }

    fn runs(&mut self, _at: Nanos, _pu: PuId, _what: Occupant) {
        self.occupants += 1;
    }

    fn ended(&mut self, _job: &JobRecord) {
        self.ended += 1;
    }
}

#[test]
fn neither_watching_nor_checking_changes_anything() {
    for scenario in scenarios() {
        let name = &scenario.name;
        let plain = run(&scenario, 5, false, STEPS, &mut ());
        assert_eq!(plain, run(&scenario, 5, false, STEPS, &mut ()), "{name}: a second time");
        assert_eq!(plain, run(&scenario, 5, true, STEPS, &mut ()), "{name}: with checks");
        let mut curious = Curious::default();
        assert_eq!(plain, run(&scenario, 5, true, STEPS, &mut curious), "{name}: watched");
        assert_eq!(curious.decisions, plain.engine_events, "{name}");
        assert_eq!(curious.ended, plain.jobs.len(), "{name}");
        assert!(curious.occupants > 0 && !curious.log.0.is_empty(), "{name}");
        assert_eq!(curious.duties.breaches(), [], "{name}: the shell's duties");
        let mut again = Curious::default();
        run(&scenario, 5, false, STEPS, &mut again);
        assert_eq!(curious.log.0, again.log.0, "{name}: the log");
    }
}

#[test]
fn worker_threads_do_not_matter_and_seeds_do() {
    let seeds: Vec<u64> = (1..=4).collect();
    for scenario in scenarios() {
        let alone: Vec<Outcome> = seeds.iter().map(|&seed| run(&scenario, seed, false, STEPS, &mut ())).collect();
        let side_by_side: Vec<Outcome> = std::thread::scope(|scope| {
            let scenario = &scenario;
            let start = |&seed: &u64| scope.spawn(move || run(scenario, seed, false, STEPS, &mut ()));
            let workers: Vec<_> = seeds.iter().map(start).collect();
            workers.into_iter().map(|worker| worker.join().expect("a run")).collect()
        });
        assert_eq!(alone, side_by_side, "{}", scenario.name);
        let mut prints: Vec<u64> = alone.iter().map(|outcome| outcome.fingerprint).collect();
        prints.sort_unstable();
        prints.dedup();
        assert_eq!(prints.len(), seeds.len(), "{}: {prints:x?}", scenario.name);
    }
}

#[test]
fn fingerprints_are_what_they_were() {
    const KEPT: &str = include_str!("support/fingerprints.txt");
    let mut found: String = KEPT.lines().filter(|line| line.starts_with('#')).fold(String::new(), |mut text, line| {
        text.push_str(line);
        text.push('\n');
        text
    });
    for scenario in scenarios() {
        for seed in SEEDS {
            let outcome = run(&scenario, seed, false, GOLDEN_STEPS, &mut ());
            let _ = writeln!(found, "{:<20} {seed} {:016x}", scenario.name, outcome.fingerprint);
        }
    }
    if std::env::var_os("NUMAESTRO_KEEP").is_some() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/support/fingerprints.txt");
        std::fs::write(path, found).expect("the file can be written");
        return;
    }
    assert_eq!(found, KEPT, "runs are not what they were; if that is wanted, keep the new ones as the file says");
}
