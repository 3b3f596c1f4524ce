//! Stops programs for the length of other programs' turns, and lets them go on, without anybody
//! noticing.
//!
//! **Means.** The stopper takes every thread by `PTRACE_SEIZE` and `PTRACE_INTERRUPT`, and lets it
//! go by `PTRACE_DETACH` (ptrace(2)). Unlike with `SIGSTOP` the parent is not told, `wait` and a
//! shell's job control see nothing, and a program that its user has stopped stays so. If the
//! manager dies, the kernel lets go of everything by itself. The freezer of cgroup v2 would be as
//! quiet, but would leave programs frozen for ever if the manager died: not used.
//!
//! **Side effects.** A program could notice a system call that fails with `EINTR` where it would
//! have gone on (signal(7), "Interruption of system calls by stop signals"). `calls.rs` lists these
//! calls: a call whose time limit would begin anew is left asleep, which costs nobody a processor,
//! and looked at again now and then; every other one is told to restart by itself while the thread
//! is stopped. A call that may have moved a part of its bytes, which it would return, is left
//! asleep too. Two things are left: if a process gets a signal that it ignores by default
//! (`SIGCHLD`, `SIGWINCH`) while it is stopped, the kernel does not drop it but wakes a thread for
//! it, and if one was left asleep, its call fails with `EINTR` or returns a part; and a thread that
//! is just running in a blocking `write` when it is to be stopped, and would fall asleep in it,
//! returns a part (as after `SIGSTOP`).
//!
//! **One thread.** Only the thread that took a tracee may let it go, so one thread does it all
//! (`worker.rs`); [`Stopper`] is its remote control, and [`Remote`] that of a stopper in another
//! process. It has a lease: if nobody has spoken to it for
//! [`LEASE_NS`], it lets everything go. A thread that is deep in the kernel (disk, `vfork`) stops
//! by itself before its next instruction of its own; nobody waits for it ([`Stopped::late`]).
//!
//! **Unstoppable programs** — traced by a debugger, of another user, set-user-ID, not allowed by
//! the system — are left running as a whole, with a reason ([`Outcome::Unstoppable`]). `gdb -p` and
//! `strace -p` are refused while a program is stopped, and work in its next turn, or after
//! `numaestro release`. Under Yama's usual setting a program is stoppable if it was started by
//! `numaestro run` or has attached; its children are not. Children of the manager itself must not
//! be stopped: the kernel would report the same stops to it as their parent and as their tracer.

mod calls;
mod group;
mod remote;
mod rung;
mod slice;
mod socket_limits;
mod task;
mod trace;
mod worker;

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rustix::event::{EventfdFlags, eventfd};
use rustix::fd::OwnedFd;
use serde::{Deserialize, Serialize};

pub use remote::{Remote, serve};
pub use rung::{Rung, permit, rung};
pub use slice::prefer_short;

use crate::clock::monotonic_ns;
use crate::error::{self, HostError};

/// Everything is let go if the stopper has not been spoken to for this long, nanoseconds.
pub const LEASE_NS: u64 = 2_000_000_000;
/// A stopper that has been told to end is left to itself after this time, nanoseconds: it may be
/// waiting for the end of an `execve`, and the process that drops it may be about to end, which
/// lets everything go.
const FAREWELL_NS: u64 = 1_000_000_000;
/// [`Stopper::stop`] returns after this time, nanoseconds, even if threads still run.
const PATIENCE_NS: u64 = 30_000_000;
/// Time after which a thread that waits for the stopper looks whether it hangs (see
/// [`Shared::taken`]).
const LOOK_AFTER: Duration = Duration::from_millis(2);

/// Processes that are stopped together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Group {
    /// The process.
    pub root: u32,
    /// `Some`: with everything that descends from it, without the subtrees whose roots are in the
    /// set. `None`: this process alone.
    pub tree: Option<BTreeSet<u32>>,
}

/// The result of [`Stopper::stop`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Stopped {
    /// Threads that do not run any more.
    pub threads: u32,
    /// Of these: threads in the kernel that stop before they leave it.
    pub late: u32,
    /// Threads that were left: asleep in a call which would begin anew or return a part, or
    /// becoming another program. They are stopped soon after.
    pub asleep: u32,
}

