//! Runs of the synthetic processes on the 64-processor machine under a policy, at a load.

use crate::lab::{Experiment, Lab, Outcomes, Trouble};
use numaestro_engine::{Needs, Settings};
use numaestro_sim::dist::Dist;
use numaestro_sim::machine;
use numaestro_sim::memory::Contention;
use numaestro_sim::outcome::{JobRecord, Outcome};
use numaestro_sim::program::{Body, Phase, Program, read};
use numaestro_sim::read::Text;
use numaestro_sim::workload::{self, Source};
use numaestro_sim::world::Setup;
use std::sync::Arc;

/// Processors of the machine.
const PROCESSORS: f64 = 64.0;
/// Runs of each point, with seeds of their own.
const RUNS: u32 = 5;
/// Processes of a run, and of a quick one.
const JOBS: (u64, u64) = (200, 80);
/// One process of so many is left out: the first ones, while the machine fills.
const WARM_UP: u64 = 10;
/// Mean number of threads forked at once where the paper does not say. It is calibrated on one
/// sentence of the paper (§3.1), that a load level beyond 100 % does not always mean congestion:
/// with four threads every home is taken at 125 %, with eight it is not.
/// home is taken at 125 %, with eight it is not.
pub const FORKS: u32 = 8;

/// Seconds on one processor of a process whose forks have this mean, if all references hit the
/// cache.
fn seconds_of_hits(forks: u32) -> f64 {
    const REPEATS: f64 = 4.0;
    const SERIAL: f64 = 0.25;
    const TASK: f64 = 1.0;
    REPEATS * (SERIAL + TASK * f64::from(forks))
}

/// Mean cost of a reference if pages are anywhere, in accesses to the cache: half of the references
/// hit, and 1/16 of the rest are local.
fn cost_at_random() -> f64 {
    const HITS: f64 = 0.5;
    HITS + (1.0 - HITS) * (1.3 / 16.0 + 4.8 * 15.0 / 16.0)
}

/// One point of a figure.
#[derive(Debug, Clone, Copy)]
pub struct Run<'a> {
    /// A preset.
    pub policy: &'a str,
    /// Load, percent.
    pub load: u32,
    /// Mean number of threads forked at once.
    pub forks: u32,
    /// The mean number of threads for which the interval between processes makes this load.
    pub load_forks: u32,
}

impl<'a> Run<'a> {
    /// A run with forks of this mean, at the interval that makes this load with them.
    pub const fn new(policy: &'a str, load: u32, forks: u32) -> Self {
        Self { policy, load, forks, load_forks: forks }
    }

    /// A run with forks of this mean, at the interval that makes this load with forks of the usual
    /// mean.
    pub const fn at_interval(policy: &'a str, load: u32, forks: u32) -> Self {
        Self { policy, load, forks, load_forks: FORKS }
    }

    /// Mean seconds between two arrivals: the work offered, with pages anywhere, over the capacity
    /// of the processors.
    fn interval(&self) -> f64 {
        seconds_of_hits(self.load_forks) * cost_at_random() / (PROCESSORS * f64::from(self.load) / 100.0)
    }

    /// The run as an experiment of the lab.
    pub fn experiment(&self, lab: &Lab) -> Result<Experiment, Trouble> {
        let Self { policy, load, forks, load_forks } = *self;
        let jobs = if lab.is_quick() { JOBS.1 } else { JOBS.0 };
        let model = machine::named("k64", 0).ok_or_else(|| Trouble::new("k64", "there is no such machine"))?;
        let program = process(forks)?;
        let interval = Dist::Exponential(self.interval() * 1e9);
        let make = move |seed| -> Box<dyn Source> {
            Box::new(workload::Open::new(vec![(Arc::clone(&program), 1.0)], interval.clone(), 1.0, Some(jobs), seed))
        };
        Ok(Experiment {
            name: format!("{policy} at {load} % with forks of {load_forks}, forks of {forks}, {jobs} processes"),
            setup: Setup { settings: settings(policy), contention: Contention::None, ..Setup::new(Arc::new(model)) },
            source: Arc::new(make),
            runs: RUNS,
        })
    }
}

