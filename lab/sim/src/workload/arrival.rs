//! An application that arrives, and the sources of arrivals.

use crate::Nanos;
use crate::program::Program;
use std::sync::Arc;

/// An application that arrives.
#[derive(Debug, Clone, PartialEq)]
pub struct Arrival {
    /// Time of arrival, nanoseconds; not before the last one that the source gave.
    pub at: Nanos,
    /// Its number in the workload, for random streams: the same job draws the same numbers under
    /// every policy.
    pub job: u64,
    /// The stream it belongs to, for closed workloads; 0 otherwise.
    pub stream: u32,
    /// Its program.
    pub program: Arc<Program>,
    /// Its user's estimate of its run time, nanoseconds, for backfilling.
    pub estimate_ns: Option<Nanos>,
    /// The time at which somebody tells it to end, nanoseconds: it ends when its team meets next,
    /// or its phase is over; one that still waits for its first processor, when it has one.
    pub until: Option<Nanos>,
}

/// A source of applications. The world asks for one arrival at a time, so that memory is linear in
/// live applications.
pub trait Source: std::fmt::Debug + Send {
    /// The next arrival that depends on nothing, in order of time.
    fn next(&mut self) -> Option<Arrival>;

    /// The arrival that follows from the end of an application (closed workloads: the next of its
    /// stream).
    fn ended(&mut self, stream: u32, now: Nanos) -> Option<Arrival> {
        let _ = (stream, now);
        None
    }

    /// Number of all arrivals, where it is known: for progress.
    fn total(&self) -> Option<u64>;
}
