//! What the tests that verify the simulator have in common: runs of any length with every check on,
//! their logs, and intervals over seeds.
#![allow(dead_code)] // Each test crate uses a part of it.

use numaestro_sim::Nanos;
use numaestro_sim::outcome::Outcome;
use numaestro_sim::stats::Interval;
use numaestro_sim::workload::Source;
use numaestro_sim::world::{Observer, Setup, World};
use proptest::prelude::ProptestConfig;

/// Confidence of the intervals: seeds are fixed, so that a test that holds holds for ever, but a
/// wrong model is far outside.
const CONFIDENCE: f64 = 0.99;

/// Random cases: this many, or as many as the environment variable `NUMAESTRO_CASES` says if that
/// is more.
pub fn cases(usual: u32) -> ProptestConfig {
    let wanted = std::env::var("NUMAESTRO_CASES").ok().and_then(|text| text.parse().ok()).unwrap_or(0);
    ProptestConfig { cases: usual.max(wanted), failure_persistence: None, ..ProptestConfig::default() }
}

/// One line of the event log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    pub at: Nanos,
    pub name: String,
    pub job: u64,
    pub thread: u32,
    pub value: u32,
}

impl Entry {
    fn read(line: &str) -> Self {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let [at, name, job, thread, value] = fields[..] else { panic!("five columns: {line}") };
        let number = |text: &str| text.parse::<u64>().expect("a number");
        Self {
            at: number(at),
            name: name.to_owned(),
            job: number(job),
            thread: number(thread) as u32,
            value: number(value) as u32,
        }
    }

    /// Whether its value is a processor.
    pub fn is_on_pu(&self) -> bool {
        matches!(self.name.as_str(), "segment" | "task" | "slice" | "lock")
    }
}

/// Keeps the event log.
#[derive(Debug, Default)]
pub struct Log(pub Vec<Entry>);

impl Observer for Log {
    fn wants_log(&self) -> bool {
        true
    }

    fn log(&mut self, line: &str) {
        self.0.push(Entry::read(line));
    }
}

/// Adds up the time that all applications were there, from their comings and goings.
#[derive(Debug, Default)]
struct Presence {
    present: u64,
    since: Nanos,
    area: u128,
}

impl Observer for Presence {
    fn wants_log(&self) -> bool {
        true
    }

    fn log(&mut self, line: &str) {
        let mut fields = line.split_whitespace();
        let (Some(at), Some(name)) = (fields.next(), fields.next()) else { panic!("columns: {line}") };
        let at: Nanos = at.parse().expect("a time");
        self.area += u128::from(self.present) * u128::from(at - self.since);
        self.since = at;
        match name {
            "arrive" => self.present += 1,
            "end" => self.present -= 1,
            _ => {}
        }
    }
}

/// Runs to the end with every check on, and checks Little's law and the utilisation law, both
/// exactly.
pub fn run(setup: Setup, source: Box<dyn Source>) -> Outcome {
    let mut presence = Presence::default();
    let mut world = World::new(Setup { checks: true, ..setup }, source).expect("a policy");
    let outcome = world.run(&mut presence);
    laws(&outcome, presence.area);
    outcome
}

/// The same with its log.
pub fn logged(setup: Setup, source: Box<dyn Source>) -> (Outcome, Vec<Entry>) {
    let mut log = Log::default();
    let mut world = World::new(Setup { checks: true, ..setup }, source).expect("a policy");
    let outcome = world.run(&mut log);
    (outcome, log.0)
}

/// Mean number present = rate × mean stay (Little 1961), and busy time = throughput × processor
/// time of each: both times the length of the run, so that they hold to the nanosecond. Only for
/// runs in which everybody has ended and threads, not curves, run.
fn laws(outcome: &Outcome, area: u128) {
    assert_eq!(outcome.refusals, 0, "nobody is refused");
    let stays: u128 = outcome.jobs.iter().map(|job| u128::from(job.response())).sum();
    assert_eq!(area, stays, "Little's law");
    let mut busy = 0;
    for time in &outcome.pus {
        let own = time.work + time.spin + time.reload + time.overhead;
        assert_eq!(own + time.idle, outcome.end, "the times of a processor are the time that has passed");
        busy += own;
    }
    if outcome.jobs.iter().all(|job| &*job.program != "curve") {
        let used: u64 = outcome.jobs.iter().map(|job| job.cpu_ns).sum();
        assert_eq!(used, busy, "the utilisation law");
    }
}

/// The interval of the mean of one number for each seed.
pub fn interval(samples: &[f64]) -> Interval {
    Interval::of(samples, CONFIDENCE).expect("several samples")
}

/// The true value is in the interval, and the interval is narrow enough to say something.
#[track_caller]
pub fn confirms(what: &str, samples: &[f64], truth: f64, widest: f64) {
    let interval = interval(samples);
    assert!(interval.relative() <= widest, "{what}: {interval:?} is too wide to say anything");
    assert!(interval.contains(truth), "{what}: {truth} is not in {interval:?}");
}
