//! The present applications, by their numbers and by their processes. Each component keeps its own
//! facts of an application.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use numaestro_abi::control::Options;
use numaestro_engine::Class;
use numaestro_host::PidFd;

use crate::decision::obligations::{Allocation, Wants};
use crate::identity::peer::LivePeer;

/// Whom an application belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Owner {
    /// The user; the manager's own where that is the only one.
    pub(crate) uid: u32,
    /// Index of the party.
    pub(crate) party: u32,
    /// Job, step and task of a batch system, for people: `12.0/3`.
    pub(crate) job: Option<String>,
}

/// One application. The engine decides which processors it may have.
#[derive(Debug)]
pub(crate) struct App {
    pub(crate) number: u64,
    pub(crate) process: PidFd,
    pub(crate) owner: Owner,
    pub(crate) name: String,
    pub(crate) options: Options,
    /// Its arrival, nanoseconds.
    pub(crate) arrived_ns: u64,
    /// Bits of the runtimes in it.
    pub(crate) runtimes: u32,
    pub(crate) class: Class,
    pub(crate) wants: Wants,
    pub(crate) allocation: Allocation,
    /// The application it descends from and that became a wrapper because of it.
    pub(crate) wrapper: Option<u64>,
    /// Applications that made this one a wrapper.
    pub(crate) wrapped: u32,
    /// Place in the queue.
    pub(crate) waiting: Option<u32>,
    /// Connection of a `run` that waits for its answer.
    pub(crate) asker: Option<u64>,
}

impl App {
    pub(crate) fn pid(&self) -> u32 {
        self.process.pid()
    }

    pub(crate) fn is_wrapper(&self) -> bool {
        self.wrapped > 0
    }
}

/// See the file's header.
#[derive(Debug)]
pub(crate) struct Programs {
    by_number: BTreeMap<u64, App>,
    /// Application of a process id.
    by_pid: BTreeMap<u32, u64>,
    /// The root processes as a set, from the first time that it is asked for.
    roots: OnceCell<Arc<BTreeSet<u32>>>,
    next: u64,
}

impl Programs {
    pub(crate) fn new() -> Self {
        Self { by_number: BTreeMap::new(), by_pid: BTreeMap::new(), roots: OnceCell::new(), next: 1 }
    }

    /// The number that the next application gets.
    pub(crate) fn next_number(&self) -> u64 {
        self.next
    }

    /// Numbers below this one have been given.
    pub(crate) fn skip_to(&mut self, next: u64) {
        self.next = self.next.max(next);
    }

    pub(crate) fn insert(&mut self, app: App) {
        self.skip_to(app.number + 1);
        self.roots.take();
        self.by_pid.insert(app.pid(), app.number);
        self.by_number.insert(app.number, app);
    }

    pub(crate) fn remove(&mut self, app: u64) -> Option<App> {
        let gone = self.by_number.remove(&app)?;
        if self.by_pid.get(&gone.pid()) == Some(&app) {
            self.roots.take();
            self.by_pid.remove(&gone.pid());
        }
        Some(gone)
    }

    pub(crate) fn get(&self, app: u64) -> Option<&App> {
        self.by_number.get(&app)
    }

    pub(crate) fn get_mut(&mut self, app: u64) -> Option<&mut App> {
        self.by_number.get_mut(&app)
    }

    /// The application whose root process this is.
    pub(crate) fn of_pid(&self, pid: u32) -> Option<u64> {
        self.by_pid.get(&pid).copied()
    }

    /// The application whose root process a peer is, and whose user.
    pub(crate) fn of_peer(&self, peer: &LivePeer) -> Option<u64> {
        let entry = self.get(self.of_pid(peer.pid())?)?;
        (peer.is(&entry.process) && entry.owner.uid == peer.uid()).then_some(entry.number)
    }

    pub(crate) fn contains(&self, app: u64) -> bool {
        self.by_number.contains_key(&app)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &App> {
        self.by_number.values()
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut App> {
        self.by_number.values_mut()
    }

    pub(crate) fn numbers(&self) -> Vec<u64> {
        self.by_number.keys().copied().collect()
    }

    pub(crate) fn len(&self) -> usize {
        self.by_number.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.by_number.is_empty()
    }

    /// The root processes of all applications.
    pub(crate) fn roots(&self) -> impl Iterator<Item = u32> {
        self.by_pid.keys().copied()
    }

    /// The same, to be kept: one for all who keep it.
    pub(crate) fn shared_roots(&self) -> Arc<BTreeSet<u32>> {
        self.roots.get_or_init(|| Arc::new(self.roots().collect())).clone()
    }

    /// The root processes of all applications but that of `pid`.
    pub(crate) fn other_roots(&self, pid: u32) -> BTreeSet<u32> {
        self.roots().filter(|other| *other != pid).collect()
    }
}
