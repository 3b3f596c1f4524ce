//! Cpusets of cgroup v2, where a subtree has been delegated to the manager: each program's processes are in a group of their own, which says where they
//! may run. It must not know who should have what, nor how groups are made (`numaestro_host::cgroup` does).
//!
//! A program comes into its group a moment after its arrival: many programs are over by then, moving one costs the whole system some milliseconds
//! without `fork`, and a runtime that counts processors at its start must not take a part for the machine. Until then, and wherever a program cannot
//! be moved, affinity keeps it in its place. A group is widened before its program is told of more, and narrowed when the program has left the rest.

use anyhow::Result;
use numaestro_host::cgroup::{Group, Hierarchies, Left, Limits, Subtree, Support};
use numaestro_host::{HostError, affinity, monotonic_ns, procfs};
use numaestro_topology::CpuSet;
use tracing::{info, warn};

use crate::app::App;
use crate::config::{Cgroups, Config, ConfigError};
use crate::manager::Manager;
use crate::timers::Due;

/// From a program's arrival, or its answer from the queue, until it is moved into its group.
const SETTLE_NS: u64 = 300_000_000;
/// Groups whose last processes are on their way out are tried again after so long, then after twice that, and so on.
const SWEEP_NS_MIN: u64 = 20_000_000;
const SWEEP_NS_MAX: u64 = 5_000_000_000;
/// Times the processes of a tree are listed anew while new ones keep appearing.
const PASSES_MAX: u32 = 64;

/// What the manager has of cgroups.
#[derive(Debug, Default)]
pub(crate) struct Cpusets {
    pub(crate) subtree: Option<Subtree>,
    /// Groups that are to be removed once nobody is in them.
    emptied: Vec<Group>,
    sweep_ns: u64,
    /// The refusal to move programs that was said last.
    said: String,
}

/// A program's group.
#[derive(Debug)]
pub(crate) struct Confined {
    pub(crate) group: Group,
    /// Where its processes were before.
    pub(crate) origin: String,
    /// Processors it has now.
    pub(crate) cpus: CpuSet,
    /// Memory nodes it has now; empty: all.
    pub(crate) mems: CpuSet,
    /// Nodes that the kernel has refused to bind it to.
    pub(crate) mems_refused: Option<CpuSet>,
}

impl Confined {
    /// One write, and none if nothing changes.
    pub(crate) fn set(&mut self, cpus: &CpuSet) -> Result<(), HostError> {
        if self.cpus != *cpus {
            self.group.set_cpus(cpus)?;
            self.cpus.clone_from(cpus);
        }
        Ok(())
    }
}

impl Cpusets {
    /// Takes the subtree, if there is one and it is wanted.
    pub(crate) fn open(config: &Config) -> Result<Self> {
        if config.cgroups == Cgroups::Off {
            return Ok(Self::default());
        }
        let opened = match Support::detect() {
            support @ Support::Delegated { .. } => {
                Subtree::open(Hierarchies::read(), &support).map_err(|cause| cause.to_string())
            }
            Support::NotDelegated(why) => Err(why),
            Support::VersionOne => Err("the cpuset controller is in cgroup v1 here".to_owned()),
            Support::None => Err("no cgroup v2 is mounted here".to_owned()),
        };
        match opened {
            Ok(subtree) => {
                info!(directory = %subtree.directory().display(), "programs are kept on their processors by cpusets");
                Ok(Self { subtree: Some(subtree), ..Self::default() })
            }
            Err(why) if config.cgroups == Cgroups::Require => {
                let next = "delegate a cgroup to the manager (docs/guides/cgroups.md), or set cgroups = \"auto\"";
                anyhow::bail!("cgroups = \"require\", but {why}: {next}")
            }
            Err(why) => {
                info!(why, "programs are kept on their processors by affinity");
                Ok(Self::default())
            }
        }
    }
}

impl Cpusets {
    /// A process is in a group that we have made: its own, or still that of the program it was born in.
    pub(crate) fn is_ours(&self, pid: u32) -> bool {
        let Some(subtree) = &self.subtree else { return false };
        subtree.group_of(pid).is_ok_and(|group| subtree.app_of(&group).is_some())
    }
}

/// Checks `cgroups` and `memory.strict` together.
pub(crate) fn validate(config: &Config) -> Result<(), ConfigError> {
    if config.memory.strict && config.cgroups == Cgroups::Off {
        let problem = "memory.strict binds memory by cgroups, and cgroups = \"off\" forbids them".to_owned();
        return Err(ConfigError { file: String::new(), field: "memory.strict", problem });
    }
    Ok(())
}

impl App {
    /// Processors it may be on from now on, whether it has been told or not: what it has, and these.
    pub(crate) fn loosen(&mut self, cpus: &CpuSet) {
        if let Some(confined) = &mut self.cpuset {
            let both = confined.cpus.union(cpus);
            if let Err(cause) = confined.set(&both) {
                warn!(app = self.number, "cannot widen its cpuset: {cause}");
            }
        }
    }