/// The outcome of an attempt to stop a group.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Outcome {
    /// It is stopped.
    Stopped(Stopped),
    /// The stopper has not answered in time; it goes on with it.
    Pending,
    /// It is running, all of it; one sentence why.
    Unstoppable(String),
}

/// Something that happened since the stopper was last spoken to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum News {
    /// A group could not be stopped, or turned out not to be stoppable after all (it started a
    /// program with other rights, say), and runs; the reason.
    Unstoppable(u64, String),
    /// The lease had run out: nothing is stopped any more.
    Lapsed,
}

/// An order to the stopper. Groups have a number of the caller's; requests to stop a group have
/// numbers of their own.
enum Command {
    Stop(u64, u64, Group),
    Continue(u64),
    ContinueAll,
    Quit,
}

/// A message that the stopper sends unasked.
enum Unasked {
    /// The group of this number runs, although this request was to stop it; the reason.
    Unstoppable(u64, u64, String),
    Lapsed,
}

/// The state that both sides see.
struct Shared {
    wake: OwnedFd,
    /// Time of the latest message to the stopper, `CLOCK_MONOTONIC` nanoseconds.
    spoken_ns: AtomicU64,
    /// Threads the stopper has taken. The thread that waits for the stopper buries the dead ones: a
    /// program that replaces itself (`execve`) waits for the death of its other threads, which are
    /// ours to bury, while `PTRACE_SEIZE` waits for the end of `execve`.
    taken: Mutex<BTreeSet<u32>>,
}

impl Shared {
    fn speak(&self) {
        self.spoken_ns.store(monotonic_ns(), Ordering::Relaxed);
        // A counter that is full wakes as well.
        let _ = rustix::io::write(&self.wake, &1_u64.to_ne_bytes());
    }

    fn taken(&self) -> std::sync::MutexGuard<'_, BTreeSet<u32>> {
        // It holds a set of numbers, valid at any moment.
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Buries threads that have died in the stopper's hands.
    fn bury_dead(&self) {
        self.taken().retain(|tid| !trace::bury(*tid));
    }
}

/// The remote control of the thread that stops programs. Dropped, it lets everything go.
pub struct Stopper {
    shared: Arc<Shared>,
    commands: Sender<Command>,
    answers: Receiver<(u64, Outcome)>,
    unasked: Receiver<Unasked>,
    /// The latest request for each group that is stopped, or may yet be. A message about an older
    /// request, or about none, is not true any more.
    requests: RefCell<BTreeMap<u64, u64>>,
    requests_made: Cell<u64>,
    /// Stops that were ordered and whose outcome nobody has asked for: group and request.
    ordered: RefCell<Vec<(u64, u64)>>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl std::fmt::Debug for Stopper {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Stopper").field("taken", &self.shared.taken().len()).finish_non_exhaustive()
    }
}

