//! An application as the operating system knows it: its processors, and the usage of its threads.

use crate::Nanos;
use numaestro_engine::AppId;
use numaestro_topology::PuSet;

/// The usage of one application's threads.
#[derive(Debug, Clone, Copy, Default)]
pub struct Usage {
    /// Time on processors, nanoseconds.
    pub cpu_ns: Nanos,
    /// Of that: costs of the system, nanoseconds.
    pub overhead_ns: Nanos,
    /// Of that: waiting for each other, nanoseconds.
    pub spin_ns: Nanos,
    /// References to the nearest class of memory.
    pub local_refs: f64,
    /// To all others.
    pub remote_refs: f64,
    /// Lines brought back into caches.
    pub reload_lines: u64,
    /// Times that a thread went to another processor.
    pub migrations: u32,
    /// Threads that began elsewhere than their master was.
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
    /// None of its threads is to run.
    pub stopped: bool,
    pub usage: Usage,
}

impl Tenant {
    /// One without processors and threads.
    pub fn new(id: AppId, job: u64, footprint: u64) -> Self {
        let (set, usage) = (PuSet::new(), Usage::default());
        Self { id, job, footprint, set, master: super::thread::NONE, stopped: false, usage }
    }
}
