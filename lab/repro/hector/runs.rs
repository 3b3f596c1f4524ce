//! Runs on Hector: one kernel alone on given processors, and streams of kernels under a policy.

use super::{Hector, Kernel, STATION};
use crate::estimate::Estimate;
use crate::lab::{Experiment, Lab, Outcomes, Trouble};
use numaestro_engine::Settings;
use numaestro_sim::dist::Dist;
use numaestro_sim::memory::Contention;
use numaestro_sim::outcome::{JobRecord, Outcome};
use numaestro_sim::workload::{self, Order, Source, StreamPlan};
use numaestro_sim::world::Setup;
use std::sync::Arc;

/// Runs of each placement (Brecht 1993, §7).
const RUNS_ALONE: u32 = 8;
/// Runs of each workload, with seeds of their own.
const RUNS_STREAMS: u32 = 10;
/// Channels that applications on different stations have in common.
const BUSES_AND_RING: &[&str] = &["ring", "station bus"];

/// The set-up that all runs share: the machine with this delay.
fn setup(
    hector: &Hector,
    policy: &str,
    delay: u32,
    contention: Contention,
    channels: &[&str],
) -> Result<Setup, Trouble> {
    let mut model = hector.machine(delay)?.clone();
    if !channels.is_empty() {
        model.channels.retain(|channel| channels.iter().any(|kept| channel.name.starts_with(kept)));
    }
    Ok(Setup {
        settings: Settings { policy: policy.to_owned(), ..Settings::default() },
        contention,
        ..Setup::new(Arc::new(model))
    })
}

/// One kernel alone, its processes on given processors.
#[derive(Debug, Clone, Copy)]
pub struct Alone {
    pub kernel: Kernel,
    /// Processes in all.
    pub processes: u32,
    /// The placement in the notation of Brecht 1993, figure 1.2, with `/` for blanks.
    pub placement: &'static str,
    /// Setting of the delay switches, cycles.
    pub delay: u32,
    /// The model of contention on channels.
    pub contention: Contention,
    /// The channels with contention; none named = all.
    pub channels: &'static [&'static str],
}

impl Alone {
    /// Four processes whose references do not queue.
    pub const fn new(kernel: Kernel, placement: &'static str, delay: u32) -> Self {
        Self { kernel, processes: 4, placement, delay, contention: Contention::None, channels: &[] }
    }

    /// The run as an experiment of the lab.
    pub fn experiment(self, lab: &Lab) -> Result<Experiment, Trouble> {
        let Self { kernel, processes, placement, delay, contention, channels } = self;
        let hector = Hector::of(lab)?;
        let policy = format!("share=demand placement=fixed(at={placement}) admission=fifo");
        let program = hector.program(kernel, processes);
        let make = move |seed| -> Box<dyn Source> {
            let start = Dist::Constant(0.0);
            let plan = StreamPlan {
                programs: vec![Arc::clone(&program)],
                repetitions: Some(1),
                start,
                gap: Dist::Constant(0.0),
            };
            Box::new(workload::Streams::new(vec![plan], Order::Given, seed))
        };
        Ok(Experiment {
            name: format!(
                "{} alone, {processes} at {placement}, delay {delay}, {contention:?} {channels:?}",
                kernel.name()
            ),
            setup: setup(&hector, &policy, delay, contention, channels)?,
            source: Arc::new(make),
            runs: RUNS_ALONE,
        })
    }

    /// Seconds of execution in each run.
    pub fn seconds(self, lab: &Lab) -> Result<Vec<f64>, Trouble> {
        let outcomes = lab.outcomes(&self.experiment(lab)?)?;
        Ok(per_run(&outcomes, |_| true))
    }
}

/// Kernels that run once each at the same time, on given processors, with queueing on buses and the
/// ring.
#[derive(Debug, Clone, Copy)]
pub struct Beside<'a> {
    pub kernels: &'a [Kernel],
    /// The placement of each, in the notation of Brecht 1993, figure 1.2, with `/` for blanks and
    /// `;` between kernels.
    pub placements: &'a str,
    /// Buses and the ring carry so many times less than they do on Hector.
    pub slower: u64,
}

impl Beside<'_> {
    /// The run as an experiment of the lab.
    pub fn experiment(&self, lab: &Lab) -> Result<Experiment, Trouble> {
        let hector = Hector::of(lab)?;
        let policy = format!("share=demand placement=fixed(at={}) admission=fifo", self.placements);
        let mut plans = Vec::new();
        for &kernel in self.kernels {
            let none = Dist::Constant(0.0);
            plans.push(StreamPlan {
                programs: vec![hector.program(kernel, STATION)],
                repetitions: Some(1),
                start: none.clone(),
                gap: none,
            });
        }
        let make =
            move |seed| -> Box<dyn Source> { Box::new(workload::Streams::new(plans.clone(), Order::Given, seed)) };
        let names: Vec<&str> = self.kernels.iter().map(|kernel| kernel.name()).collect();
        let mut setup = setup(&hector, &policy, 0, Contention::Amva, BUSES_AND_RING)?;
        for channel in &mut Arc::make_mut(&mut setup.model).channels {
            channel.per_ms = (channel.per_ms / self.slower).max(1);
        }
        Ok(Experiment {
            name: format!("{} at once at {}, channels 1/{}", names.join(", "), self.placements, self.slower),
            setup,
            source: Arc::new(make),
            runs: RUNS_ALONE,
        })
    }

    /// Seconds of one of the kernels in each run.
    pub fn seconds(&self, lab: &Lab, kernel: Kernel) -> Result<Vec<f64>, Trouble> {
        let outcomes = lab.outcomes(&self.experiment(lab)?)?;
        Ok(per_run(&outcomes, |job| *job.program == *kernel.name()))
    }
}

