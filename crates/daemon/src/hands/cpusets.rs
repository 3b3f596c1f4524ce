//! The actuator of cpusets of cgroup v2, where a subtree has been delegated to the manager: each
//! program's processes are in a group of their own, which bounds the processors they may run on
//! and, with `memory.strict`, the nodes of their memory. `numaestro_host::cgroup` makes the groups.
//!
//! A program comes into its group a moment after its arrival: many programs are over by then,
//! moving one costs the whole system some milliseconds without `fork`, and a runtime that counts
//! processors at its start must not take a part for the machine. Until then, and wherever a program
//! cannot be moved, affinity keeps it in its place. A group is widened before its program is told
//! of more, and narrowed when the program has left the rest.

mod confined;
mod nodes;

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;
use numaestro_host::affinity::Ours;
use numaestro_host::cgroup::{Group, Hierarchies, Left, Limits, Subtree, Support};
use numaestro_host::numa::node_memory;
use numaestro_host::{HostError, affinity, monotonic_ns};
use numaestro_topology::{CpuSet, Machine};
use tracing::{info, warn};

use crate::config::{Cgroups, Config};
use crate::wakeups::{ShellDue, Wakeups};
use confined::{Confined, gather};

/// From a program's arrival, or its answer from the queue, until it is moved into its group.
const SETTLE_NS: u64 = 300_000_000;
/// Groups whose last processes are on their way out are tried again after so long, then after twice
/// that, and so on.
const SWEEP_NS_MIN: u64 = 20_000_000;
const SWEEP_NS_MAX: u64 = 5_000_000_000;
/// Time between two looks at the memory of programs that are bound to nodes.
const LOOK_NS: u64 = 250_000_000;

/// See the file's header.
#[derive(Debug, Default)]
pub(crate) struct Cpusets {
    subtree: Option<Subtree>,
    confined: BTreeMap<u64, Confined>,
    /// The reasons why programs are in no group though there are groups.
    stays: BTreeMap<u64, String>,
    /// Groups that are to be removed once they have no process.
    emptied: Vec<Group>,
    /// Time to the next try to remove them, nanoseconds.
    sweep_ns: u64,
    /// The refusal to move programs that was logged last.
    logged: String,
}

