//! Hardware counters: the transactions of each thread per time on a processor since the last
//! reading.
//!
//! The world reads them at the end of every turn, just before the engine decides about the next. A
//! thread that has run for less than [`LEAST_NS`] since then keeps its counts until the next
//! reading.

use super::app::App;
use super::os::Os;
use crate::random::{Purpose, Stream};
use numaestro_engine::Event;

/// Time on a processor below which a rate would be mostly chance, nanoseconds.
const LEAST_NS: i64 = 1_000_000;

/// The counters of one machine.
#[derive(Debug)]
pub struct Counters {
    /// Error of rates: standard deviation as a share of each.
    noise: f64,
    seed: u64,
    /// Rates read so far.
    samples: u64,
}

impl Counters {
    /// Counters with errors that follow from a seed.
    pub fn new(noise: f64, seed: u64) -> Self {
        Self { noise, seed, samples: 0 }
    }

    /// Reads the counters of an application's threads. `None`: none of them has run for long
    /// enough.
    pub fn read(&mut self, os: &mut Os, app: &App) -> Option<Event> {
        let mut rates: Vec<Option<u32>> = app.team.iter().map(|&id| self.rate(os, id)).collect();
        let known = rates.iter().rev().find_map(|&rate| rate)?;
        // Virtual processors beyond its present team would have the rates of its threads.
        if rates.len() < app.program.processors as usize {
            rates.push(Some(known));
        }
        Some(Event::Bandwidth { app: app.notices.id(), rates })
    }

    /// Transactions of a thread per millisecond on a processor since the last reading.
    fn rate(&mut self, os: &mut Os, id: u32) -> Option<u32> {
        let mut rate = os.cpus().read_counters(id, LEAST_NS)?;
        if self.noise > 0.0 {
            self.samples += 1;
            let error = self.noise * Stream::new(self.seed, Purpose::Measuring, self.samples).normal();
            rate *= (1.0 + error).max(0.0);
        }
        Some(libm::round(rate).min(f64::from(u32::MAX)) as u32)
    }
}
