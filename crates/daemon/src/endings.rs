//! Applications that end or are let go: what is left of them in the manager's books and among the processes. It must not know who gets what they had.

use std::collections::{BTreeMap, BTreeSet};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use numaestro_abi::control::Whole;
use numaestro_engine::Event;
use numaestro_host::{affinity, monotonic_ns, procfs};
use tracing::{debug, info};

use crate::app::App;
use crate::manager::Manager;
use crate::timers::Due;
use crate::whole::{Debts, Owed};

/// From the end of an application until its last processes are looked for.
const STRAYS_NS: u64 = 10_000_000;
/// The search may take this part of the time at most.
const STRAYS_SHARE: u64 = 20;
/// How long a program that was let go may take to say that it has carried that out. Its threads
/// have been moved from outside already.
const ADOPTION: Duration = Duration::from_millis(500);

/// Processes that their users have let go: they are not taken back when they come by themselves.
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

impl Manager {
    /// The process of an application has ended.
    pub(crate) fn process_ended(&mut self, app: u64) {
        let Some(entry) = self.apps.get(&app) else { return };
        if entry.process.has_ended() {
            info!(app, pid = entry.pid(), "ended");
            self.depart(app);
        }
    }

    /// Takes an entry out; the engine is not told.
    pub(crate) fn forget(&mut self, app: u64) -> Option<App> {
        let gone = self.apps.remove(&app)?;
        let _ = self.poller.remove(gone.process.as_fd());
        if self.by_pid.get(&gone.pid()) == Some(&app) {
            self.by_pid.remove(&gone.pid());
        }
        self.timers.clear(Due::Demand(app));
        self.expected.remove(&app);
        self.bandwidth.forget(app);
        self.forget_pages(app);
        self.stops.forget(app);
        Some(gone)
    }

    /// An application is gone or let go; what it had is free.
    pub(crate) fn depart(&mut self, app: u64) {
        let Some(mut gone) = self.forget(app) else { return };
        self.leave_cpuset(&mut gone);
        self.feed(Event::Depart { app: numaestro_policy::AppId(app) });
        self.release_orphans(&gone);
        self.consider_strays();
        if let Some(wrapper) = gone.wrapper {
            self.unwrap_from(wrapper);
        }
        self.resume_accepting();
        self.consider_foreign();
        self.consider_idle();
    }

    /// Processes that outlive the application they belonged to must not stay where it was.
    fn release_orphans(&self, gone: &App) {
        for (pid, start_time) in &gone.members {
            if is_same(*pid, *start_time) && *pid != gone.pid() && !self.by_pid.contains_key(pid) {
                let _ = affinity::set_process(*pid, &gone.original);
            }
        }
    }

    /// Processes that were born a moment before their application ended have never been seen by
    /// anybody: they are looked for.
    fn consider_strays(&mut self) {
        self.timers.set_if_unset(Due::Strays, monotonic_ns() + STRAYS_NS.max(self.strays_ns * STRAYS_SHARE));
    }

    /// Gives those their affinity back that have left every application.
    pub(crate) fn pay_strays(&mut self) {
        let began = monotonic_ns();
        let managed = self.managed();
        let debts = Debts { owed: &[], managed: &managed, attach: &self.dir.attach_socket() };
        let whole = debts.pay_strays(&self.usable);
        self.strays_ns = monotonic_ns() - began;
        if whole.processes > 0 || !whole.left.is_empty() {
            debug!(processes = whole.processes, left = ?whole.left, "processes that have outlived their application");
        }
    }

    /// Roots of everything that is managed: applications, and processes that have left them.
    fn managed(&self) -> BTreeSet<u32> {
        let strays = self.apps.values().flat_map(|entry| entry.strays.iter().copied());
        self.by_pid.keys().copied().chain(strays).collect()
    }

    /// Makes sure that these applications, which have been let go, and everything that has left
    /// them have their affinity back.
    pub(crate) fn pay_back(&self, apps: &[u64], patience: Duration) -> Whole {
        let gone: Vec<&App> = apps.iter().filter_map(|app| self.apps.get(app)).collect();
        let mut owed = Vec::new();
        for entry in &gone {
            let root = (entry.pid(), entry.process.start_time());
            let strays = entry.strays.iter().filter_map(|pid| Some((*pid, *entry.members.get(pid)?)));
            let one = |(pid, start_time)| Owed { pid, start_time, original: entry.original.clone() };
            owed.extend(std::iter::once(root).chain(strays).map(one));
        }
        let mut managed = self.managed();
        for entry in &owed {
            managed.remove(&entry.pid);
        }
        let debts = Debts { owed: &owed, managed: &managed, attach: &self.dir.attach_socket() };
        let began = Instant::now();
        debts.pay(patience, || began.elapsed() > ADOPTION || gone.iter().all(|entry| entry.has_adopted_release()))
    }

    /// Process ids that are applications, other than `pid`.
    pub(crate) fn other_roots(&self, pid: u32) -> BTreeSet<u32> {
        self.by_pid.keys().copied().filter(|other| *other != pid).collect()
    }
}

impl App {
    /// It has said that it has no limits any more; also if there is nobody who could say so.
    fn has_adopted_release(&self) -> bool {
        let epoch = self.page_epoch().wrapping_add(1);
        self.page.as_ref().is_none_or(|page| page.report().adopted_epoch == epoch)
    }
}
