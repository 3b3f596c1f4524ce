//! Applications that do not run outside their turn: they are stopped at the beginning of other applications' turns, and continue on the processors of
//! their next one. How a program is stopped is `numaestro_host::stop`'s affair. It must not know whose turn it is.
//!
//! A program with a page is stopped alone, one without with all that descends from it. Its helper thread is stopped with it: left running, it could wait
//! for a lock that a stopped thread holds.

use numaestro_abi::control::Reply;
use numaestro_engine::Event;
use numaestro_host::stop::{self, Group, News, Outcome, Rung, Stopper};
use numaestro_host::{affinity, monotonic_ns};
use numaestro_policy::AppId;
use tracing::{info, warn};

use crate::app::{App, Turn};
use crate::manager::Manager;
use crate::timers::Due;

/// How often the stopper is told that the manager lives, while something is stopped.
const RENEW_NS: u64 = stop::LEASE_NS / 2;
/// How often a program is tried again that could not be stopped: a debugger may have gone.
const RETRY_NS: u64 = 2_000_000_000;

/// What is needed to stop programs.
#[derive(Debug)]
pub(crate) struct Stops {
    /// Whether it can be done here.
    pub(crate) rung: Rung,
    /// There from the first stop on.
    stopper: Option<Stopper>,
}

impl Stops {
    /// Tries whether programs can be stopped here.
    pub(crate) fn new() -> Self {
        Self { rung: stop::rung(), stopper: None }
    }

    fn stopper(&mut self) -> Option<&Stopper> {
        if self.stopper.is_none() {
            self.stopper = Stopper::start().inspect_err(|cause| warn!("programs cannot be stopped: {cause}")).ok();
        }
        self.stopper.as_ref()
    }

    /// An application has gone, or is to be left alone.
    pub(crate) fn forget(&self, app: u64) {
        if let Some(stopper) = &self.stopper {
            stopper.resume(app);
        }
    }

    /// Everything runs again.
    pub(crate) fn end(&mut self) {
        self.stopper = None;
    }
}

impl Manager {
    /// Nothing of it runs when this returns, or it soon does not.
    pub(crate) fn stop_app(&mut self, app: u64) {
        let Some(entry) = self.apps.get_mut(&app) else { return };
        entry.turn = Turn::Stopped;
        if let Some(asker) = entry.asker {
            // It has not become the program yet, and waits for our answer.
            self.reply(asker, &Reply::Waiting { app, position: 1 });
            return;
        }
        match self.try_to_stop(app) {
            Outcome::Stopped(_) | Outcome::Pending => {}
            Outcome::Unstoppable(reason) => self.cannot_be_stopped(app, &reason),
        }
    }

    fn try_to_stop(&mut self, app: u64) -> Outcome {
        let Some(entry) = self.apps.get(&app) else { return Outcome::Pending };
        let root = entry.pid();
        if self.config.system && numaestro_host::procfs::has_other_rights(root) {
            return Outcome::Unstoppable("it runs with another user's rights".to_owned());
        }
        let tree = entry.page.is_none().then(|| self.other_roots(root));
        match self.stops.stopper() {
            Some(stopper) => stopper.stop(app, Group { root, tree }),
            None => Outcome::Unstoppable("the thread that stops programs cannot be started".to_owned()),
        }
    }

    fn cannot_be_stopped(&mut self, app: u64, reason: &str) {
        let Some(entry) = self.apps.get_mut(&app) else { return };
        if !entry.is_stopped() {
            return;
        }
        info!(app, reason, "cannot be stopped; it runs as a guest outside its turn");
        entry.turn = Turn::Unstoppable(reason.to_owned());
        self.events.push_back(Event::Unstoppable { app: AppId(app) });
    }

    /// It goes on, on the processors of its target: threads that are inside stay where they are, and find their caches again.
    pub(crate) fn continue_app(&mut self, app: u64) {
        let Some(entry) = self.apps.get_mut(&app) else { return };
        entry.turn = Turn::Runs;
        // What it did not do while it was stopped says nothing about it.
        entry.phases = crate::app::Phases::default();
        if let (Some(target), Some(_)) = (&entry.target, &entry.page)
            && let Err(cause) = affinity::keep_process_within(entry.pid(), &target.cpus)
            && !cause.is_gone()
        {
            entry.denied = Some(cause.to_string());
        }
        self.stops.forget(app);
        self.resume_demand(app);
    }

    /// Keeps the lease while somebody is stopped, and tries again who could not be.
    pub(crate) fn consider_stops(&mut self) {
        let now = monotonic_ns();
        if self.apps.values().any(App::is_stopped) {
            self.timers.set_if_unset(Due::Lease, now + RENEW_NS);
        }
        if self.brain.needs().preemption && self.apps.values().any(App::is_unstoppable) {
            self.timers.set_if_unset(Due::Unstoppable, now + RETRY_NS);
        }
    }

    pub(crate) fn renew_lease(&mut self) {
        for news in self.stops.stopper.as_ref().map(Stopper::renew).unwrap_or_default() {
            match news {
                News::Unstoppable(app, reason) => self.cannot_be_stopped(app, &reason),
                News::Lapsed => self.stop_again(),
            }
        }
        self.feed_waiting();
        self.consider_stops();
    }

    /// This thread was held up for so long that everybody was let go.
    fn stop_again(&mut self) {
        warn!("the manager did not get to run for seconds; programs ran outside their turns meanwhile");
        let stopped: Vec<u64> =
            self.apps.values().filter(|entry| entry.is_stopped()).map(|entry| entry.number).collect();
        for app in stopped {
            self.stop_app(app);
        }
    }

    pub(crate) fn retry_stops(&mut self) {
        let apps: Vec<u64> =
            self.apps.values().filter(|entry| entry.is_unstoppable()).map(|entry| entry.number).collect();
        for app in apps {
            let outcome = self.try_to_stop(app);
            self.stops.forget(app);
            let Some(entry) = self.apps.get_mut(&app) else { continue };
            if let Outcome::Unstoppable(reason) = outcome {
                entry.turn = Turn::Unstoppable(reason);
            } else {
                info!(app, "can be stopped again");
                entry.turn = Turn::Runs;
                self.events.push_back(Event::Stoppable { app: AppId(app) });
            }
        }
        self.feed_waiting();
        self.consider_stops();
    }
}
