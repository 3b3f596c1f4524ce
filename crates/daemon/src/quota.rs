//! What the groups above a program allow it, whoever has set that up: processor time (`cpu.max`) and processors (cpusets). A program is not told more than it
//! can use there, and people are told why. It must not know who gets the rest.
//!
//! Read when a program arrives or attaches, and again when one of the files is written.

use numaestro_host::HostError;
use numaestro_host::cgroup::{Hierarchies, Limits};
use numaestro_topology::CpuSet;

use crate::app::App;
use crate::manager::Manager;

/// See the file's header.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Allowed {
    /// Processors that are of any use; `None`: any number.
    pub(crate) most: Option<u32>,
    /// A clause for people, where there is a limit.
    pub(crate) why: String,
    /// The processors that others confine it to, if those are not all of ours.
    pub(crate) cpus: Option<CpuSet>,
    /// Files that say so.
    pub(crate) files: Vec<std::path::PathBuf>,
}

impl Allowed {
    /// Of a process, among processors that are ours to give.
    pub(crate) fn of(
        hierarchies: &Hierarchies,
        pid: u32,
        usable: &CpuSet,
        confined_by_us: bool,
    ) -> Result<Self, HostError> {
        let limits = Limits::of(hierarchies, pid, None)?;
        let mut allowed = Self { files: limits.files, ..Self::default() };
        let mut reasons = Vec::new();
        if let Some(quota) = limits.quota
            && quota.processors() < usable.len() as u32
        {
            allowed.most = Some(quota.processors());
            let time = quota.quota_us as f64 / quota.period_us.max(1) as f64;
            reasons.push(format!("its cgroup may use {time:.1} processor(s) of time ({})", quota.file.display()));
        }
        if !confined_by_us {
            let (cpus, files) = hierarchies.cpuset_of(pid)?;
            allowed.files.extend(files);
            if let Some(cpus) = cpus.filter(|cpus| !usable.is_subset(cpus)) {
                let inside = cpus.intersection(usable);
                let count = (inside.len() as u32).max(1);
                allowed.most = Some(allowed.most.map_or(count, |most| most.min(count)));
                reasons.push(format!("its cgroup keeps it on processors {cpus}"));
                allowed.cpus = Some(cpus);
            }
        }
        allowed.why = reasons.join("; ");
        Ok(allowed)
    }
}

impl App {
    /// What is asked of the engine where it would like to have this many: not more than it may use.
    pub(crate) fn within_limits(&self, processors: u32) -> u32 {
        processors.min(self.allowed.most.unwrap_or(u32::MAX))
    }

    /// Others keep it away from all the processors it was told.
    pub(crate) fn kept_away(&self) -> Option<String> {
        let (target, cpus) = (self.target.as_ref()?, self.allowed.cpus.as_ref()?);
        (!target.cpus.intersects(cpus)).then(|| format!("it cannot be on {}: {}", target.cpus, self.allowed.why))
    }
}

impl Manager {
    /// Reads what a program is allowed. The engine is not told.
    pub(crate) fn read_limits(&mut self, app: u64) {
        let hierarchies = Hierarchies::read();
        let usable = self.usable.clone();
        if let Some(entry) = self.apps.get_mut(&app)
            && let by_us = self.cpusets.is_ours(entry.pid())
            && let Ok(allowed) = Allowed::of(&hierarchies, entry.pid(), &usable, by_us)
        {
            entry.allowed = allowed;
        }
    }

    /// One of the files has been written, or may have been: everybody's limits, and what follows from them.
    pub(crate) fn read_all_limits(&mut self) {
        let apps: Vec<u64> = self.apps.keys().copied().collect();
        for app in apps {
            let before = self.apps.get(&app).and_then(|entry| entry.allowed.most);
            self.read_limits(app);
            let Some(entry) = self.apps.get(&app) else { continue };
            let most = entry.allowed.most;
            if most == before || entry.is_wrapper() || entry.request == 0 {
                continue;
            }
            tracing::info!(app, why = entry.allowed.why, "may use another number of processors");
            let wish = entry.wish;
            self.ask_for(app, wish);
            self.consider_demand(app);
        }
        self.watch_files();
        self.changed();
    }
}
