//! The sensor of the limits that others set for a program: processor time (`cpu.max`) and
//! processors (cpusets) by the cgroups above it, processors by its affinity. A program is given
//! processors of its allowed set only and told no more of them than it can use, and people are
//! told the reason.
//!
//! It reads when a program arrives or attaches, when one of the files is written, and when a
//! program is in another cgroup than before. The kernel does not announce such a move: the manager
//! finds it when it looks for load outside, which it does while a program lacks processors.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use numaestro_host::cgroup::{Hierarchies, Limits};
use numaestro_host::{HostError, procfs};
use numaestro_topology::CpuSet;

/// The processors that one program is allowed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Allowed {
    /// Processors that are of any use; `None`: any number.
    pub(crate) most: Option<u32>,
    /// A clause for people, where there is a limit.
    pub(crate) why: String,
    /// The processors that others confine it to, if these are not all of ours.
    pub(crate) cpus: Option<CpuSet>,
    /// Files that set these limits.
    pub(crate) files: Vec<PathBuf>,
    /// The cgroups that they are of.
    groups: String,
}

impl Allowed {
    /// Reads the limits of a process, among processors that are ours to give (`usable`).
    /// `by_affinity`: those that it may have by its affinity. `confined_by_us`: its cpuset is a
    /// group that the manager has made.
    pub(crate) fn of_process(
        pid: u32,
        (usable, by_affinity): (&CpuSet, &CpuSet),
        confined_by_us: bool,
    ) -> Result<Self, HostError> {
        // First: a move meanwhile is found at the next look.
        let groups = procfs::cgroups(pid)?;
        let hierarchies = Hierarchies::read();
        let limits = Limits::of(&hierarchies, pid, None)?;
        let mut allowed = Self { files: limits.files, groups, ..Self::default() };
        let mut reasons = Vec::new();
        if let Some(quota) = limits.quota
            && quota.processors() < usable.len() as u32
        {
            allowed.most = Some(quota.processors());
            let time = quota.quota_us as f64 / quota.period_us.max(1) as f64;
            reasons.push(format!("its cgroup may use {time:.1} processors of time ({})", quota.file.display()));
        }
        if !confined_by_us {
            let (cpus, files) = hierarchies.cpuset_of(pid)?;
            allowed.files.extend(files);
            if let Some(cpus) = cpus.filter(|cpus| !usable.is_subset(cpus)) {
                reasons.push(format!("its cgroup keeps it on processors {cpus}"));
                allowed.keep_on(cpus, usable);
            }
        }
        if by_affinity.intersects(usable) && !usable.is_subset(by_affinity) {
            reasons.push(format!("allowed {by_affinity} by its own affinity"));
            allowed.keep_on(by_affinity.clone(), usable);
        }
        allowed.why = reasons.join("; ");
        Ok(allowed)
    }

    /// Others keep it on these processors too.
    fn keep_on(&mut self, cpus: CpuSet, usable: &CpuSet) {
        let both = self.cpus.as_ref().map(|known| known.intersection(&cpus)).filter(|both| !both.is_empty());
        let cpus = both.unwrap_or(cpus);
        let count = (cpus.common(usable) as u32).max(1);
        self.most = Some(self.most.map_or(count, |most| most.min(count)));
        self.cpus = Some(cpus);
    }

    /// So many of these processors as are of any use.
    pub(crate) fn within(&self, processors: u32) -> u32 {
        processors.min(self.most.unwrap_or(u32::MAX))
    }

    /// The reason, if others keep it away from all of these processors.
    pub(crate) fn keeps_away_from(&self, cpus: &CpuSet) -> Option<String> {
        let allowed = self.cpus.as_ref()?;
        (!cpus.intersects(allowed)).then(|| format!("it cannot be on {cpus}: {}", self.why))
    }
}

/// See the file's header.
#[derive(Debug, Default)]
pub(crate) struct Quotas {
    by_app: BTreeMap<u64, Allowed>,
    /// The answer for an application whose limits have not been read.
    unknown: Allowed,
}

impl Quotas {
    /// Reads the limits of an application. Limits that cannot be read stay as they were.
    pub(crate) fn look(&mut self, app: u64, pid: u32, sets: (&CpuSet, &CpuSet), confined_by_us: bool) {
        if let Ok(allowed) = Allowed::of_process(pid, sets, confined_by_us) {
            self.by_app.insert(app, allowed);
        } else if let (Some(known), Ok(groups)) = (self.by_app.get_mut(&app), procfs::cgroups(pid)) {
            // Or each look would find the same move again.
            known.groups = groups;
        }
    }

    pub(crate) fn of(&self, app: u64) -> &Allowed {
        self.by_app.get(&app).unwrap_or(&self.unknown)
    }

    /// Says whether its process is in other cgroups than when its limits were read.
    pub(crate) fn has_moved(&self, app: u64, pid: u32) -> bool {
        self.by_app.get(&app).is_some_and(|known| procfs::cgroups(pid).is_ok_and(|groups| groups != known.groups))
    }

    /// Files that say so, of all applications.
    pub(crate) fn files(&self) -> impl Iterator<Item = &Path> {
        self.by_app.values().flat_map(|allowed| &allowed.files).map(PathBuf::as_path)
    }

    /// An application has gone.
    pub(crate) fn forget(&mut self, app: u64) {
        self.by_app.remove(&app);
    }
}
