//! One program's group of processes: keeps its processors and nodes, and moves a whole process tree
//! into it.

use std::collections::BTreeSet;

use numaestro_host::cgroup::{Group, Subtree};
use numaestro_host::{HostError, procfs};
use numaestro_topology::CpuSet;
use tracing::{info, warn};

/// Times the processes of a tree are listed anew while new ones keep appearing.
const PASSES_MAX: u32 = 64;

/// A program's group.
#[derive(Debug)]
pub(super) struct Confined {
    group: Group,
    /// The group of its processes before.
    origin: String,
    /// Processors it has now.
    cpus: CpuSet,
    /// Memory nodes it has now; empty: all.
    mems: CpuSet,
    /// Nodes that the kernel has refused to bind it to.
    mems_refused: Option<CpuSet>,
}

impl Confined {
    pub(super) fn new(group: Group, origin: String, cpus: CpuSet, mems: CpuSet) -> Self {
        Self { group, origin, cpus, mems, mems_refused: None }
    }

    /// Other processors: one write, and none if nothing changes.
    pub(super) fn set(&mut self, cpus: &CpuSet) -> Result<(), HostError> {
        if self.cpus != *cpus {
            self.group.set_cpus(cpus)?;
            self.cpus.clone_from(cpus);
        }
        Ok(())
    }

    /// Binds its memory to these nodes; none: it may have memory everywhere.
    pub(super) fn bind(&mut self, app: u64, nodes: CpuSet) {
        if nodes == self.mems {
            self.mems_refused = None;
            return;
        }
        match self.group.set_mems(&nodes) {
            Ok(()) if nodes.len() > 1 => {
                info!(app, %nodes, "its home is nearly full; it may have memory of these nodes");
            }
            Ok(()) if nodes.is_empty() => info!(app, "may have memory of all nodes"),
            Ok(()) => info!(app, %nodes, "may have memory of these nodes only"),
            Err(cause) => {
                // Tried again at every look, because the node may come back, and said once.
                if self.mems_refused.as_ref() != Some(&nodes) {
                    warn!(app, %nodes, "its memory cannot be bound: {cause}");
                }
                self.mems_refused = Some(nodes);
                return;
            }
        }
        (self.mems, self.mems_refused) = (nodes, None);
    }

    pub(super) fn cpus(&self) -> &CpuSet {
        &self.cpus
    }

    pub(super) fn mems(&self) -> &CpuSet {
        &self.mems
    }

    pub(super) fn origin(&self) -> &str {
        &self.origin
    }

    pub(super) fn members(&self) -> Vec<u32> {
        self.group.members()
    }

    /// The group, and where its processes were before.
    pub(super) fn into_parts(self) -> (Group, String) {
        (self.group, self.origin)
    }
}

/// Makes the group of an application and moves all of a tree into it, until no new process appears.
pub(super) fn gather(
    subtree: &Subtree,
    app: u64,
    root: u32,
    others: &BTreeSet<u32>,
    cpus: &CpuSet,
) -> Result<Group, (Option<Group>, HostError)> {
    let group = subtree.make(app).map_err(|cause| (None, cause))?;
    if let Err(cause) = group.set_cpus(cpus) {
        return Err((Some(group), cause));
    }
    let from = subtree.group_of(root).unwrap_or_default();
    let mut seen = BTreeSet::new();
    for _ in 0..PASSES_MAX {
        let mut fresh = false;
        for pid in procfs::tree(root, others).unwrap_or_default() {
            if !seen.insert(pid) {
                continue;
            }
            fresh = true;
            // A process in a group that the program has made is left there: see `place_strays`.
            if subtree.group_of(pid).is_ok_and(|group| group != from) {
                continue;
            }
            match group.take(pid) {
                // A process that has just ended, or has ended and waits for its parent.
                Err(cause) if cause.is_gone() && pid != root => {}
                Err(cause) => return Err((Some(group), cause)),
                Ok(()) => {}
            }
        }
        if !fresh {
            break;
        }
    }
    Ok(group)
}
