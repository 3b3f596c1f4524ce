//! What a run has measured. Knows nothing of how it is shown.

use crate::Nanos;
use serde::Serialize;

/// One application that has ended.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct JobRecord {
    /// Its number in the workload.
    pub job: u64,
    /// Its program's name.
    pub program: std::sync::Arc<str>,
    /// Its stream; 0 in open workloads.
    pub stream: u32,
    /// When it arrived.
    pub arrived: Nanos,
    /// When it was started.
    pub started: Nanos,
    /// When it ended.
    pub ended: Nanos,
    /// Processor time it had: working, waiting on the processor, reloading caches.
    pub cpu_ns: Nanos,
    /// Largest number of threads at once.
    pub threads: u32,
    /// Memory references to the nearest class of memory and to all others (estimated from rates; rounded).
    pub local_refs: u64,
    /// To all others.
    pub remote_refs: u64,
    /// Threads moved to another processor.
    pub migrations: u32,
    /// Sum over its threads of whether each was on another object (package, station) than the master when it began.
    pub children_away: u32,
    /// Threads it created besides the master.
    pub children: u32,
}

impl JobRecord {
    /// From arrival to end.
    pub fn response(&self) -> Nanos {
        self.ended - self.arrived
    }
}

/// What one processor did, in nanoseconds; the sum is the length of the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct PuTime {
    /// Ran threads that did their work (references included).
    pub work: Nanos,
    /// Ran threads that waited on the processor.
    pub spin: Nanos,
    /// Refilled caches.
    pub reload: Nanos,
    /// Changed threads, moved them, created them, or served page faults.
    pub overhead: Nanos,
    /// Nothing.
    pub idle: Nanos,
}

/// What one channel carried.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ChannelUse {
    /// Its name.
    pub name: String,
    /// Mean share of its capacity in use.
    pub utilisation: f64,
    /// Largest share asked for.
    pub peak_demand: f64,
}

/// A run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Outcome {
    /// When the last event was.
    pub end: Nanos,
    /// In order of their ends.
    pub jobs: Vec<JobRecord>,
    /// By logical index.
    pub pus: Vec<PuTime>,
    /// Channels of the machine.
    pub channels: Vec<ChannelUse>,
    /// Events of threads: segments of work ended, meetings, slices, tasks.
    pub thread_events: u64,
    /// Events given to the engine.
    pub engine_events: u64,
    /// Applications that the engine refused for good.
    pub refusals: u64,
    /// Fingerprint of the event log (as FNV-1a, over the fields of its lines): equal runs have equal ones.
    pub fingerprint: u64,
}
