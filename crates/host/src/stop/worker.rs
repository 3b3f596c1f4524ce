//! The thread that stops and lets go: commands in, answers out, and between them deaths, looks and
//! the lease. All calls of ptrace(2) are made here, because the kernel takes them only from the
//! thread that took the tracee.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, Sender, TryRecvError};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::Signal;
use rustix::time::Timespec;

use super::group::{self, Group};
use super::{Command, LEASE_NS, Outcome, Shared, Unasked};
use crate::clock::monotonic_ns;
use crate::signals::BlockedSignals;

/// Threads that were let go before they had stopped are tried again after this time, nanoseconds,
/// and later half as often each time.
const LINGER_NS: u64 = 500_000;
/// The longest time between two tries.
const LINGER_LAST_NS: u64 = 10_000_000;
/// Threads that have not stopped after this time, nanoseconds, are late.
const SETTLE_NS: u64 = 4_000_000;
/// At its end, the stopper waits this long for threads that have not stopped; then the kernel lets
/// go of them.
const FAREWELL_NS: u64 = 20_000_000;

/// See the file's header.
pub(super) struct Worker {
    shared: Arc<Shared>,
    answer: Sender<(u64, Outcome)>,
    tell: Sender<Unasked>,
    groups: BTreeMap<u64, Group>,
    lingering: BTreeSet<u32>,
    linger_ns: u64,
}

impl Worker {
    pub(super) fn new(shared: Arc<Shared>, answer: Sender<(u64, Outcome)>, tell: Sender<Unasked>) -> Self {
        Self { shared, answer, tell, groups: BTreeMap::new(), lingering: BTreeSet::new(), linger_ns: LINGER_NS }
    }

    /// Works until told to end, or until nobody can tell it anything any more.
    pub(super) fn run(mut self, inbox: &Receiver<Command>) {
        // Reports of stops are waited for (see `trace::sleep_until_reported`); if that cannot be
        // set up, waiting takes a little longer.
        let _ = BlockedSignals::block(&[Signal::CHILD]);
        super::slice::go_first();
        super::prefer_short();
        loop {
            loop {
                match inbox.try_recv() {
                    Ok(Command::Quit) | Err(TryRecvError::Disconnected) => return self.end(),
                    Ok(command) => self.obey(command),
                    Err(TryRecvError::Empty) => break,
                }
            }
            self.mind_lease();
            self.look();
            self.linger();
            self.sleep();
        }
    }

    fn obey(&mut self, command: Command) {
        match command {
            Command::Stop(key, request, spec) => {
                let outcome = self.stop(key, request, spec);
                let _ = self.answer.send((request, outcome));
            }
            Command::Continue(key) => self.release(key),
            Command::ContinueAll => self.release_all(),
            Command::Quit => {}
        }
    }

    fn stop(&mut self, key: u64, request: u64, spec: super::Group) -> Outcome {
        if spec.root == std::process::id() {
            return Outcome::Unstoppable("it is what stops programs".to_owned());
        }
        let group = self.groups.entry(key).or_insert_with(|| Group::new(request, spec.clone()));
        group.respecify(request, spec);
        match group.stop(&self.shared, &mut self.lingering, SETTLE_NS) {
            Ok(stopped) => Outcome::Stopped(stopped),
            Err(reason) => {
                self.release(key);
                // The answer may come too late for the thread that waits for it.
                let _ = self.tell.send(Unasked::Unstoppable(key, request, reason.clone()));
                Outcome::Unstoppable(reason)
            }
        }
    }

    fn release(&mut self, key: u64) {
        if let Some(group) = self.groups.remove(&key) {
            group.release(&self.shared, &mut self.lingering);
            self.linger_ns = LINGER_NS;
        }
    }

    fn release_all(&mut self) {
        let keys: Vec<u64> = self.groups.keys().copied().collect();
        for key in keys {
            self.release(key);
        }
    }

    fn lease_ends(&self) -> u64 {
        self.shared.spoken_ns.load(Ordering::Relaxed) + LEASE_NS
    }

    fn mind_lease(&mut self) {
        if !self.groups.is_empty() && monotonic_ns() >= self.lease_ends() {
            self.release_all();
            let _ = self.tell.send(Unasked::Lapsed);
        }
    }

    fn look(&mut self) {
        let now = monotonic_ns();
        let due: Vec<u64> = self
            .groups
            .iter()
            .filter(|(_, group)| group.look_at().is_some_and(|at| at <= now))
            .map(|(key, _)| *key)
            .collect();
        for key in due {
            let Some(group) = self.groups.get_mut(&key) else { continue };
            let request = group.request();
            if let Err(reason) = group.look(&self.shared, &mut self.lingering) {
                self.release(key);
                let _ = self.tell.send(Unasked::Unstoppable(key, request, reason));
            }
        }
    }

    fn linger(&mut self) {
        let shared = &self.shared;
        self.lingering.retain(|tid| {
            let gone = group::release_late(*tid);
            if gone {
                shared.taken().remove(tid);
            }
            !gone
        });
    }

    fn sleep(&mut self) {
        let now = monotonic_ns();
        let mut until: Option<u64> = None;
        let mut by = |at: u64| until = Some(until.map_or(at, |until| until.min(at)));
        if !self.groups.is_empty() {
            by(self.lease_ends());
        }
        if !self.lingering.is_empty() {
            by(now + self.linger_ns);
            self.linger_ns = (self.linger_ns * 2).min(LINGER_LAST_NS);
        }
        for group in self.groups.values() {
            group.look_at().into_iter().for_each(&mut by);
        }
        let limit = until.map(|until| {
            let ns = until.saturating_sub(now);
            Timespec { tv_sec: (ns / 1_000_000_000).cast_signed(), tv_nsec: (ns % 1_000_000_000).cast_signed() }
        });
        let mut watched = Vec::new();
        let mut entries = vec![PollFd::new(&self.shared.wake, PollFlags::IN)];
        for (key, group) in &self.groups {
            for (pid, descriptor) in group.watches() {
                watched.push((*key, pid));
                entries.push(PollFd::new(descriptor, PollFlags::IN));
            }
        }
        // An error (a signal of somebody's) is a sleep that was too short.
        let _ = poll(&mut entries, limit.as_ref());
        let fired: Vec<bool> = entries.iter().map(|entry| !entry.revents().is_empty()).collect();
        if fired[0] {
            let _ = rustix::io::read(&self.shared.wake, &mut [0_u8; 8]);
        }
        for ((key, pid), _) in watched.into_iter().zip(&fired[1..]).filter(|(_, fired)| **fired) {
            if let Some(group) = self.groups.get_mut(&key) {
                group.died(pid);
            }
        }
    }

    fn end(&mut self) {
        self.release_all();
        let until = monotonic_ns() + FAREWELL_NS;
        while !self.lingering.is_empty() && monotonic_ns() < until {
            super::trace::sleep_until_reported(LINGER_NS);
            self.linger();
        }
    }
}
