//! Malleable jobs by Downey's model.
//!
//! **Source**: Downey 1997, "A parallel workload model and its implications for processor
//! allocation": total work and the average parallelism A are log-uniform, and the speedup follows
//! from A and its variation σ; arrivals are Poisson. **Not from there**: the default ranges, which
//! are this project's: the paper fits them to each site.

use super::batch::{BatchJob, Demand, downey_most};
use crate::Nanos;
use crate::random::{Purpose, Stream};
use crate::speedup::Curve;

/// The model's ranges.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Parameters {
    /// Least and most work, nanoseconds on one processor.
    pub work: (f64, f64),
    /// Least and most average parallelism A.
    pub average: (f64, f64),
    /// Least and most σ; uniform between them.
    pub sigma: (f64, f64),
    /// Mean nanoseconds between arrivals.
    pub interval: f64,
}

impl Parameters {
    /// Work from 10 s to a day of processor time, A up to the machine's size, σ up to 2, an arrival
    /// a minute.
    pub fn for_machine(pus: u32) -> Self {
        Self { work: (10e9, 86_400e9), average: (1.0, f64::from(pus)), sigma: (0.0, 2.0), interval: 60e9 }
    }
}

/// The entity of this generator's stream.
const ENTITY: u64 = u64::MAX - 1;

/// Jobs without end, in order of submission.
#[derive(Debug, Clone)]
pub struct Downey {
    parameters: Parameters,
    random: Stream,
    now: Nanos,
}

impl Downey {
    /// Jobs with these parameters.
    pub fn new(parameters: Parameters, seed: u64) -> Self {
        Self { parameters, random: Stream::new(seed, Purpose::Generator, ENTITY), now: 0 }
    }

    fn log_uniform(&mut self, (low, high): (f64, f64)) -> f64 {
        libm::exp(libm::log(low) + (libm::log(high) - libm::log(low)) * self.random.unit())
    }
}

impl Iterator for Downey {
    type Item = BatchJob;

    fn next(&mut self) -> Option<BatchJob> {
        self.now += libm::round(self.parameters.interval * self.random.exponential()) as Nanos;
        let work_ns = self.log_uniform(self.parameters.work).max(1.0) as u64;
        let average = self.log_uniform(self.parameters.average).max(1.0);
        let (low, high) = self.parameters.sigma;
        let sigma = low + (high - low) * self.random.unit();
        let most = downey_most(average, sigma) as u32;
        let demand = Demand::Malleable { work_ns, curve: Curve::Downey { average, sigma }, most };
        Some(BatchJob { submit: self.now, demand, estimate_ns: None })
    }
}
