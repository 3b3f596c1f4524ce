//! Processes that their users have let go: they are not taken back when they come by themselves.

use std::collections::BTreeMap;

use numaestro_host::procfs;

/// See the file's header.
#[derive(Debug, Default)]
pub(crate) struct Released {
    /// Start time by process id.
    left: BTreeMap<u32, u64>,
}

impl Released {
    /// It has been let go.
    pub(crate) fn insert(&mut self, pid: u32, start_time: u64) {
        self.left.retain(|pid, start_time| is_same(*pid, *start_time));
        self.left.insert(pid, start_time);
    }

    /// Its user wants it back.
    pub(crate) fn remove(&mut self, pid: u32) {
        self.left.remove(&pid);
    }

    /// It has been let go, and still is the same process.
    pub(crate) fn contains(&self, pid: u32) -> bool {
        self.left.get(&pid).is_some_and(|start_time| is_same(pid, *start_time))
    }
}

fn is_same(pid: u32, start_time: u64) -> bool {
    procfs::stat(pid).is_ok_and(|stat| stat.start_time == start_time)
}
