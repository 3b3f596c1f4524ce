//! Jobs of batch systems, from logs and models, as arrivals: their load scaled, their sizes fitted
//! to the machine, and rigid ones turned malleable if the scenario wants that.
//!
//! Sources: load scaled by the intervals between arrivals, Feitelson 2015 (§8.6); speedup by
//! inversion, keeping the size and run time of the log as one point of the curve: Downey 1997,
//! Sevcik 1994, with parameters drawn as Cirne and Berman 2001 do for moldable jobs.

use super::arrival::{Arrival, Source};
use crate::Nanos;
use crate::dist::Dist;
use crate::program::{Body, Limits, Program, Vacates};
use crate::random::{Purpose, Stream};
use crate::speedup::Curve;
use std::fmt;
use std::sync::Arc;

/// The demand of a job.
#[derive(Debug, Clone, PartialEq)]
pub enum Demand {
    /// So many processors for so long, and nothing else.
    Rigid {
        /// Processors, at least 1.
        size: u32,
        /// Time on them, nanoseconds.
        run_ns: Nanos,
    },
    /// Work on as many processors as it gets.
    Malleable {
        /// Time on one processor, nanoseconds.
        work_ns: Nanos,
        /// Its speedup.
        curve: Curve,
        /// Most processors that make it faster.
        most: u32,
    },
}

impl Demand {
    /// Processor time, nanoseconds: of a malleable job that on one processor.
    pub fn work(&self) -> f64 {
        match self {
            Self::Rigid { size, run_ns } => f64::from(*size) * *run_ns as f64,
            Self::Malleable { work_ns, .. } => *work_ns as f64,
        }
    }
}

/// A job.
#[derive(Debug, Clone, PartialEq)]
pub struct BatchJob {
    /// Time of submission, nanoseconds.
    pub submit: Nanos,
    /// Its demand.
    pub demand: Demand,
    /// Its user's estimate of its run time, nanoseconds.
    pub estimate_ns: Option<Nanos>,
}

/// Jobs in order of their submission.
pub trait Jobs: Iterator<Item = BatchJob> + fmt::Debug + Send {}

impl<T: Iterator<Item = BatchJob> + fmt::Debug + Send> Jobs for T {}

/// The ways to turn rigid jobs.
#[derive(Debug, Clone, PartialEq)]
pub enum Turn {
    /// They stay rigid.
    Rigid,
    /// Downey's curve through the job's size and time.
    Downey {
        /// A as a multiple of the job's size; a curve has A of at least 1.
        average: Dist,
        /// σ.
        sigma: Dist,
    },
    /// Sevcik's curve through the job's size and time.
    Sevcik {
        /// φ, where the work is 1.
        imbalance: Dist,
        /// α, as a share of the work.
        serial: Dist,
        /// β, as a share of the work.
        overhead: Dist,
    },
}

/// The estimates of jobs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Estimates {
    /// The log's estimate; its run time where the log has none.
    Log,
    /// Its run time, whatever the log says.
    Perfect,
    /// No estimate.
    None,
}

/// The way in which jobs are fitted to a machine.
#[derive(Debug, Clone, PartialEq)]
pub struct Fit {
    /// Processors that applications can have.
    pub pus: u32,
    /// Factor of sizes; the products are rounded, at least to 1, then cut off at `pus`.
    pub sizes: f64,
    /// Factor of times of submission.
    pub intervals: f64,
    /// The way to turn rigid jobs.
    pub turn: Turn,
    /// The estimates of the jobs.
    pub estimates: Estimates,
}

/// Jobs as arrivals.
#[derive(Debug)]
pub struct Batch {
    jobs: Box<dyn Jobs>,
    fit: Fit,
    seed: u64,
    next: u64,
    total: Option<u64>,
}

/// Offered load: the processor time of all jobs, over that of `pus` processors from the first
/// submission to the last. Sizes are fitted as `fit` says. 0 where there are fewer than two jobs.
pub fn offered(jobs: impl Iterator<Item = BatchJob>, fit: &Fit) -> f64 {
    let (mut work, mut first, mut last) = (0.0, None, 0);
    for job in jobs {
        work += fitted(&job.demand, fit).work();
        first.get_or_insert(job.submit);
        last = job.submit;
    }
    let span = last - first.unwrap_or(last);
    if span == 0 { 0.0 } else { work / (span as f64 * f64::from(fit.pus)) }
}

