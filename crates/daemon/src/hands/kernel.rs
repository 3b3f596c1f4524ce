//! What the owner of masks asks of the kernel. Tests have a kernel of their own, without processes.

use std::collections::BTreeSet;
use std::path::Path;

use numaestro_host::affinity::{self, Moved, Ours};
use numaestro_host::{HostError, procfs};
use numaestro_topology::CpuSet;

use crate::senses::given;

/// Reads processes and their masks, and sets these.
pub(crate) trait Kernel: std::fmt::Debug {
    /// Clock ticks from boot to the birth of a process; `None`: it is gone.
    fn start_of(&self, pid: u32) -> Option<u64>;
    fn parent_of(&self, pid: u32) -> Option<u32>;
    fn threads(&self, pid: u32) -> Vec<u32>;
    fn mask(&self, tid: u32) -> Option<CpuSet>;
    /// What the kernel makes of a mask of this process.
    fn possible(&self, pid: u32, whole: &CpuSet) -> Option<CpuSet>;
    /// See [`given::given_by_user`].
    fn given(&self, pid: u32, attach: &Path) -> Option<CpuSet>;
    /// It runs with another user's rights, and nobody moves it.
    fn has_other_rights(&self, pid: u32) -> bool;
    fn tree(&self, root: u32, except: &BTreeSet<u32>) -> Vec<u32>;
    fn all(&self) -> Vec<u32>;
    fn set_process(&self, pid: u32, cpus: &CpuSet, ours: Ours<'_>) -> Result<Moved, HostError>;
    fn set_tree(&self, root: u32, except: &BTreeSet<u32>, cpus: &CpuSet, ours: Ours<'_>) -> Result<Moved, HostError>;
    fn restore_process(&self, pid: u32, whole: &CpuSet, ours: Ours<'_>) -> Result<Moved, HostError>;
}

/// The kernel of this machine.
#[derive(Debug)]
pub(crate) struct Linux;

impl Kernel for Linux {
    fn start_of(&self, pid: u32) -> Option<u64> {
        procfs::stat(pid).ok().map(|stat| stat.start_time)
    }

    fn parent_of(&self, pid: u32) -> Option<u32> {
        procfs::stat(pid).ok().map(|stat| stat.parent)
    }

    fn threads(&self, pid: u32) -> Vec<u32> {
        procfs::threads(pid).unwrap_or_default()
    }

    fn mask(&self, tid: u32) -> Option<CpuSet> {
        affinity::get(tid).ok()
    }

    fn possible(&self, pid: u32, whole: &CpuSet) -> Option<CpuSet> {
        affinity::possible(pid, whole).ok()
    }

    fn given(&self, pid: u32, attach: &Path) -> Option<CpuSet> {
        given::given_by_user(pid, attach)
    }

    fn has_other_rights(&self, pid: u32) -> bool {
        numaestro_host::own_uid() == 0 && procfs::has_other_rights(pid)
    }

    fn tree(&self, root: u32, except: &BTreeSet<u32>) -> Vec<u32> {
        procfs::tree(root, except).unwrap_or_default()
    }

    fn all(&self) -> Vec<u32> {
        procfs::all().unwrap_or_default()
    }

    fn set_process(&self, pid: u32, cpus: &CpuSet, ours: Ours<'_>) -> Result<Moved, HostError> {
        affinity::set_process(pid, cpus, ours)
    }

    fn set_tree(&self, root: u32, except: &BTreeSet<u32>, cpus: &CpuSet, ours: Ours<'_>) -> Result<Moved, HostError> {
        affinity::set_tree(root, except, cpus, ours)
    }

    fn restore_process(&self, pid: u32, whole: &CpuSet, ours: Ours<'_>) -> Result<Moved, HostError> {
        affinity::restore_process(pid, whole, ours)
    }
}
