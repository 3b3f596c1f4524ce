//! An application that arrives, and where arrivals come from.

use crate::Nanos;
use crate::program::Program;
use std::sync::Arc;

/// An application that arrives.
#[derive(Debug, Clone, PartialEq)]
pub struct Arrival {
    /// When; not before the last one that the source gave.
    pub at: Nanos,
    /// Its number in the workload, for random streams: the same job draws the same numbers under
    /// every policy.
    pub job: u64,
    /// Which stream it belongs to, for closed workloads; 0 otherwise.
    pub stream: u32,
    /// What it runs.
    pub program: Arc<Program>,
    /// Its user's estimate of its run time, for backfilling.
    pub estimate_ns: Option<Nanos>,
}

/// Where applications come from. Asked for one arrival at a time, so that memory is linear in live
/// applications.
pub trait Source: std::fmt::Debug + Send {
    /// The next arrival that depends on nothing, in order of time.
    fn next(&mut self) -> Option<Arrival>;

    /// What arrives because this one has ended (closed workloads: the next of its stream).
    fn ended(&mut self, stream: u32, now: Nanos) -> Option<Arrival> {
        let _ = (stream, now);
        None
    }

    /// How many will come in all, where that is known: for progress.
    fn total(&self) -> Option<u64>;
}