    /// It has left everything but these.
    pub(crate) fn tighten(&mut self) {
        if let (Some(confined), Some(target)) = (&mut self.cpuset, &self.target)
            && let Err(cause) = confined.set(&target.cpus)
        {
            warn!(app = self.number, "cannot narrow its cpuset: {cause}");
        }
    }
}

impl Manager {
    /// A program has arrived, or may start now: it is moved into its group in a moment.
    pub(crate) fn consider_cpuset(&mut self, app: u64) {
        let waits = self.apps.get(&app).is_none_or(|entry| entry.cpuset.is_some() || entry.asker.is_some());
        if self.cpusets.subtree.is_some() && !waits {
            self.timers.set_if_unset(Due::Cpuset(app), monotonic_ns() + SETTLE_NS);
        }
    }

    /// That moment has come.
    pub(crate) fn enter_cpuset(&mut self, app: u64) {
        let Some(subtree) = self.cpusets.subtree.clone() else { return };
        let Some(entry) = self.apps.get(&app).filter(|entry| entry.cpuset.is_none() && entry.asker.is_none()) else {
            return;
        };
        let (pid, others) = (entry.pid(), self.other_roots(entry.pid()));
        let origin = match self.origin_of(&subtree, pid) {
            Ok(origin) => origin,
            Err(Stays::Gone) => return,
            Err(Stays::Because(why)) => {
                info!(app, why, "stays in its cgroup, and is steered by affinity");
                if let Some(entry) = self.apps.get_mut(&app) {
                    entry.stays = Some(why);
                }
                return;
            }
        };
        let usable = self.usable.clone();
        let Some(entry) = self.apps.get_mut(&app) else { return };
        let cpus = match &entry.target {
            Some(target) if !entry.is_wrapper() && entry.adopted == target.epoch => target.cpus.clone(),
            // It may still be on what it had before.
            _ => usable,
        };
        match gather(&subtree, app, pid, &others, &cpus) {
            Ok(group) => {
                entry.cpuset = Some(Confined { group, origin, cpus, mems: CpuSet::default(), mems_refused: None });
                entry.stays = None;
                self.free_masks(app);
                self.consider_memory_nodes();
                self.changed();
            }
            Err((group, cause)) => {
                if let Some(group) = group {
                    self.dissolve(group, &origin);
                }
                self.cannot_move(app, &cause);
            }
        }
    }

    /// The group that a program comes from, if it may be moved.
    fn origin_of(&self, subtree: &Subtree, pid: u32) -> Result<String, Stays> {
        let group = subtree.group_of(pid).map_err(|_| Stays::Gone)?;
        if let Some(other) = subtree.app_of(&group) {
            // Born in the group of the program around it.
            let origin =
                self.apps.get(&other).and_then(|other| other.cpuset.as_ref()).map(|other| other.origin.clone());
            return Ok(origin.unwrap_or(group));
        }
        let limits = Limits::of(&Hierarchies::read(), pid, Some(subtree.name())).map_err(|_| Stays::Gone)?;
        match limits.bound {
            Some(bound) => Err(Stays::Because(bound)),
            None => Ok(group),
        }
    }

    /// From here on the group says where it may run: masks that were set from outside would only be in the way when the group is widened.
    fn free_masks(&mut self, app: u64) {
        let others = self.apps.get(&app).map(|entry| self.other_roots(entry.pid())).unwrap_or_default();
        let Some(entry) = self.apps.get(&app).filter(|entry| entry.page.is_none()) else { return };
        let mut everything = self.machine.os_cpuset(&self.machine.all());
        everything.or_with(self.machine.offline());
        if let Err(cause) = affinity::set_tree(entry.pid(), &others, &everything)
            && !cause.is_gone()
        {
            warn!(app, "threads keep the affinity they had: {cause}");
        }
    }

    fn cannot_move(&mut self, app: u64, cause: &HostError) {
        if cause.is_gone() {
            return;
        }
        let reason = cause.to_string();
        if let Some(entry) = self.apps.get_mut(&app) {
            entry.stays = Some("the manager may not move it into a cpuset".to_owned());
        }
        // The number of the process is in the reason: what is said once is the kind.
        let kind = format!("{:?}", cause.errno());
        if self.cpusets.said != kind {
            warn!(app, reason, "programs that cannot be moved into a cpuset are steered by affinity");
            self.cpusets.said = kind;
        }
    }

    /// Processes of a program's tree that are in groups of their own making, or were never in its group: affinity for them.
    pub(crate) fn tend_strays(&mut self, app: u64, pids: &[u32]) {
        let Some(entry) = self.apps.get(&app) else { return };
        let (Some(confined), Some(target)) = (&entry.cpuset, &entry.target) else { return };
        let members = confined.group.members();
        for pid in pids.iter().filter(|pid| !members.contains(pid)) {
            let _ = affinity::set_process(*pid, &target.cpus);
        }
    }

