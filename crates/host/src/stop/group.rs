//! One stopped group: takes its threads, waits for them, lets them go, and buries the killed ones.
//! Runs in the stopper's thread only.

use std::collections::{BTreeMap, BTreeSet};

use rustix::fd::{FromRawFd, OwnedFd};

use super::calls::Sleep;
use super::task::Tasks;
use super::trace::{self, Seen, Wrong};
use super::{Shared, Stopped};
use crate::clock::monotonic_ns;
use crate::procfs;

/// A sleep while waiting for one thread, nanoseconds, where no report comes.
const DOZE_NS: u64 = 300_000;
/// The first look at a group after it was stopped, nanoseconds; later ones come twice as late each.
const LOOK_FIRST_NS: u64 = 1_000_000;
/// No look later than this after the one before, nanoseconds, unless looks are costly.
const LOOK_LAST_NS: u64 = 50_000_000;
/// Looks may cost one part in this many of a processor.
const LOOK_SHARE: u64 = 2000;

/// Times that a thread is tried again which the system refuses: it may have been a thread of a
/// program that was just becoming another one.
const SEIZE_TRIES: u32 = 3;

/// A thread in our hands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Held {
    /// Told to stop.
    Taken,
    /// Stopped, with the signal it was about to get.
    Stopped(i32),
}

struct Member {
    tasks: Tasks,
    held: BTreeMap<u32, Held>,
    asleep: BTreeSet<u32>,
    /// Readable when the thread it stands for has died: then all have, or the program has become
    /// another one.
    watch: Option<OwnedFd>,
}

/// See the file's header.
pub(super) struct Group {
    /// The latest request to stop it.
    request: u64,
    spec: super::Group,
    members: BTreeMap<u32, Member>,
    look_at_ns: Option<u64>,
    look_after_ns: u64,
}

/// The outcome of taking one thread.
enum Take {
    Taken,
    Asleep,
    Becoming,
    Gone,
}

impl Group {
    pub(super) fn new(request: u64, spec: super::Group) -> Self {
        Self { request, spec, members: BTreeMap::new(), look_at_ns: None, look_after_ns: LOOK_FIRST_NS }
    }

    /// The same group, perhaps with other exceptions.
    pub(super) fn respecify(&mut self, request: u64, spec: super::Group) {
        (self.request, self.spec) = (request, spec);
        self.look_after_ns = LOOK_FIRST_NS;
    }

    /// The latest request to stop it.
    pub(super) fn request(&self) -> u64 {
        self.request
    }

    /// Stops all of its threads that run, and waits at most `patience_ns` for them. `lingering` are
    /// threads that were let go before they had stopped. An error is the reason why it cannot be
    /// stopped; the caller lets it go then.
    ///
    /// New threads come from threads that run, so when no thread has been taken since the list was
    /// read, all are.
    pub(super) fn stop(
        &mut self,
        shared: &Shared,
        lingering: &mut BTreeSet<u32>,
        patience_ns: u64,
    ) -> Result<Stopped, String> {
        let deadline = monotonic_ns() + patience_ns;
        for (pid, member) in &mut self.members {
            member.recheck(*pid, shared);
        }
        self.members.retain(|_, member| !member.held.is_empty() || !member.asleep.is_empty());
        let mut tids = Vec::new();
        loop {
            self.find_members();
            let mut again = false;
            for member in self.members.values_mut() {
                tids.clear();
                member.tasks.list(&mut tids);
                member.asleep.clear();
                for tid in &tids {
                    if member.held.contains_key(tid) {
                        continue;
                    }
                    match member.take(*tid, shared, lingering)? {
                        Take::Taken => again = true,
                        // There will be another look, even if there is no time for it now.
                        Take::Becoming => {
                            again = true;
                            member.asleep.insert(*tid);
                        }
                        Take::Asleep => {
                            member.asleep.insert(*tid);
                        }
                        Take::Gone => {}
                    }
                }
            }
            self.settle(shared, deadline)?;
            if !again || monotonic_ns() >= deadline {
                break;
            }
        }
        self.members.values_mut().for_each(Member::watch);
        self.plan_look(0);
        Ok(self.tally())
    }

    fn find_members(&mut self) {
        let root = self.spec.root;
        let pids = match &self.spec.tree {
            None => vec![root],
            Some(except) => procfs::tree(root, except).unwrap_or_default(),
        };
        for pid in pids {
            if let std::collections::btree_map::Entry::Vacant(place) = self.members.entry(pid)
                && let Ok(tasks) = Tasks::open(pid)
            {
                place.insert(Member { tasks, held: BTreeMap::new(), asleep: BTreeSet::new(), watch: None });
            }
        }
    }