/// A program that is to be moved into a group.
#[derive(Debug)]
pub(crate) struct Entrant<'a> {
    pub(crate) app: u64,
    pub(crate) root: u32,
    /// Roots of the other applications.
    pub(crate) others: &'a BTreeSet<u32>,
    /// Processors that the group is to have.
    pub(crate) cpus: CpuSet,
    /// The affinity that its threads get, because the group says from then on where they may run.
    pub(crate) mask: Option<CpuSet>,
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

    /// A process is in a group that we have made: its own, or still that of the program it was born
    /// in.
    pub(crate) fn is_ours(&self, pid: u32) -> bool {
        let Some(subtree) = &self.subtree else { return false };
        subtree.group_of(pid).is_ok_and(|group| subtree.app_of(&group).is_some())
    }

    /// It is in a group of its own.
    pub(crate) fn has(&self, app: u64) -> bool {
        self.confined.contains_key(&app)
    }

    /// Processors of its group.
    pub(crate) fn cpus(&self, app: u64) -> Option<&CpuSet> {
        self.confined.get(&app).map(Confined::cpus)
    }

    /// Its cgroup before it was moved into one of ours.
    pub(crate) fn origin(&self, app: u64) -> Option<String> {
        self.confined.get(&app).map(|confined| confined.origin().to_owned())
    }

    /// The reason why it is in no group though there are groups.
    pub(crate) fn stays(&self, app: u64) -> Option<&str> {
        self.stays.get(&app).map(String::as_str)
    }

    /// A program has arrived, or may start now: it is moved into its group in a moment.
    pub(crate) fn arrived(&self, app: u64, wakeups: &mut Wakeups) {
        if self.subtree.is_some() && !self.has(app) {
            wakeups.set_if_unset(ShellDue::Cpuset(app), monotonic_ns() + SETTLE_NS);
        }
    }

    /// The moment after the program's arrival has passed: it enters its group. True if it is in a
    /// group now.
    pub(crate) fn enter(&mut self, entrant: Entrant<'_>, ours: Ours<'_>, wakeups: &mut Wakeups) -> bool {
        let Entrant { app, root, others, cpus, mask } = entrant;
        let Some(subtree) = self.subtree.clone().filter(|_| !self.has(app)) else { return false };
        let origin = match self.origin_of(&subtree, root) {
            Ok(origin) => origin,
            Err(Stays::Gone) => return false,
            Err(Stays::Because(why)) => {
                info!(app, why, "stays in its cgroup, and is steered by affinity");
                self.stays.insert(app, why);
                return false;
            }
        };
        match gather(&subtree, app, root, others, &cpus) {
            Ok(group) => {
                self.confined.insert(app, Confined::new(group, origin, cpus, CpuSet::default()));
                self.stays.remove(&app);
                // Masks that were set from outside would only be in the way when the group is
                // widened.
                if let Some(mask) = mask
                    && let Err(cause) = affinity::set_tree(root, others, &mask, ours)
                    && !cause.is_gone()
                {
                    warn!(app, "threads keep the affinity they had: {cause}");
                }
                true
            }
            Err((group, cause)) => {
                if let Some(group) = group {
                    self.dissolve(group, &origin, wakeups);
                }
                self.cannot_move(app, &cause);
                false
            }
        }
    }

    /// The group that a program comes from, if it may be moved.
    fn origin_of(&self, subtree: &Subtree, pid: u32) -> Result<String, Stays> {
        let group = subtree.group_of(pid).map_err(|_| Stays::Gone)?;
        if let Some(other) = subtree.app_of(&group) {
            // Born in the group of the program around it.
            return Ok(self.origin(other).unwrap_or(group));
        }
        let limits = Limits::of(&Hierarchies::read(), pid, Some(subtree.name())).map_err(|_| Stays::Gone)?;
        match limits.bound {
            Some(bound) => Err(Stays::Because(bound)),
            None => Ok(group),
        }
    }

    fn cannot_move(&mut self, app: u64, cause: &HostError) {
        if cause.is_gone() {
            return;
        }
        self.stays.insert(app, "the manager may not move it into a cpuset".to_owned());
        // The number of the process is in the reason: each kind is logged once.
        let kind = format!("{:?}", cause.errno());
        if self.logged != kind {
            let reason = cause.to_string();
            warn!(app, reason, "programs that cannot be moved into a cpuset are steered by affinity");
            self.logged = kind;
        }
    }

    /// Gives its group these processors. `None`: it is in none.
    pub(crate) fn place(&mut self, app: u64, cpus: &CpuSet) -> Option<Result<(), HostError>> {
        Some(self.confined.get_mut(&app)?.set(cpus))
    }

    /// Its group has these processors from now on too, before the program is told of them.
    pub(crate) fn widen(&mut self, app: u64, cpus: &CpuSet) {
        let Some(confined) = self.confined.get_mut(&app) else { return };
        let both = confined.cpus().union(cpus);
        if let Err(cause) = confined.set(&both) {
            warn!(app, "cannot widen its cpuset: {cause}");
        }
    }

    /// The program has left all but these processors.
    pub(crate) fn narrow(&mut self, app: u64, cpus: &CpuSet) {
        if let Some(Err(cause)) = self.place(app, cpus) {
            warn!(app, "cannot narrow its cpuset: {cause}");
        }
    }

    /// Affinity for processes of a program's tree that are in groups of their own making, or were
    /// never in its group.
    pub(crate) fn place_strays(&self, app: u64, pids: &[u32], cpus: &CpuSet, ours: Ours<'_>) {
        let Some(confined) = self.confined.get(&app) else { return };
        let members = confined.members();
        for pid in pids.iter().filter(|pid| !members.contains(pid)) {
            let _ = affinity::set_process(*pid, cpus, ours);
        }
    }

    /// A program is let go, or has ended: the processes left in its group get this affinity and go
    /// back to their group of origin. `is_root`: the process is an application's.
    pub(crate) fn leave(
        &mut self,
        app: u64,
        original: &CpuSet,
        (is_root, ours): (&dyn Fn(u32) -> bool, Ours<'_>),
        wakeups: &mut Wakeups,
    ) {
        wakeups.clear(ShellDue::Cpuset(app));
        self.stays.remove(&app);
        let Some(confined) = self.confined.remove(&app) else { return };
        for pid in confined.members().into_iter().filter(|pid| !is_root(*pid)) {
            let _ = affinity::set_process(pid, original, ours);
        }
        let (group, origin) = confined.into_parts();
        self.dissolve(group, &origin, wakeups);
    }

    fn dissolve(&mut self, group: Group, origin: &str, wakeups: &mut Wakeups) {
        let Some(subtree) = &self.subtree else { return };
        match subtree.dissolve(&group, origin) {
            Left::In(back) if back == origin => {}
            Left::In(back) => info!(origin, back, "its cgroup has gone; its processes are in the one above"),
            Left::Unlimited(cause) => {
                warn!(group = %group.directory().display(), cause, "processes stay in a group of ours, without limits");
            }
        }
        if !group.remove().unwrap_or(false) {
            self.emptied.push(group);
            self.sweep_ns = SWEEP_NS_MIN;
            wakeups.set_earlier(ShellDue::Sweep, monotonic_ns() + SWEEP_NS_MIN);
        }
    }

    /// Removes groups whose last processes have ended.
    pub(crate) fn sweep(&mut self, wakeups: &mut Wakeups) {
        self.emptied.retain(|group| !group.remove().unwrap_or(false));
        if !self.emptied.is_empty() {
            self.sweep_ns = (self.sweep_ns * 2).clamp(SWEEP_NS_MIN, SWEEP_NS_MAX);
            wakeups.set(ShellDue::Sweep, monotonic_ns() + self.sweep_ns);
        }
    }

    /// The group that a former manager made for a program, if the program is in it.
    pub(crate) fn find(&mut self, app: u64, root: u32, origin: &str) {
        let Some(subtree) = &self.subtree else { return };
        let inside = subtree.group_of(root).ok().and_then(|group| subtree.app_of(&group)) == Some(app);
        let Some((_, group)) = subtree.groups().into_iter().find(|(number, _)| *number == app && inside) else {
            return;
        };
        let (cpus, mems) = (group.cpus().unwrap_or_default(), group.mems().unwrap_or_default());
        self.confined.insert(app, Confined::new(group, origin.to_owned(), cpus, mems));
    }

    /// Dissolves groups that a former manager left and that are no program's any more. `origins`:
    /// the groups of origin of their processes, as far as they are known.
    pub(crate) fn clear(
        &mut self,
        origins: &BTreeMap<u64, String>,
        usable: &CpuSet,
        ours: Ours<'_>,
        wakeups: &mut Wakeups,
    ) {
        let Some(subtree) = self.subtree.clone() else { return };
        for (app, group) in subtree.groups() {
            if self.has(app) {
                continue;
            }
            info!(app, "a group that a former manager left");
            for pid in group.members() {
                let _ = affinity::set_process(pid, usable, ours);
            }
            let origin = origins.get(&app).cloned().unwrap_or_else(|| subtree.name().to_owned());
            self.dissolve(group, &origin, wakeups);
        }
    }

    /// Binds programs to the memory of their homes, and adds a node where memory is nearly full,
    /// because a program whose memory is used up is killed. `strict`: the configuration asks for
    /// it; where it does not any more, bound programs are let loose. `home`: OS index of an
    /// application's home.
    pub(crate) fn bind_memory(
        &mut self,
        strict: bool,
        home: &dyn Fn(u64) -> Option<u32>,
        machine: &Machine,
        wakeups: &mut Wakeups,
    ) {
        if self.subtree.is_none() {
            return;
        }
        let anybody = strict && self.confined.keys().any(|app| home(*app).is_some());
        let memory = if anybody { node_memory().unwrap_or_default() } else { Vec::new() };
        for (app, confined) in &mut self.confined {
            // Without a home, or where nothing can be seen, it may have memory everywhere.
            let nodes = match home(*app).filter(|_| strict && !memory.is_empty()) {
                Some(home) => nodes::widened(machine, home, confined.mems(), &memory),
                None => CpuSet::default(),
            };
            confined.bind(*app, nodes);
        }
        if anybody {
            wakeups.set(ShellDue::Nodes, monotonic_ns() + LOOK_NS);
        } else {
            wakeups.clear(ShellDue::Nodes);
        }
    }

    /// The end: nothing of ours is left in the hierarchy.
    pub(crate) fn close(&mut self) {
        self.emptied.retain(|group| !group.remove().unwrap_or(false));
        if let Some(subtree) = self.subtree.take()
            && let Err(cause) = subtree.close()
        {
            info!("the manager's own group stays: {cause}");
        }
    }
}

/// The reason why a program is not moved.
enum Stays {
    Gone,
    Because(String),
}
