//! Runs of the synthetic processes on the 64-processor machine under a policy, at a load.

use crate::lab::{Experiment, Lab, Outcomes, Trouble};
use numaestro_engine::{Needs, Settings};
use numaestro_sim::dist::Dist;
use numaestro_sim::machine;
use numaestro_sim::memory::Contention;
use numaestro_sim::outcome::{JobRecord, Outcome};
use numaestro_sim::program::{Body, Part, Phase, Program, read};
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
/// The open constants of the processes, from the file of inputs.
#[derive(Debug, Clone, Copy)]
struct Process {
    /// Mean serial part, in mean threads.
    serial: f64,
    /// Share of a thread's references that go to its own pages.
    own: f64,
    /// Share of references that hit the cache.
    hits: f64,
    /// Costs of local and remote references, in accesses to the cache.
    costs: (f64, f64),
}

impl Process {
    fn of(lab: &Lab) -> Result<Self, Trouble> {
        Ok(Self {
            serial: lab.constant("serial part")?,
            own: lab.constant("own share")?,
            hits: lab.constant("hits")?,
            costs: (lab.constant("local cost")?, lab.constant("remote cost")?),
        })
    }

    /// Seconds on one processor of a process whose forks have this mean, if all references hit the
    /// cache.
    fn seconds_of_hits(&self, forks: u32) -> f64 {
        const REPEATS: f64 = 4.0;
        const TASK: f64 = 1.0;
        REPEATS * (self.serial + TASK * f64::from(forks))
    }

    /// Mean cost of a reference if pages are anywhere, in accesses to the cache: 1/16 of those that
    /// do not hit the cache are local.
    fn cost_at_random(&self) -> f64 {
        let (local, remote) = self.costs;
        self.hits + (1.0 - self.hits) * (local / 16.0 + remote * 15.0 / 16.0)
    }

    /// The program with forks of this mean.
    fn program(&self, forks: u32) -> Result<Arc<Program>, Trouble> {
        let wrong = |reason: String| Trouble::new("process.toml", reason);
        let text = Text::new("process.toml", include_str!("process.toml"));
        let mut programs = read(text).map_err(|mistake| wrong(mistake.to_string()))?;
        let mut program = programs.pop().ok_or_else(|| wrong("there is no program in it".to_owned()))?;
        if let Body::Phases(phases) = &mut program.body {
            self.adapt(phases, f64::from(forks));
        }
        Ok(Arc::new(program))
    }

    fn adapt(&self, phases: &mut [Phase], forks: f64) {
        for phase in phases {
            match phase {
                Phase::Repeat { phases, .. } => self.adapt(phases, forks),
                Phase::Serial { work, refs } => {
                    *work = Dist::Exponential(self.serial * TASK_NS);
                    for refs in refs {
                        refs.hits = self.hits;
                    }
                }
                Phase::Tasks { count, refs, .. } => {
                    *count = Dist::Geometric(forks);
                    for refs in refs {
                        refs.hits = self.hits;
                        let share = if refs.part == Part::Own { self.own } else { 1.0 - self.own };
                        refs.per_us = REFS_PER_US * share;
                    }
                }
                _ => {}
            }
        }
    }
}

/// Mean work of a thread, nanoseconds, as in `process.toml`.
const TASK_NS: f64 = 10e6;
/// References in a microsecond of work, as in `process.toml`.
const REFS_PER_US: f64 = 1000.0;