    /// Waits until the taken threads are stopped, except for threads that are deep in the kernel.
    fn settle(&mut self, shared: &Shared, deadline: u64) -> Result<(), String> {
        for member in self.members.values_mut() {
            let waiting: Vec<u32> = member.taken().collect();
            for tid in waiting {
                while !member.seen(tid, shared)? {
                    if monotonic_ns() >= deadline || member.tasks.state(tid) == Some('D') {
                        break;
                    }
                    trace::sleep_until_reported(DOZE_NS);
                }
            }
        }
        Ok(())
    }

    /// Somebody must look again if threads are asleep or late, or cannot be watched; not otherwise.
    /// `cost_ns`: duration of the latest look, nanoseconds.
    fn plan_look(&mut self, cost_ns: u64) {
        let open = self.members.values().any(|member| {
            !member.asleep.is_empty()
                || member.watch.is_none() && !member.held.is_empty()
                || member.taken().next().is_some()
        });
        self.look_at_ns = open.then(|| monotonic_ns() + self.look_after_ns.max(cost_ns * LOOK_SHARE));
        self.look_after_ns = (self.look_after_ns * 2).min(LOOK_LAST_NS);
    }

    fn tally(&self) -> Stopped {
        let mut total = Stopped::default();
        for member in self.members.values() {
            total.threads += member.held.len() as u32;
            total.late += member.taken().count() as u32;
            total.asleep += member.asleep.len() as u32;
        }
        total
    }

    /// The time of the next look, `CLOCK_MONOTONIC` nanoseconds, if there is to be one.
    pub(super) fn look_at(&self) -> Option<u64> {
        self.look_at_ns
    }

    /// Somebody has died, says the watch of `pid`.
    pub(super) fn died(&mut self, pid: u32) {
        if let Some(member) = self.members.get_mut(&pid) {
            member.watch = None;
            self.look_at_ns = Some(0);
            self.look_after_ns = LOOK_FIRST_NS;
        }
    }

    /// Takes the look that [`Self::look_at`] asks for: as [`Self::stop`], without waiting for
    /// threads that have woken or have been born.
    pub(super) fn look(&mut self, shared: &Shared, lingering: &mut BTreeSet<u32>) -> Result<(), String> {
        let begun = monotonic_ns();
        self.stop(shared, lingering, 0)?;
        self.plan_look(monotonic_ns() - begun);
        Ok(())
    }

    /// The processes to watch for deaths, each with its descriptor.
    pub(super) fn watches(&self) -> impl Iterator<Item = (u32, &OwnedFd)> {
        self.members.iter().filter_map(|(pid, member)| Some((*pid, member.watch.as_ref()?)))
    }

    /// Lets everybody go. Threads that have not stopped yet cannot be let go yet: they are added to
    /// `lingering`.
    pub(super) fn release(mut self, shared: &Shared, lingering: &mut BTreeSet<u32>) {
        for member in self.members.values_mut() {
            for (tid, held) in std::mem::take(&mut member.held) {
                let gone = match held {
                    Held::Stopped(signal) => trace::detach(tid, signal).is_ok() || trace::bury(tid),
                    Held::Taken => release_late(tid),
                };
                if gone {
                    shared.taken().remove(&tid);
                } else {
                    lingering.insert(tid);
                }
            }
        }
    }
}

fn own_tid() -> u32 {
    rustix::thread::gettid().as_raw_nonzero().get().cast_unsigned()
}

/// Lets go of a thread that may have stopped meanwhile. Says whether it is out of our hands.
pub(super) fn release_late(tid: u32) -> bool {
    match trace::look(tid) {
        Seen::Running => false,
        Seen::Stopped(signal) => {
            // It goes on as it is if it could not be put right: there is nothing better to do.
            let _ = trace::put_right(tid);
            trace::detach(tid, signal).is_ok()
        }
        Seen::Dead | Seen::Gone => trace::bury(tid),
    }
}