impl Stopper {
    /// Starts the thread. It sleeps until it gets an order. [`rung()`] says whether it will be of
    /// use.
    pub fn start() -> Result<Self, HostError> {
        let wake = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK);
        let shared = Arc::new(Shared {
            wake: wake.map_err(error::call("make an event descriptor"))?,
            spoken_ns: AtomicU64::new(monotonic_ns()),
            taken: Mutex::default(),
        });
        let (commands, inbox) = channel();
        let (answer, answers) = channel();
        let (tell, unasked) = channel();
        let theirs = shared.clone();
        let thread = std::thread::Builder::new()
            .name("stopper".to_owned())
            .spawn(move || worker::Worker::new(theirs, answer, tell).run(&inbox))
            .map_err(error::call("start the stopper"))?;
        let (requests, requests_made) = (RefCell::default(), Cell::new(0));
        let ordered = RefCell::default();
        Ok(Self { shared, commands, answers, unasked, requests, requests_made, ordered, thread: Some(thread) })
    }

    /// Stops `group` under the number `key`, and returns when its threads are stopped, or after 30
    /// ms at most.
    ///
    /// A group that is stopped already is gone through again: threads that have appeared since are
    /// stopped too.
    pub fn stop(&self, key: u64, group: Group) -> Outcome {
        self.order(key, group);
        let ended = || Outcome::Unstoppable("the stopper has ended".to_owned());
        self.outcomes().into_iter().find(|(of, _)| *of == key).map_or_else(ended, |(_, outcome)| outcome)
    }

    /// Orders a stop like [`Self::stop`]. The stopper need not hear of it before
    /// [`Self::outcomes`] asks: several orders cost one wake-up.
    pub fn order(&self, key: u64, group: Group) {
        let request = self.requests_made.get() + 1;
        self.requests_made.set(request);
        self.requests.borrow_mut().insert(key, request);
        // If it has ended, there is no answer either.
        let _ = self.commands.send(Command::Stop(key, request, group));
        self.ordered.borrow_mut().push((key, request));
    }

    /// What has become of the stops ordered since the latest call, by their numbers. Returns when
    /// all threads are stopped, or after 30 ms at most for each.
    pub fn outcomes(&self) -> Vec<(u64, Outcome)> {
        let ordered = std::mem::take(&mut *self.ordered.borrow_mut());
        if ordered.is_empty() {
            return Vec::new();
        }
        self.shared.speak();
        ordered.into_iter().map(|(key, request)| (key, self.outcome(key, request))).collect()
    }

    /// Waits for the answer to one request.
    fn outcome(&self, key: u64, request: u64) -> Outcome {
        let begun = monotonic_ns();
        loop {
            match self.answers.recv_timeout(LOOK_AFTER) {
                Ok((of, outcome)) if of == request => {
                    if matches!(outcome, Outcome::Unstoppable(_)) {
                        self.requests.borrow_mut().remove(&key);
                    }
                    return outcome;
                }
                // The late answer of an earlier question.
                Ok(_) => {}
                Err(RecvTimeoutError::Timeout) => self.shared.bury_dead(),
                Err(RecvTimeoutError::Disconnected) => {
                    return Outcome::Unstoppable("the stopper has ended".to_owned());
                }
            }
            if monotonic_ns().saturating_sub(begun) > PATIENCE_NS {
                return Outcome::Pending;
            }
        }
    }

    /// Lets the group go on. Returns at once.
    pub fn resume(&self, key: u64) {
        self.resume_soon(key);
        self.go();
    }

    /// The same; the stopper need not hear of it before [`Self::go`].
    pub fn resume_soon(&self, key: u64) {
        self.requests.borrow_mut().remove(&key);
        // If the stopper has ended, everything goes on already.
        let _ = self.commands.send(Command::Continue(key));
    }

    /// Wakes the stopper, for whatever it has been told.
    pub fn go(&self) {
        self.shared.speak();
    }

    /// Lets every group go on.
    pub fn resume_all(&self) {
        self.requests.borrow_mut().clear();
        let _ = self.tell(Command::ContinueAll);
    }

    /// Renews the lease, to be called about once a second while something is stopped. Returns the
    /// news since the latest call.
    pub fn renew(&self) -> Vec<News> {
        self.shared.spoken_ns.store(monotonic_ns(), Ordering::Relaxed);
        self.shared.bury_dead();
        let mut requests = self.requests.borrow_mut();
        let news = |unasked| match unasked {
            Unasked::Lapsed => Some(News::Lapsed),
            Unasked::Unstoppable(key, request, reason) => (requests.get(&key) == Some(&request)).then(|| {
                requests.remove(&key);
                News::Unstoppable(key, reason)
            }),
        };
        self.unasked.try_iter().filter_map(news).collect()
    }

    fn tell(&self, command: Command) -> Result<(), std::sync::mpsc::SendError<Command>> {
        self.commands.send(command)?;
        self.shared.speak();
        Ok(())
    }
}

impl Drop for Stopper {
    fn drop(&mut self) {
        let _ = self.tell(Command::Quit);
        let until = monotonic_ns() + FAREWELL_NS;
        while let Some(thread) = self.thread.take() {
            if thread.is_finished() {
                // It only ends in disorder by a bug of its own; the kernel has let go of everything
                // then.
                let _ = thread.join();
            } else if monotonic_ns() < until {
                self.shared.bury_dead();
                std::thread::sleep(Duration::from_micros(200));
                self.thread = Some(thread);
            }
        }
    }
}