/// Mean number of threads forked at once where the paper does not say.
#[allow(clippy::cast_sign_loss)] // A fork has at least one thread.
pub fn usual_forks(lab: &Lab) -> Result<u32, Trouble> {
    Ok(lab.constant("forks")?.round().max(1.0) as u32)
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

    /// A run with forks of this mean, at the interval that makes this load with forks of another
    /// mean.
    pub const fn at_interval(policy: &'a str, load: u32, forks: u32, load_forks: u32) -> Self {
        Self { policy, load, forks, load_forks }
    }

    /// Mean seconds between two arrivals: the work offered, with pages anywhere, over the capacity
    /// of the processors.
    fn interval(&self, process: &Process) -> f64 {
        process.seconds_of_hits(self.load_forks) * process.cost_at_random()
            / (PROCESSORS * f64::from(self.load) / 100.0)
    }

    /// The run as an experiment of the lab.
    pub fn experiment(&self, lab: &Lab) -> Result<Experiment, Trouble> {
        let Self { policy, load, forks, load_forks } = *self;
        let jobs = if lab.is_quick() { JOBS.1 } else { JOBS.0 };
        let model = machine::named("k64", 0).ok_or_else(|| Trouble::new("k64", "there is no such machine"))?;
        let process = Process::of(lab)?;
        let program = process.program(forks)?;
        let interval = Dist::Exponential(self.interval(&process) * 1e9);
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

/// Settings under which threads end undisturbed: an hour is far more than any of them takes. A
/// policy that preempts (DYN) does not wait for it.
fn settings(policy: &str) -> Settings {
    let host = Needs { requests: true, page_control: true, preemption: true, ..Needs::NONE };
    Settings { policy: policy.to_owned(), grace_ns: 3_600_000_000_000, host, ..Settings::default() }
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
    use crate::inputs::Inputs;
    use crate::koita_home_cluster::PAPER;
    use crate::{Conditions, Statistics};
    use numaestro_engine::{Action, Event};
    use numaestro_sim::Nanos;
    use numaestro_sim::world::Observer;

    /// Counts the times at which a process has to leave processors in the middle of a thread.
    #[derive(Debug, Default)]
    struct Forced(u32);

    impl Observer for Forced {
        fn wants_journal(&self) -> bool {
            true
        }

        fn journal(&mut self, _at: Nanos, _event: &Event, actions: &[Action]) {
            self.0 += actions.iter().filter(|action| matches!(action, Action::Force { .. })).count() as u32;
        }
    }

    #[test]
    fn only_dyn_preempts() {
        let (basis, claims) = (PAPER.basis, PAPER.claims);
        let inputs = Inputs::read(basis.file, basis.constants, basis.rows, claims).unwrap();
        let constants = inputs.centre();
        let lab = Lab::under(Statistics::Quick, Conditions { constants, ..Conditions::default() });
        for (policy, preempts) in [("DYN-Dist", true), ("EQUI-Dist", false), ("HS-Con", false)] {
            let runs = lab.observed(&Run::new(policy, 75, 8).experiment(&lab).unwrap(), Forced::default).unwrap();
            let forced: Vec<u32> = runs.iter().map(|(forced, _)| forced.0).collect();
            assert!(forced.iter().all(|&forced| (forced > 0) == preempts), "{policy}: {forced:?}");
        }
    }

    const USUAL: Process = Process { serial: 0.25, own: 0.6, hits: 0.5, costs: (1.3, 4.8) };

    #[test]
    fn the_interval_makes_the_load() {
        // 33 s of references that hit, 2.79 times as long with pages anywhere, on 64 processors:
        // 1.44 s at 100 %.
        let run = Run::new("FR-Dist", 100, 8);
        assert!((run.interval(&USUAL) - 33.0 * 2.790_625 / 64.0).abs() < 1e-9);
        assert!((Run::new("FR-Dist", 50, 8).interval(&USUAL) - 2.0 * run.interval(&USUAL)).abs() < 1e-9);
        let narrow = Run::at_interval("FR-Dist", 100, 1, 8);
        assert!((narrow.interval(&USUAL) - run.interval(&USUAL)).abs() < 1e-12);
        let warm = Process { hits: 0.75, ..USUAL };
        assert!(run.interval(&warm) < run.interval(&USUAL), "shorter processes come more often");
    }

    #[test]
    fn the_program_is_what_the_load_is_computed_from() {
        for process in [USUAL, Process { serial: 0.5, own: 0.3, ..USUAL }] {
            let program = process.program(6).unwrap();
            let Body::Phases(phases) = &program.body else { panic!("phases") };
            let [Phase::Repeat { times: 4, phases }] = &phases[..] else { panic!("four times") };
            let [Phase::Serial { work: serial, .. }, Phase::Tasks { count, work, refs }] = &phases[..] else {
                panic!("a serial part and a fork")
            };
            assert!((count.mean() - 6.0).abs() < 1e-12);
            // A microsecond of work makes a thousand references of 100 ns each.
            let seconds = |work: &Dist| work.mean() / 1e3 * refs.iter().map(|refs| refs.per_us).sum::<f64>() * 100e-9;
            let hits = 4.0 * (seconds(serial) + count.mean() * seconds(work));
            assert!((hits - process.seconds_of_hits(6)).abs() < 1e-9, "{hits}");
            assert!((refs[0].per_us - 1000.0 * process.own).abs() < 1e-9 && refs[0].part == Part::Own);
        }
    }

    #[test]
    fn the_file_of_the_machine_has_the_paper_s_costs() {
        let model = machine::named("k64", 0).unwrap();
        let of = |class: usize| {
            model.access.classes[class].cost_ps[machine::Op::Line as usize] as f64 / model.access.hit_ps as f64
        };
        assert!((of(0) - USUAL.costs.0).abs() < 1e-12 && (of(1) - USUAL.costs.1).abs() < 1e-12);
    }
}
