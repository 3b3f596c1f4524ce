//! The measurements of a run.

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
    /// Time of its arrival, nanoseconds.
    pub arrived: Nanos,
    /// Time of its start, nanoseconds.
    pub started: Nanos,
    /// Time of its end, nanoseconds.
    pub ended: Nanos,
    /// Processor time it had, nanoseconds: working, waiting on the processor, reloading caches.
    pub cpu_ns: Nanos,
    /// Largest number of threads at once.
    pub threads: u32,
    /// Memory references to the nearest class of memory (estimated from rates; rounded).
    pub local_refs: u64,
    /// Memory references to all other classes (estimated in the same way).
    pub remote_refs: u64,
    /// Lines that its threads have brought back into caches after others, or elsewhere.
    pub reload_lines: u64,
    /// Nanoseconds of its processor time in which its threads waited for each other.
    pub spin_ns: Nanos,
    /// Costs of the system, nanoseconds: switches, migrations, creations, page faults, stops.
    pub overhead_ns: Nanos,
    /// `overhead_ns`, and the part of the waiting that goes to calls of the system.
    pub system_ns: Nanos,
    /// Number of times it was stopped.
    pub stops: u32,
    /// Changes of its number of processors.
    pub resizes: u32,
    /// Resizes while its number had been found and it wanted all it ever did (PDPA).
    pub settled_resizes: u32,
    /// Nanoseconds in which its number of processors was searched for (PDPA).
    pub searching_ns: Nanos,
    /// Number of speedups it has reported.
    pub speedups: u32,
    /// Pages that have followed it to another node.
    pub pages_moved: u64,
    /// Threads moved to another processor.
    pub migrations: u32,
    /// Number of its threads that began on another object (package, station) than the master's.
    pub children_away: u32,
    /// Threads it created besides the master.
    pub children: u32,
}

impl JobRecord {
    /// Lines that it has brought into caches: the ones it refers to, and the ones it had lost.
    pub fn misses(&self) -> u64 {
        self.local_refs + self.remote_refs + self.reload_lines
    }

    /// Time from arrival to end, nanoseconds.
    pub fn response(&self) -> Nanos {
        self.ended - self.arrived
    }
}

/// The activities of one processor, in nanoseconds; the sum is the length of the run.
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
    /// Did nothing.
    pub idle: Nanos,
}

/// The use of one channel.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ChannelUse {
    /// Its name.
    pub name: String,
    /// Mean share of its capacity in use.
    pub utilisation: f64,
    /// Largest share asked for.
    pub peak_demand: f64,
}

/// The decisions of the engine, by kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Decisions {
    /// Applications started.
    pub starts: u64,
    /// Notices of a place in the queue.
    pub waits: u64,
    /// Sets of processors told.
    pub targets: u64,
    /// Applications stopped.
    pub stops: u64,
    /// Applications let go on.
    pub continues: u64,
    /// Homes of pages told.
    pub pages: u64,
    /// Applications forced off processors.
    pub forces: u64,
    /// Events refused.
    pub refusals: u64,
}

/// The number of applications that run from a time on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Level {
    /// The time from which it holds, nanoseconds.
    pub at: Nanos,
    /// Applications that have started and not ended.
    pub running: u32,
}

/// The outcome of a run.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Outcome {
    /// Time of the last event, nanoseconds.
    pub end: Nanos,
    /// Applications in order of their ends.
    pub jobs: Vec<JobRecord>,
    /// Processors by logical index.
    pub pus: Vec<PuTime>,
    /// Channels of the machine.
    pub channels: Vec<ChannelUse>,
    /// Events of threads: segments of work ended, meetings, slices, tasks.
    pub thread_events: u64,
    /// Events given to the engine.
    pub engine_events: u64,
    /// Applications that the engine refused for good.
    pub refusals: u64,
    /// The decisions of the engine.
    pub decisions: Decisions,
    /// The multiprogramming level over time.
    pub levels: Vec<Level>,
    /// Fingerprint of the event log (as FNV-1a, over the fields of its lines): equal runs have
    /// equal ones.
    pub fingerprint: u64,
}

impl Outcome {
    /// Mean multiprogramming level from the first start to the last end.
    pub fn mean_level(&self) -> f64 {
        let spans = self.levels.windows(2).map(|pair| (pair[1].at - pair[0].at) as f64 * f64::from(pair[0].running));
        let sum: f64 = spans.sum();
        match (self.levels.first(), self.levels.last()) {
            (Some(first), Some(last)) if last.at > first.at => sum / (last.at - first.at) as f64,
            _ => 0.0,
        }
    }

    /// Share of the processors' time that went into work.
    pub fn utilisation(&self) -> f64 {
        let work: Nanos = self.pus.iter().map(|pu| pu.work).sum();
        let all = self.end as f64 * self.pus.len() as f64;
        if all > 0.0 { work as f64 / all } else { 0.0 }
    }
}
