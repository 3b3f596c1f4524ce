//! A kernel that is a table, and kills the manager before one of its moves.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::panic::resume_unwind;
use std::path::Path;
use std::rc::Rc;

use numaestro_host::HostError;
use numaestro_host::affinity::{Found, Moved, Ours};
use numaestro_topology::CpuSet;

use crate::hands::kernel::Kernel;

/// A number that no process of this machine has.
const FIRST_PID: u32 = 1 << 30;

#[derive(Debug, Clone)]
pub(super) struct Process {
    pub(super) parent: u32,
    pub(super) mask: CpuSet,
    /// What its user gave it, or it has bound itself to.
    pub(super) own: CpuSet,
    pub(super) environment: Option<CpuSet>,
    /// It is a `run` yet, and waits for its answer.
    pub(super) waits: bool,
}

impl Process {
    pub(super) fn is_narrow(&self) -> bool {
        self.mask != self.own
    }
}

/// What is there, whoever manages.
#[derive(Debug, Default)]
pub(super) struct World {
    pub(super) processes: BTreeMap<u32, Process>,
    next: u32,
    /// Moves until the manager is killed.
    pub(super) moves: Option<u64>,
}

#[derive(Debug, Clone, Default)]
pub(super) struct Model(pub(super) Rc<RefCell<World>>);

/// The manager does nothing more.
pub(super) struct Killed;

impl Model {
    pub(super) fn with<T>(&self, pid: u32, look: impl FnOnce(&mut Process) -> T) -> Option<T> {
        self.0.borrow_mut().processes.get_mut(&pid).map(look)
    }

    pub(super) fn add(&self, process: Process) -> u32 {
        let mut world = self.0.borrow_mut();
        world.next += 1;
        let pid = FIRST_PID + world.next;
        world.processes.insert(pid, process);
        pid
    }

    /// A child of this process, as it is born.
    pub(super) fn born_of(&self, parent: u32) -> Option<Process> {
        self.with(parent, |maker| Process { parent, ..maker.clone() })
    }

    pub(super) fn pids(&self) -> Vec<u32> {
        self.0.borrow().processes.keys().copied().collect()
    }

    fn moves(&self) {
        let mut world = self.0.borrow_mut();
        match &mut world.moves {
            Some(0) => {
                drop(world);
                resume_unwind(Box::new(Killed));
            }
            Some(left) => *left -= 1,
            None => {}
        }
    }
}

impl Kernel for Model {
    fn start_of(&self, pid: u32) -> Option<u64> {
        self.with(pid, |_| u64::from(pid - FIRST_PID))
    }

    fn parent_of(&self, pid: u32) -> Option<u32> {
        self.with(pid, |process| process.parent)
    }

    fn threads(&self, pid: u32) -> Vec<u32> {
        self.with(pid, |_| pid).into_iter().collect()
    }

    fn mask(&self, tid: u32) -> Option<CpuSet> {
        self.with(tid, |process| process.mask.clone())
    }

    fn possible(&self, _: u32, whole: &CpuSet) -> Option<CpuSet> {
        Some(whole.clone())
    }

    fn given(&self, pid: u32, _: &Path) -> Option<CpuSet> {
        self.with(pid, |process| process.environment.clone())?
    }

    fn has_other_rights(&self, _: u32) -> bool {
        false
    }

    fn tree(&self, root: u32, except: &BTreeSet<u32>) -> Vec<u32> {
        let mut found = vec![root];
        found.retain(|pid| self.start_of(*pid).is_some());
        for pid in self.pids() {
            let above = self.parent_of(pid).unwrap_or_default();
            if found.contains(&above) && !except.contains(&pid) {
                found.push(pid);
            }
        }
        found
    }

    fn all(&self) -> Vec<u32> {
        self.pids()
    }

    fn set_process(&self, pid: u32, cpus: &CpuSet, ours: Ours<'_>) -> Result<Moved, HostError> {
        let Some(mask) = self.mask(pid) else { return Ok(Moved::default()) };
        let may = ours(Found { pid, tid: pid, mask: &mask });
        if may && mask != *cpus {
            self.moves();
            self.with(pid, |process| process.mask = cpus.clone());
        }
        Ok(Moved { threads: 1, changed: u32::from(may && mask != *cpus) })
    }

    fn set_tree(&self, root: u32, except: &BTreeSet<u32>, cpus: &CpuSet, ours: Ours<'_>) -> Result<Moved, HostError> {
        self.tree(root, except).into_iter().try_for_each(|pid| self.set_process(pid, cpus, ours).map(drop))?;
        Ok(Moved::default())
    }

    fn restore_process(&self, pid: u32, whole: &CpuSet, ours: Ours<'_>) -> Result<Moved, HostError> {
        self.set_process(pid, whole, ours)
    }
}
