//! Applications that end or are let go: what is left of them in the manager's books and among the processes. It must not know who gets what they had.

use std::collections::BTreeSet;
use std::os::fd::AsFd;

use numaestro_engine::Event;
use numaestro_host::affinity;
use tracing::info;

use crate::app::App;
use crate::manager::Manager;
use crate::timers::Due;

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
            let same = numaestro_host::procfs::stat(*pid).is_ok_and(|stat| stat.start_time == *start_time);
            if same && *pid != gone.pid() && !self.by_pid.contains_key(pid) {
                let _ = affinity::set_process(*pid, &gone.original);
            }
        }
    }

    /// Process ids that are applications, other than `pid`.
    pub(crate) fn other_roots(&self, pid: u32) -> BTreeSet<u32> {
        self.by_pid.keys().copied().filter(|other| *other != pid).collect()
    }
}
