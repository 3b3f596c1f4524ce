//! Open workloads: applications arrive whatever the machine does, or at given times.

use super::arrival::{Arrival, Source};
use crate::Nanos;
use crate::dist::Dist;
use crate::program::Program;
use crate::random::{Purpose, Stream};
use std::sync::Arc;

/// Arrivals with random intervals, of programs drawn from a mix.
#[derive(Debug, Clone)]
pub struct Open {
    mix: Vec<(Arc<Program>, f64)>,
    interarrival: Dist,
    scale: f64,
    jobs: Option<u64>,
    intervals: Stream,
    choices: Stream,
    now: Nanos,
    next: u64,
}

impl Open {
    /// Arrivals whose intervals are `interarrival` (nanoseconds) times `scale`; each runs a program
    /// of `mix` with its weight. `jobs` = `None`: until the run ends.
    ///
    /// # Panics
    /// If the mix has no weight.
    pub fn new(mix: Vec<(Arc<Program>, f64)>, interarrival: Dist, scale: f64, jobs: Option<u64>, seed: u64) -> Self {
        assert!(mix.iter().map(|(_, weight)| weight).sum::<f64>() > 0.0, "a mix without weight");
        let intervals = Stream::new(seed, Purpose::Arrivals, 0);
        let choices = Stream::new(seed, Purpose::Arrivals, 1);
        Self { mix, interarrival, scale, jobs, intervals, choices, now: 0, next: 0 }
    }

    fn choose(&mut self) -> Arc<Program> {
        let weight: f64 = self.mix.iter().map(|(_, weight)| weight).sum();
        let mut left = self.choices.unit() * weight;
        for (program, share) in &self.mix {
            left -= share;
            if left <= 0.0 && *share > 0.0 {
                return program.clone();
            }
        }
        self.mix[self.mix.len() - 1].0.clone()
    }
}

impl Source for Open {
    fn next(&mut self) -> Option<Arrival> {
        if self.jobs.is_some_and(|jobs| self.next >= jobs) {
            return None;
        }
        // Rounded to the nearest, so that the load does not change.
        self.now += libm::round(self.interarrival.draw(&mut self.intervals) * self.scale) as Nanos;
        let job = self.next;
        self.next += 1;
        Some(Arrival { at: self.now, job, stream: 0, program: self.choose(), estimate_ns: None, until: None })
    }

    fn total(&self) -> Option<u64> {
        self.jobs
    }
}

/// Arrivals at given times.
#[derive(Debug, Clone)]
pub struct List {
    arrivals: std::vec::IntoIter<Arrival>,
    total: u64,
}

impl List {
    /// These arrivals, in order of time; arrivals of the same time keep their order. They are
    /// numbered in this order.
    pub fn new(mut arrivals: Vec<Arrival>) -> Self {
        arrivals.sort_by_key(|arrival| arrival.at);
        for (job, arrival) in (0..).zip(&mut arrivals) {
            arrival.job = job;
        }
        Self { total: arrivals.len() as u64, arrivals: arrivals.into_iter() }
    }
}

impl Source for List {
    fn next(&mut self) -> Option<Arrival> {
        self.arrivals.next()
    }

    fn total(&self) -> Option<u64> {
        Some(self.total)
    }
}
