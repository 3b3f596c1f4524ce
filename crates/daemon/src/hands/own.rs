//! The one owner of users' own masks: the processors on which each process would be without us.
//!
//! A process is its number and its start time. The first who knows is believed, in this order: the
//! `run` that the process was, or a former manager; its environment, which `run` has written; the
//! owner itself; the application around it. Only of a process of which nobody knows anything, so
//! that nobody of ours has moved it, the kernel is asked. An entry goes when its process has its
//! mask back, read from the kernel, or has ended.

use std::collections::BTreeMap;

use numaestro_topology::CpuSet;

/// Process id and start time, clock ticks after boot.
pub(crate) type Process = (u32, u64);

/// What others know of the mask of a process.
#[derive(Debug, Default)]
pub(crate) struct Words {
    pub(crate) said: Option<CpuSet>,
    pub(crate) environment: Option<CpuSet>,
    pub(crate) around: Option<CpuSet>,
}

/// The own mask of each process that we have moved, or may move.
#[derive(Debug, Default)]
pub(crate) struct Own {
    by_process: BTreeMap<Process, CpuSet>,
}

impl Own {
    /// The mask of a process as the first of those says who know it. `usable`: a mask without any
    /// of these is none.
    pub(crate) fn find(
        &self,
        process: Process,
        words: Words,
        usable: &CpuSet,
        kernel: impl FnOnce() -> Option<CpuSet>,
    ) -> CpuSet {
        let Words { said, environment, around } = words;
        let known = self.by_process.get(&process).cloned();
        let found = [said, environment, known, around].into_iter().flatten().find(|cpus| cpus.intersects(usable));
        found.or_else(kernel).unwrap_or_else(|| usable.clone())
    }

    pub(crate) fn set(&mut self, process: Process, own: CpuSet) {
        self.by_process.insert(process, own);
    }

    pub(crate) fn of(&self, process: Process) -> Option<&CpuSet> {
        self.by_process.get(&process)
    }

    /// It is on its own mask again, or has ended.
    pub(crate) fn forget(&mut self, process: Process) {
        self.by_process.remove(&process);
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (Process, &CpuSet)> {
        self.by_process.iter().map(|(process, own)| (*process, own))
    }
}