/// Streams of kernels, one after the other, side by side (Brecht 1997, §5.2).
#[derive(Debug, Clone, Copy)]
pub struct Streams<'a> {
    /// The kernels that a stream runs, in an order of its own.
    pub kernels: &'a [Kernel],
    /// Processes of each kernel.
    pub parallelism: u32,
    /// Streams side by side.
    pub count: u32,
    /// Number of times that each stream runs its kernels.
    pub repetitions: u32,
    /// The placement, as part of a policy's name.
    pub placement: &'a str,
    /// Setting of the delay switches, cycles.
    pub delay: u32,
    /// The model of contention on channels, and the channels with contention; none named = all.
    pub contention: Contention,
    pub channels: &'a [&'static str],
    /// Runs under full statistics.
    pub runs: u32,
}

impl<'a> Streams<'a> {
    /// The usual workload with this parallelism: as many streams as 12 processors have room for.
    pub const fn usual(parallelism: u32, placement: &'a str, delay: u32) -> Self {
        let (count, repetitions) = match parallelism {
            2 => (6, 10),
            4 => (3, 15),
            _ => (1, 25),
        };
        Self {
            kernels: &Kernel::FIVE,
            parallelism,
            count,
            repetitions,
            placement,
            delay,
            contention: Contention::None,
            channels: &[],
            runs: RUNS_STREAMS,
        }
    }

    /// The streams as an experiment of the lab.
    pub fn experiment(&self, lab: &Lab) -> Result<Experiment, Trouble> {
        let hector = Hector::of(lab)?;
        let policy = format!("share=demand placement={} admission=fifo", self.placement);
        let programs = self.kernels.iter().map(|&kernel| hector.program(kernel, self.parallelism)).collect();
        let plan = StreamPlan {
            programs,
            repetitions: Some(self.repetitions),
            start: Dist::Constant(0.0),
            gap: hector.pause(),
        };
        let plans = vec![plan; self.count as usize];
        let make =
            move |seed| -> Box<dyn Source> { Box::new(workload::Streams::new(plans.clone(), Order::Shuffled, seed)) };
        let names: Vec<&str> = self.kernels.iter().map(|kernel| kernel.name()).collect();
        Ok(Experiment {
            name: format!(
                "{} x {} x {} of {} processes, {policy}, delay {}, {:?} {:?}, {} runs",
                self.count,
                self.repetitions,
                names.join("+"),
                self.parallelism,
                self.delay,
                self.contention,
                self.channels,
                self.runs,
            ),
            setup: setup(&hector, &policy, self.delay, self.contention, self.channels)?,
            source: Arc::new(make),
            runs: self.runs,
        })
    }

    /// The outcomes of every run.
    pub fn outcomes(&self, lab: &Lab) -> Result<Outcomes, Trouble> {
        lab.outcomes(&self.experiment(lab)?)
    }
}

/// An experiment with a stream for each width, whose jobs have as many processes; d = 16.
pub fn of_widths(lab: &Lab, widths: &[u32], kernels: &[Kernel], placement: &str) -> Result<Experiment, Trouble> {
    let hector = Hector::of(lab)?;
    let policy = format!("share=demand placement={placement} admission=fifo");
    let mut plans = Vec::new();
    for &width in widths {
        plans.push(StreamPlan {
            programs: kernels.iter().map(|&kernel| hector.program(kernel, width)).collect(),
            repetitions: Some(15),
            start: Dist::Constant(0.0),
            gap: hector.pause(),
        });
    }
    let make =
        move |seed| -> Box<dyn Source> { Box::new(workload::Streams::new(plans.clone(), Order::Shuffled, seed)) };
    Ok(Experiment {
        name: format!("streams of {widths:?} processes, {policy}"),
        setup: setup(&hector, &policy, 16, Contention::None, &[])?,
        source: Arc::new(make),
        runs: RUNS_STREAMS,
    })
}

/// Percent of the runs in which `new` is significantly below `old` as the bars of Brecht 1997 show
/// it: the 90 % intervals over the jobs of one run for which `meant` holds are disjoint.
pub fn significantly_below(new: &[Outcome], old: &[Outcome], meant: impl Fn(&JobRecord) -> bool) -> Estimate {
    let bar = |outcome: &Outcome| Estimate::of(&seconds(outcome, &meant));
    let below = |(new, old): (&Outcome, &Outcome)| if bar(new).clearly_below(&bar(old)) { 100.0 } else { 0.0 };
    Estimate::of(&new.iter().zip(old).map(below).collect::<Vec<f64>>())
}

/// Mean response of the jobs for which `meant` holds, in seconds: one value for each run.
pub fn per_run(outcomes: &[Outcome], meant: impl Fn(&JobRecord) -> bool) -> Vec<f64> {
    outcomes.iter().map(|outcome| mean_seconds(outcome, &meant)).collect()
}

/// Response of each job for which `meant` holds, in seconds.
fn seconds(outcome: &Outcome, meant: &impl Fn(&JobRecord) -> bool) -> Vec<f64> {
    outcome.jobs.iter().filter(|job| meant(job)).map(|job| job.response() as f64 / 1e9).collect()
}

/// Mean response of the jobs for which `meant` holds, in seconds.
pub fn mean_seconds(outcome: &Outcome, meant: &impl Fn(&JobRecord) -> bool) -> f64 {
    let times = seconds(outcome, meant);
    times.iter().sum::<f64>() / times.len().max(1) as f64
}
