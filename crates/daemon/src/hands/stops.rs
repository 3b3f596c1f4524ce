//! The actuator of stops: an application is stopped at the beginning of other applications' turns,
//! and continues on the processors of its next one. `numaestro_host::stop` stops the programs.
//!
//! A program with a page is stopped alone, one without a page with all its descendants. Its helper
//! thread is stopped with it: left running, it could wait for a lock that a stopped thread holds.

use std::collections::BTreeMap;

use numaestro_engine::Event;
use numaestro_host::stop::{self, Group, News, Outcome, Remote, Rung};
use numaestro_host::{monotonic_ns, procfs};
use numaestro_policy::AppId;
use tracing::{info, warn};

use crate::wakeups::{ShellDue, Wakeups};

/// Time between two signs of life to the stopper, while something is stopped.
const RENEW_NS: u64 = stop::LEASE_NS / 2;
/// Time until a program that could not be stopped is tried again: a debugger may have gone.
const RETRY_NS: u64 = 2_000_000_000;

/// The state of an application in its turns; an application without one runs.
#[derive(Debug, PartialEq, Eq)]
enum Turn {
    /// It was stopped, or waits unstarted, and has not been told to go on.
    Stopped,
    /// The system does not let us stop it, and why.
    Unstoppable(String),
}

/// The reports of the thread that stops programs.
#[derive(Debug, Default)]
pub(crate) struct Report {
    pub(crate) events: Vec<Event>,
    /// Applications that ran outside their turn and are to be stopped again.
    pub(crate) lapsed: Vec<u64>,
}

/// See the file's header.
#[derive(Debug)]
pub(crate) struct Stops {
    /// Says whether programs can be stopped here.
    rung: Rung,
    /// Programs of several users are managed: a process with another user's rights is left alone.
    system: bool,
    /// The guard, which has the stopper.
    stopper: Option<Remote>,
    turns: BTreeMap<u64, Turn>,
}

impl Stops {
    /// Tries whether programs can be stopped here.
    pub(crate) fn new(system: bool, stopper: Option<Remote>) -> Self {
        Self { rung: stop::rung(), system, stopper, turns: BTreeMap::new() }
    }

    /// Says whether programs can be stopped here; `Err`: the obstacle.
    pub(crate) fn works(&self) -> Result<(), &str> {
        if self.rung.works { Ok(()) } else { Err(&self.rung.detail) }
    }

    /// It may look as if it had nothing to do, only because it is not let.
    pub(crate) fn is_stopped(&self, app: u64) -> bool {
        self.turns.get(&app) == Some(&Turn::Stopped)
    }

    /// The reason why it cannot be stopped, if it cannot.
    pub(crate) fn unstoppable(&self, app: u64) -> Option<&str> {
        match self.turns.get(&app)? {
            Turn::Unstoppable(reason) => Some(reason),
            Turn::Stopped => None,
        }
    }

    /// Applications that the system does not let us stop.
    pub(crate) fn all_unstoppable(&self) -> Vec<u64> {
        self.turns.keys().copied().filter(|app| self.unstoppable(*app).is_some()).collect()
    }

    /// It has not been started yet, and is not to be before its turn.
    pub(crate) fn hold_unstarted(&mut self, app: u64) {
        self.turns.insert(app, Turn::Stopped);
    }

    /// It is to be stopped. It may run until [`Self::settle`].
    pub(crate) fn stop(&mut self, app: u64, group: Group) -> Option<Event> {
        self.turns.insert(app, Turn::Stopped);
        match self.stopper_of(group.root) {
            Ok(stopper) => {
                stopper.order(app, group);
                None
            }
            Err(reason) => self.cannot_be_stopped(app, reason),
        }
    }

    /// Nothing of those that were to be stopped runs when this returns, or it soon does not; unless
    /// it cannot be stopped.
    pub(crate) fn settle(&mut self) -> Vec<Event> {
        let outcomes = self.stopper.as_mut().map(Remote::outcomes).unwrap_or_default();
        let mut events = Vec::new();
        for (app, outcome) in outcomes {
            if let Outcome::Unstoppable(reason) = outcome {
                events.extend(self.cannot_be_stopped(app, reason));
            }
        }
        events
    }

    /// The stopper, for this process.
    fn stopper_of(&mut self, root: u32) -> Result<&mut Remote, String> {
        if self.system && procfs::has_other_rights(root) {
            return Err("it runs with another user's rights".to_owned());
        }
        if root == std::process::id() {
            return Err("it is the manager itself".to_owned());
        }
        self.stopper.as_mut().ok_or_else(|| "the process that stops programs could not be started".to_owned())
    }

    fn cannot_be_stopped(&mut self, app: u64, reason: String) -> Option<Event> {
        if !self.is_stopped(app) {
            return None;
        }
        info!(app, reason, "cannot be stopped; it runs as a guest outside its turn");
        self.turns.insert(app, Turn::Unstoppable(reason));
        Some(Event::Unstoppable { app: AppId(app) })
    }

    /// It runs: it continues, the engine begins anew, or it has gone. It may be still for a moment.
    pub(crate) fn resume(&mut self, app: u64) {
        self.turns.remove(&app);
        if let Some(stopper) = &mut self.stopper {
            stopper.resume(app);
        }
    }

    /// Keeps the lease while an application is stopped, and sets the time to try programs again
    /// that could not be stopped. `preemption`: the policy stops programs.
    pub(crate) fn watch(&self, preemption: bool, wakeups: &mut Wakeups) {
        let now = monotonic_ns();
        if self.turns.values().any(|turn| *turn == Turn::Stopped) {
            wakeups.set_if_unset(ShellDue::Lease, now + RENEW_NS);
        }
        if preemption && self.turns.values().any(|turn| *turn != Turn::Stopped) {
            wakeups.set_if_unset(ShellDue::Unstoppable, now + RETRY_NS);
        }
    }

    /// Renews the lease of the stopper.
    pub(crate) fn look(&mut self) -> Report {
        let mut report = Report::default();
        for news in self.stopper.as_mut().map(Remote::renew).unwrap_or_default() {
            match news {
                News::Unstoppable(app, reason) => report.events.extend(self.cannot_be_stopped(app, reason)),
                News::Lapsed => {
                    warn!("the manager did not get to run for seconds; programs ran outside their turns meanwhile");
                    let stopped = self.turns.keys().copied().filter(|app| self.is_stopped(*app));
                    report.lapsed = stopped.collect();
                }
            }
        }
        report
    }

    /// Tries one again that could not be stopped.
    pub(crate) fn retry(&mut self, app: u64, group: Group) -> Option<Event> {
        let outcome = match self.stopper_of(group.root) {
            Ok(stopper) => {
                let outcome = stopper.stop(app, group);
                stopper.resume(app);
                outcome
            }
            Err(reason) => Outcome::Unstoppable(reason),
        };
        if let Outcome::Unstoppable(reason) = outcome {
            self.turns.insert(app, Turn::Unstoppable(reason));
            return None;
        }
        info!(app, "can be stopped again");
        self.turns.remove(&app);
        Some(Event::Stoppable { app: AppId(app) })
    }

    /// Everything runs again.
    pub(crate) fn end(&mut self) {
        self.stopper.iter_mut().for_each(Remote::resume_all);
    }
}
