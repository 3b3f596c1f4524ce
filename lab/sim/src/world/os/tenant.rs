//! An application as the operating system knows it: its processors, and the usage of its threads.

use crate::Nanos;
use numaestro_engine::AppId;
use numaestro_topology::PuSet;

/// The usage of one application's threads.
#[derive(Debug, Clone, Copy, Default)]
pub struct Usage {
    /// Time on processors, nanoseconds.
    pub cpu_ns: Nanos,
    /// Time on processors for costs of the system, nanoseconds.
    pub overhead_ns: Nanos,
    /// Time on processors in which threads wait for each other, nanoseconds.
    pub spin_ns: Nanos,
    /// References to the nearest class of memory.
    pub local_refs: f64,
    /// References to all other classes of memory.
    pub remote_refs: f64,
    /// Lines brought back into caches.
    pub reload_lines: u64,
    /// Number of times that a thread went to another processor.
    pub migrations: u32,
    /// Number of threads that began on another object than their master's.
    pub children_away: u32,
    /// Work given to threads, nanoseconds at full speed.
    pub given: Nanos,
    /// Work of segments that have ended, nanoseconds at full speed.
    pub done: Nanos,
}

/// An application.
#[derive(Debug)]
pub struct Tenant {
    pub id: AppId,
    /// Its number in the workload.
    pub job: u64,
    /// Lines of the working set of one thread.
    pub footprint: u64,
    /// Its processors.
    pub set: PuSet,
    /// Its first thread.
    pub master: u32,
    /// None of its threads may run.
    pub stopped: bool,
    pub usage: Usage,
}

impl Tenant {
    /// An application without processors and threads.
    pub fn new(id: AppId, job: u64, footprint: u64) -> Self {
        let (set, usage) = (PuSet::new(), Usage::default());
        Self { id, job, footprint, set, master: super::thread::NONE, stopped: false, usage }
    }
}
