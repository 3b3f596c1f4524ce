//! The actuator of builds: it supplies the jobserver of a build with tokens for as many jobs as the
//! build has processors. make, ninja, cargo and the programs below them take their tokens there.
//!
//! The pipe belongs to the build's own processes (`numaestro_host::jobserver`), so a build goes on
//! with the tokens that it has while there is no manager. More processors mean more tokens at once.
//! Fewer mean that tokens are taken out as jobs give them back: the pipe then wakes the manager.
//! Tokens that died with a killed job are found by looking, because nobody tells.

mod jobs;
mod tokens;

use std::collections::BTreeMap;

use numaestro_abi::control::JobserverStatus;
use numaestro_host::jobserver::TokenPipe;
use numaestro_host::poll::Interest;
use numaestro_host::procfs::Stat;
use numaestro_host::{HostError, monotonic_ns};
use serde::{Deserialize, Serialize};
use tracing::{info, warn};

use crate::wakeups::{ShellDue, ShellSource, Wakeups};
use tokens::{Account, Change, tokens_for};

/// From one look for lost tokens to the next, while jobs hold some.
const LOOK_NS: u64 = 500_000_000;
/// The same while all are in the pipe: the time in which new jobs are noticed.
const LOOK_QUIET_NS: u64 = 1_000_000_000;

/// A jobserver in the state file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SavedJobserver {
    /// Number of the reading descriptor in the build's first process.
    read: u32,
    /// The kernel's number of the pipe.
    inode: u64,
    /// Tokens in the pipe or held by jobs.
    tokens: u32,
}

/// The jobserver of one application.
#[derive(Debug)]
struct Jobserver {
    pipe: TokenPipe,
    read: u32,
    account: Account,
    /// Processors of the application.
    processors: u32,
    /// As of the latest look.
    clients: u32,
    /// The pipe wakes the manager.
    watched: bool,
}

/// See the file's header.
#[derive(Debug, Default)]
pub(crate) struct Jobservers {
    by_app: BTreeMap<u64, Jobserver>,
}

impl Jobservers {
    /// Serves the pipe that process `pid` of user `uid` has as descriptor `read`.
    pub(crate) fn serve(&mut self, app: u64, (pid, uid): (u32, u32), read: u32) {
        self.keep(app, read, TokenPipe::of_process(pid, read, uid), Account::default());
    }

    /// Serves on what a former manager served. A process that has closed the pipe may have
    /// something else under its number.
    pub(crate) fn inherit(&mut self, app: u64, (pid, uid): (u32, u32), saved: SavedJobserver) {
        let pipe = TokenPipe::of_process(pid, saved.read, uid);
        if pipe.as_ref().is_ok_and(|pipe| pipe.inode() != saved.inode) {
            info!(app, "has closed its jobserver");
            return;
        }
        self.keep(app, saved.read, pipe, Account::new(saved.tokens));
    }

    fn keep(&mut self, app: u64, read: u32, pipe: Result<TokenPipe, HostError>, account: Account) {
        match pipe {
            Ok(pipe) => {
                let server = Jobserver { pipe, read, account, processors: 0, clients: 1, watched: false };
                self.by_app.insert(app, server);
            }
            Err(cause) => warn!(app, "no tokens for its jobserver: {cause}"),
        }
    }

    /// The application has a jobserver of ours.
    pub(crate) fn serves(&self, app: u64) -> bool {
        self.by_app.contains_key(&app)
    }

    /// The application has so many processors now.
    pub(crate) fn aim(&mut self, app: u64, processors: u32, wakeups: &mut Wakeups) {
        let Some(server) = self.by_app.get_mut(&app) else { return };
        server.processors = processors;
        server.supply(app, wakeups);
    }

    /// The pipe has woken the manager: jobs have given tokens back.
    pub(crate) fn returned(&mut self, app: u64, wakeups: &mut Wakeups) {
        if let Some(server) = self.by_app.get_mut(&app) {
            server.supply(app, wakeups);
        }
    }

    /// Looks for lost tokens, and for builds that have come or gone. `processes` reads those of the
    /// application, whose first is `root`; it is called only if jobs hold tokens.
    pub(crate) fn look(&mut self, app: u64, root: u32, processes: impl FnOnce() -> Vec<Stat>, wakeups: &mut Wakeups) {
        let Some(server) = self.by_app.get_mut(&app) else { return };
        let free = server.pipe.free();
        let mut holdable = 0;
        if free < server.account.given() || server.clients > 1 {
            let jobs = jobs::count(root, &processes());
            (server.clients, holdable) = (jobs.clients, jobs.holdable);
        }
        // Jobs may have given tokens back while their processes were counted.
        server.account.look(server.pipe.free().max(free), holdable);
        server.supply(app, wakeups);
    }

    /// All tokens are held: the application could perhaps use more processors.
    pub(crate) fn is_exhausted(&self, app: u64) -> bool {
        self.by_app.get(&app).is_some_and(|server| server.pipe.free() == 0)
    }

    /// The application is let go, with so many processors: its jobserver gets its last tokens.
    pub(crate) fn release(&mut self, app: u64, processors: u32, wakeups: &mut Wakeups) {
        self.aim(app, processors, wakeups);
        self.forget(app, wakeups);
    }

    /// An application has gone.
    pub(crate) fn forget(&mut self, app: u64, wakeups: &mut Wakeups) {
        wakeups.clear(ShellDue::Jobs(app));
        if let Some(server) = self.by_app.remove(&app).filter(|server| server.watched) {
            wakeups.forget(&server.pipe);
        }
    }

    /// The picture of an application's jobserver.
    pub(crate) fn status(&self, app: u64) -> Option<JobserverStatus> {
        let server = self.by_app.get(&app)?;
        let tokens = server.account.given();
        Some(JobserverStatus { tokens, free: server.pipe.free().min(tokens), left: String::new() })
    }

    /// For the state file.
    pub(crate) fn saved(&self, app: u64) -> Option<SavedJobserver> {
        let server = self.by_app.get(&app)?;
        Some(SavedJobserver { read: server.read, inode: server.pipe.inode(), tokens: server.account.given() })
    }
}

impl Jobserver {
    /// Puts in or takes out what is to be, as far as that is possible now, and sees to it that the
    /// manager wakes up for the rest.
    fn supply(&mut self, app: u64, wakeups: &mut Wakeups) {
        self.account.aim(tokens_for(self.processors, self.clients));
        let free = self.pipe.free();
        match self.account.change(free) {
            Change::None => {}
            Change::Put(tokens) => self.account.put(self.pipe.put(tokens)),
            Change::Take(tokens) => self.account.taken(self.pipe.take(tokens)),
        }
        self.watch(app, wakeups);
        if self.account.given() > 0 || self.clients > 1 {
            let quiet = self.pipe.free() >= self.account.given();
            let next = monotonic_ns() + if quiet { LOOK_QUIET_NS } else { LOOK_NS };
            wakeups.set_if_unset(ShellDue::Jobs(app), next);
        }
    }

    /// The pipe wakes the manager while tokens are to be taken out of it.
    fn watch(&mut self, app: u64, wakeups: &Wakeups) {
        let wanted = self.account.has_surplus();
        if wanted == self.watched {
            return;
        }
        if wanted {
            self.watched = wakeups.watch(&self.pipe, ShellSource::Jobserver(app), Interest::Read).is_ok();
        } else {
            wakeups.forget(&self.pipe);
            self.watched = false;
        }
    }
}