impl Member {
    fn taken(&self) -> impl Iterator<Item = u32> + '_ {
        self.held.iter().filter(|(_, held)| **held == Held::Taken).map(|(tid, _)| *tid)
    }

    /// Takes one thread and tells it to stop, both at once: if it became another program in
    /// between, that one would not get the rights of its owner (`execve`, set-user-ID).
    fn take(&mut self, tid: u32, shared: &Shared, lingering: &mut BTreeSet<u32>) -> Result<Take, String> {
        match self.tasks.sleep_of(tid) {
            Sleep::Leave => return Ok(Take::Asleep),
            // A debugger has it stop there, and may leave it so for hours.
            Sleep::Becoming if self.tasks.tracer(tid).is_some_and(|tracer| tracer != own_tid()) => {
                return Err(self.refusal(tid, &std::io::Error::from_raw_os_error(libc::EPERM)));
            }
            Sleep::Becoming => return Ok(Take::Becoming),
            Sleep::Stop | Sleep::Unless(_) | Sleep::LeaveUnlessDeep => {}
        }
        let mut seized = trace::seize(tid);
        for _ in 0..SEIZE_TRIES {
            let Err(cause) = &seized else { break };
            if cause.raw_os_error() == Some(libc::ESRCH) || matches!(self.tasks.state(tid), None | Some('Z' | 'X')) {
                return Ok(Take::Gone);
            }
            // Ours already: let go before it had stopped, or it has got the number of a thread of
            // ours by becoming another program.
            if lingering.remove(&tid) || self.tasks.tracer(tid) == Some(own_tid()) {
                seized = Ok(());
            } else {
                seized = trace::seize(tid);
            }
        }
        if let Err(cause) = seized {
            return Err(self.refusal(tid, &cause));
        }
        shared.taken().insert(tid);
        // It can only fail because the thread has died, which is seen next.
        let _ = trace::interrupt(tid);
        self.held.insert(tid, Held::Taken);
        Ok(Take::Taken)
    }

    fn refusal(&self, tid: u32, cause: &std::io::Error) -> String {
        match self.tasks.tracer(tid) {
            Some(tracer) => {
                let name = procfs::stat(tracer).map_or_else(|_| "?".to_owned(), |stat| stat.name);
                format!("thread {tid} is traced by {name} (thread {tracer})")
            }
            None => format!("the system does not let us stop thread {tid}: {cause}"),
        }
    }

    /// Says whether a taken thread is out of the way: stopped, or gone.
    fn seen(&mut self, tid: u32, shared: &Shared) -> Result<bool, String> {
        match trace::look(tid) {
            Seen::Running => return Ok(false),
            Seen::Stopped(signal) => {
                self.held.insert(tid, Held::Stopped(signal));
                if trace::put_right(tid) == Err(Wrong::Narrow) {
                    return Err(format!("thread {tid} runs a 32-bit program, which cannot be stopped unseen"));
                }
            }
            Seen::Dead | Seen::Gone => {
                if !trace::bury(tid) {
                    return Ok(false);
                }
                self.held.remove(&tid);
                shared.taken().remove(&tid);
            }
        }
        Ok(true)
    }

    /// Watches one of the stopped threads. Where the kernel cannot (before Linux 6.9), the group is
    /// looked at now and then instead.
    fn watch(&mut self) {
        /// `PIDFD_THREAD`: the descriptor stands for one thread.
        const PIDFD_THREAD: libc::c_uint = libc::O_EXCL.cast_unsigned();
        if self.watch.is_some() {
            return;
        }
        let stopped = self.held.iter().find(|(_, held)| matches!(held, Held::Stopped(_)));
        let Some((tid, _)) = stopped else { return };
        // SAFETY: two numbers; the kernel returns a new descriptor or an error.
        let raw = unsafe { libc::syscall(libc::SYS_pidfd_open, *tid, PIDFD_THREAD) };
        if let Some(raw) = i32::try_from(raw).ok().filter(|raw| *raw >= 0) {
            // SAFETY: the descriptor is new and nobody else's.
            self.watch = Some(unsafe { OwnedFd::from_raw_fd(raw) });
        }
    }

    /// Buries its dead, the process itself last, because it cannot be buried before; and finds the
    /// thread that runs although it was stopped: the thread that made the process another program
    /// has the process's number from then on.
    fn recheck(&mut self, pid: u32, shared: &Shared) {
        let all: Vec<u32> = self.held.keys().copied().filter(|tid| *tid != pid).chain([pid]).collect();
        for tid in all {
            let Some(held) = self.held.get_mut(&tid) else { continue };
            match trace::look(tid) {
                Seen::Running if *held != Held::Taken => {
                    *held = Held::Taken;
                    let _ = trace::interrupt(tid);
                }
                Seen::Running | Seen::Stopped(_) => {}
                Seen::Dead | Seen::Gone => {
                    trace::bury(tid);
                    self.held.remove(&tid);
                    shared.taken().remove(&tid);
                }
            }
        }
    }
}