/// Settings under which threads end undisturbed: an hour is far more than any of them takes.
fn settings(policy: &str) -> Settings {
    let host = Needs { requests: true, page_control: true, preemption: true, ..Needs::NONE };
    Settings { policy: policy.to_owned(), grace_ns: 3_600_000_000_000, host, ..Settings::default() }
}

/// The process with forks of this mean.
fn process(forks: u32) -> Result<Arc<Program>, Trouble> {
    let wrong = |reason: String| Trouble::new("process.toml", reason);
    let text = Text::new("process.toml", include_str!("process.toml"));
    let mut programs = read(text).map_err(|mistake| wrong(mistake.to_string()))?;
    let mut program = programs.pop().ok_or_else(|| wrong("there is no program in it".to_owned()))?;
    if let Body::Phases(phases) = &mut program.body {
        fork(phases, f64::from(forks));
    }
    Ok(Arc::new(program))
}

fn fork(phases: &mut [Phase], mean: f64) {
    for phase in phases {
        match phase {
            Phase::Repeat { phases, .. } => fork(phases, mean),
            Phase::Tasks { count, .. } => *count = Dist::Geometric(mean),
            _ => {}
        }
    }
}

/// Runs all of these side by side.
pub fn outcomes(lab: &Lab, runs: &[Run<'_>]) -> Result<Vec<Outcomes>, Trouble> {
    let experiments = runs.iter().map(|run| run.experiment(lab)).collect::<Result<Vec<_>, _>>()?;
    lab.all(&experiments)
}

/// Mean response of each run, seconds.
pub fn responses(outcomes: &[Outcome]) -> Vec<f64> {
    outcomes.iter().map(|outcome| mean(outcome, |job| job.response() as f64 / 1e9)).collect()
}

/// Share of the references that miss the cache and go to remote memory, of each run.
pub fn remote(outcomes: &[Outcome]) -> Vec<f64> {
    let share = |outcome: &Outcome| {
        let local = mean(outcome, |job| job.local_refs as f64);
        let remote = mean(outcome, |job| job.remote_refs as f64);
        remote / (local + remote)
    };
    outcomes.iter().map(share).collect()
}

/// Mean of `of` over the processes that are not left out.
fn mean(outcome: &Outcome, of: impl Fn(&JobRecord) -> f64) -> f64 {
    let first = outcome.jobs.len() as u64 / WARM_UP;
    let values: Vec<f64> = outcome.jobs.iter().filter(|job| job.job >= first).map(of).collect();
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_makes_the_load() {
        // 33 s of references that hit, 2.79 times as long with pages anywhere, on 64 processors:
        // 1.44 s at 100 %.
        let run = Run::new("FR-Dist", 100, 8);
        assert!((run.interval() - 33.0 * 2.790_625 / 64.0).abs() < 1e-9);
        assert!((Run::new("FR-Dist", 50, 8).interval() - 2.0 * run.interval()).abs() < 1e-9);
        let narrow = Run::at_interval("FR-Dist", 100, 1);
        assert!((narrow.interval() - run.interval()).abs() < 1e-12);
    }

    #[test]
    fn the_program_is_what_the_load_is_computed_from() {
        let program = process(6).unwrap();
        let Body::Phases(phases) = &program.body else { panic!("phases") };
        let [Phase::Repeat { times: 4, phases }] = &phases[..] else { panic!("four times") };
        let [Phase::Serial { work: serial, .. }, Phase::Tasks { count, work, refs }] = &phases[..] else {
            panic!("a serial part and a fork")
        };
        assert!((count.mean() - 6.0).abs() < 1e-12);
        // A microsecond of work makes a thousand references of 100 ns each.
        let seconds = |work: &Dist| work.mean() / 1e3 * refs.iter().map(|refs| refs.per_us).sum::<f64>() * 100e-9;
        let hits = 4.0 * (seconds(serial) + count.mean() * seconds(work));
        assert!((hits - seconds_of_hits(6)).abs() < 1e-9, "{hits}");
    }
}