    /// A program is let go, or has ended: what is left in its group goes back to where it came from.
    pub(crate) fn leave_cpuset(&mut self, gone: &mut App) {
        self.timers.clear(Due::Cpuset(gone.number));
        let Some(confined) = gone.cpuset.take() else { return };
        for pid in confined.group.members() {
            if !self.by_pid.contains_key(&pid) && gone.pid() != pid {
                let _ = affinity::set_process(pid, &gone.original);
            }
        }
        self.dissolve(confined.group, &confined.origin);
    }

    fn dissolve(&mut self, group: Group, origin: &str) {
        let Some(subtree) = &self.cpusets.subtree else { return };
        match subtree.dissolve(&group, origin) {
            Left::In(back) if back == origin => {}
            Left::In(back) => info!(origin, back, "its cgroup has gone; its processes are in the one above"),
            Left::Unlimited(cause) => {
                warn!(group = %group.directory().display(), cause, "processes stay in a group of ours, without limits");
            }
        }
        if !group.remove().unwrap_or(false) {
            self.cpusets.emptied.push(group);
            self.cpusets.sweep_ns = SWEEP_NS_MIN;
            self.timers.set_earlier(Due::Sweep, monotonic_ns() + SWEEP_NS_MIN);
        }
    }

    /// Removes groups whose last processes have ended.
    pub(crate) fn sweep_groups(&mut self) {
        self.cpusets.emptied.retain(|group| !group.remove().unwrap_or(false));
        if !self.cpusets.emptied.is_empty() {
            self.cpusets.sweep_ns = (self.cpusets.sweep_ns * 2).clamp(SWEEP_NS_MIN, SWEEP_NS_MAX);
            self.timers.set(Due::Sweep, monotonic_ns() + self.cpusets.sweep_ns);
        }
    }

    /// The group that a former manager made for a program, if the program is in it.
    pub(crate) fn find_cpuset(&mut self, app: u64, origin: &str) {
        let Some(subtree) = &self.cpusets.subtree else { return };
        let Some(entry) = self.apps.get_mut(&app) else { return };
        let inside = subtree.group_of(entry.pid()).ok().and_then(|group| subtree.app_of(&group)) == Some(app);
        let Some((_, group)) = subtree.groups().into_iter().find(|(number, _)| *number == app && inside) else {
            return;
        };
        let cpus = group.cpus().unwrap_or_default();
        let mems = group.mems().unwrap_or_default();
        entry.cpuset = Some(Confined { group, origin: origin.to_owned(), cpus, mems, mems_refused: None });
    }

    /// Groups that a former manager left and that are no program's any more. `origins`: where their processes came from, as far as is known.
    pub(crate) fn clear_groups(&mut self, origins: &std::collections::BTreeMap<u64, String>) {
        let Some(subtree) = self.cpusets.subtree.clone() else { return };
        let usable = self.usable.clone();
        for (app, group) in subtree.groups() {
            if self.apps.get(&app).is_some_and(|entry| entry.cpuset.is_some()) {
                continue;
            }
            info!(app, "a group that a former manager left");
            for pid in group.members() {
                let _ = affinity::set_process(pid, &usable);
            }
            let origin = origins.get(&app).cloned().unwrap_or_else(|| subtree.name().to_owned());
            self.dissolve(group, &origin);
        }
    }

    /// The end: nothing of ours is left in the hierarchy.
    pub(crate) fn close_cpusets(&mut self) {
        self.cpusets.emptied.retain(|group| !group.remove().unwrap_or(false));
        if let Some(subtree) = self.cpusets.subtree.take()
            && let Err(cause) = subtree.close()
        {
            info!("the manager's own group stays: {cause}");
        }
    }
}

/// Why a program is not moved.
enum Stays {
    Gone,
    Because(String),
}

/// Makes the group and moves all of a tree into it, until no new process appears.
fn gather(
    subtree: &Subtree,
    app: u64,
    root: u32,
    others: &std::collections::BTreeSet<u32>,
    cpus: &CpuSet,
) -> Result<Group, (Option<Group>, HostError)> {
    let group = subtree.make(app).map_err(|cause| (None, cause))?;
    if let Err(cause) = group.set_cpus(cpus) {
        return Err((Some(group), cause));
    }
    let from = subtree.group_of(root).unwrap_or_default();
    let mut seen = std::collections::BTreeSet::new();
    for _ in 0..PASSES_MAX {
        let mut fresh = false;
        for pid in procfs::tree(root, others).unwrap_or_default() {
            if !seen.insert(pid) {
                continue;
            }
            fresh = true;
            // What is in a group of its own making is left there: see `tend_strays`.
            if subtree.group_of(pid).is_ok_and(|group| group != from) {
                continue;
            }
            match group.take(pid) {
                // A process that has just ended; or that one whose parent waits for it.
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