fn fitted(demand: &Demand, fit: &Fit) -> Demand {
    match demand {
        Demand::Rigid { size, run_ns } => {
            let scaled = libm::round(f64::from(*size) * fit.sizes) as u32;
            Demand::Rigid { size: scaled.clamp(1, fit.pus), run_ns: *run_ns }
        }
        Demand::Malleable { work_ns, curve, most } => {
            Demand::Malleable { work_ns: *work_ns, curve: curve.clone(), most: (*most).clamp(1, fit.pus) }
        }
    }
}

impl Batch {
    /// These jobs, fitted; `total` where it is known.
    pub fn new(jobs: Box<dyn Jobs>, fit: Fit, seed: u64, total: Option<u64>) -> Self {
        Self { jobs, fit, seed, next: 0, total }
    }
}

impl Source for Batch {
    fn next(&mut self) -> Option<Arrival> {
        let job = self.jobs.next()?;
        let number = self.next;
        self.next += 1;
        let demand = fitted(&job.demand, &self.fit);
        let run_ns = match &demand {
            Demand::Rigid { run_ns, .. } => *run_ns,
            Demand::Malleable { work_ns, curve, most } => (*work_ns as f64 / curve.speedup(*most)) as Nanos,
        };
        let estimate_ns = match self.fit.estimates {
            Estimates::Log => Some(job.estimate_ns.unwrap_or(run_ns)),
            Estimates::Perfect => Some(run_ns),
            Estimates::None => None,
        };
        let demand = self.fit.turn.apply(demand, self.fit.pus, self.seed, number);
        let at = (job.submit as f64 * self.fit.intervals) as Nanos;
        Some(Arrival { at, job: number, stream: 0, program: Arc::new(program(demand)), estimate_ns, until: None })
    }

    fn total(&self) -> Option<u64> {
        self.total
    }
}

impl Turn {
    /// Turns a rigid job; the same job draws the same numbers whatever came before it.
    fn apply(&self, demand: Demand, pus: u32, seed: u64, job: u64) -> Demand {
        let Demand::Rigid { size, run_ns } = demand else { return demand };
        let mut random = Stream::new(seed, Purpose::Generator, job);
        let (curve, most) = match self {
            Self::Rigid => return demand,
            Self::Downey { average, sigma } => {
                let average = (average.draw(&mut random) * f64::from(size)).max(1.0);
                let sigma = sigma.draw(&mut random);
                (Curve::Downey { average, sigma }, downey_most(average, sigma))
            }
            Self::Sevcik { imbalance, serial, overhead } => {
                let imbalance = imbalance.draw(&mut random).max(1e-9);
                let (serial, overhead) = (serial.draw(&mut random), overhead.draw(&mut random));
                (Curve::Sevcik { imbalance, serial, overhead }, sevcik_most(imbalance, overhead))
            }
        };
        let work_ns = (run_ns as f64 * curve.speedup(size)).round() as Nanos;
        // Never less than the size that the log shows it could use.
        let most = if most.is_finite() { (most as u32).max(size) } else { pus };
        Demand::Malleable { work_ns, curve, most: most.min(pus) }
    }
}

/// The number of processors at which Downey's curve becomes flat.
pub(crate) fn downey_most(average: f64, sigma: f64) -> f64 {
    let end = if sigma <= 1.0 { 2.0 * average - 1.0 } else { average + average * sigma - sigma };
    libm::ceil(end.clamp(1.0, 1e9))
}

/// The number of processors at which Sevcik's T(n) is least: φ/n + β·n.
fn sevcik_most(imbalance: f64, overhead: f64) -> f64 {
    libm::ceil(libm::sqrt(imbalance / overhead))
}

/// The program of a job.
fn program(demand: Demand) -> Program {
    let (name, processors, min, body) = match demand {
        Demand::Rigid { size, run_ns } => {
            let work = Dist::Constant(f64::from(size) * run_ns as f64);
            ("rigid", size, size, Body::curve(work, Curve::Rigid(size), 0))
        }
        Demand::Malleable { work_ns, curve, most } => {
            ("malleable", most, 1, Body::curve(Dist::Constant(work_ns as f64), curve, 0))
        }
    };
    Program {
        limits: Limits { min, ..Limits::default() },
        vacates: Vacates::AtOnce,
        ..Program::new(name, processors, body)
    }
}
