//! The stopper in a process of its own: a manager that is frozen (`SIGSTOP`, a debugger) cannot
//! renew the lease, and the thread that minds the lease must not be frozen with it.
//!
//! [`serve`] is the life of that process: it has the [`Stopper`], and carries out what it is told.
//! [`Remote`] is the manager's side, and has the same calls. Between them is a pair of sockets that
//! keep the bounds of messages. If the manager ends, the other side sees the end of its socket and
//! lets everything go; if the other side ends, the kernel does.

use std::collections::{BTreeMap, VecDeque};
use std::os::fd::{AsFd, OwnedFd};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags};
use rustix::time::Timespec;
use serde::{Deserialize, Serialize};

use super::{Group, LEASE_NS, News, Outcome, PATIENCE_NS, Stopper};
use crate::clock::monotonic_ns;
use crate::detach::Watcher;
use crate::error::HostError;
use crate::socket;

/// Time that the other process has beside that of a stop, until its answer counts as late.
const SLACK_NS: u64 = 20_000_000;
/// Time for letting everything go at the end, as the stopper has it.
const FAREWELL_NS: u64 = super::FAREWELL_NS + SLACK_NS;
/// Longest message: a group with some 30 000 processes.
const MESSAGE_BYTES_MAX: usize = 200 * 1024;
/// The reason of everything that cannot be done any more.
const ENDED: &str = "the process that stops programs has ended";

/// To the process that stops.
#[derive(Debug, Serialize, Deserialize)]
enum Order {
    /// From here on there is something to look after.
    Arm,
    /// A request with its number: stop this group.
    Stop(u64, u64, Group),
    Resume(u64),
    ResumeAll,
    /// The lease, for news.
    Renew,
}

/// And back.
#[derive(Debug, Serialize, Deserialize)]
enum Answer {
    /// The outcome of a request, and the group.
    Outcome(u64, u64, Outcome),
    News(Vec<News>),
    /// Nothing is stopped any more.
    Resumed,
}

/// Sends one message. `Err(AGAIN)`: some hundred others have not been read.
fn send(socket: &OwnedFd, message: &impl Serialize) -> Result<(), Errno> {
    let bytes = serde_json::to_vec(message).map_err(|_| Errno::INVAL)?;
    loop {
        match rustix::net::send(socket, &bytes, SendFlags::NOSIGNAL | SendFlags::DONTWAIT) {
            Err(Errno::INTR) => {}
            Err(Errno::NOMEM | Errno::NOBUFS) => return Err(Errno::AGAIN),
            sent => return sent.map(drop),
        }
    }
}

/// One message, if there is one; `Err`: the other side has ended.
fn receive<T: for<'a> Deserialize<'a>>(socket: &OwnedFd, buffer: &mut Vec<u8>) -> Result<Option<T>, Errno> {
    buffer.resize(MESSAGE_BYTES_MAX, 0);
    loop {
        match rustix::net::recv(socket, buffer.as_mut_slice(), RecvFlags::DONTWAIT) {
            Ok((0, _)) => return Err(Errno::PIPE),
            Ok((length, _)) => return Ok(serde_json::from_slice(&buffer[..length]).ok()),
            Err(Errno::INTR) => {}
            // The kernel lacks memory for a moment: nobody has ended for that.
            Err(Errno::AGAIN | Errno::NOMEM | Errno::NOBUFS) => return Ok(None),
            Err(error) => return Err(error),
        }
    }
}

/// Sleeps until the socket can be read or written, at most until `until_ns`.
fn wait(socket: &OwnedFd, what: PollFlags, until_ns: Option<u64>) {
    let limit = until_ns.map(|until| {
        let ns = until.saturating_sub(monotonic_ns());
        Timespec { tv_sec: (ns / 1_000_000_000).cast_signed(), tv_nsec: (ns % 1_000_000_000).cast_signed() }
    });
    // An error (a signal of somebody's) is a sleep that was too short.
    let _ = poll(&mut [PollFd::from_borrowed_fd(socket.as_fd(), what)], limit.as_ref());
}

/// The process that stops.
struct Server<'a> {
    socket: &'a OwnedFd,
    /// There from the first stop on.
    stopper: Option<Stopper>,
    /// Requests whose outcome has not been sent.
    ordered: Vec<u64>,
    /// The stopper has not been woken for all that are to go on.
    resumed: bool,
    armed: bool,
}

/// Carries out orders until the other side has ended; everything goes on then. Says whether it has
/// been told to look after what the other side leaves ([`Remote::arm`]).
pub fn serve(socket: &OwnedFd) -> bool {
    let mut server = Server { socket, stopper: None, ordered: Vec::new(), resumed: false, armed: false };
    let mut buffer = Vec::new();
    loop {
        match receive(socket, &mut buffer) {
            Ok(Some(order)) => server.obey(order),
            // Several orders that have come together wake the stopper once.
            Ok(None) if server.carry_out() => {}
            Ok(None) => wait(socket, PollFlags::IN, None),
            Err(_) => return server.armed,
        }
    }
}

impl Server<'_> {
    fn obey(&mut self, order: Order) {
        match order {
            Order::Arm => self.armed = true,
            Order::Stop(request, key, group) => self.order(request, key, group),
            Order::Resume(key) => {
                if let Some(stopper) = &self.stopper {
                    stopper.resume_soon(key);
                    self.resumed = true;
                }
            }
            Order::ResumeAll => {
                self.stopper = None;
                self.ordered.clear();
                self.answer(&Answer::Resumed);
            }
            Order::Renew => {
                let news = self.stopper.as_ref().map(Stopper::renew).unwrap_or_default();
                self.answer(&Answer::News(news));
            }
        }
    }

    fn order(&mut self, request: u64, key: u64, group: Group) {
        if self.stopper.is_none() {
            self.stopper = Stopper::start().ok();
        }
        if let Some(stopper) = &self.stopper {
            stopper.order(key, group);
            self.ordered.push(request);
        } else {
            let reason = "the thread that stops programs cannot be started".to_owned();
            self.answer(&Answer::Outcome(request, key, Outcome::Unstoppable(reason)));
        }
    }

    /// Wakes the stopper for what it has been told. False: for nothing.
    fn carry_out(&mut self) -> bool {
        let Some(stopper) = self.stopper.as_ref().filter(|_| self.resumed || !self.ordered.is_empty()) else {
            return false;
        };
        if std::mem::take(&mut self.resumed) {
            stopper.go();
        }
        let outcomes = stopper.outcomes();
        for (request, (key, outcome)) in std::mem::take(&mut self.ordered).into_iter().zip(outcomes) {
            self.answer(&Answer::Outcome(request, key, outcome));
        }
        true
    }

    /// The other side reads whenever it waits for us. One that does not is frozen, and asks again
    /// when it goes on.
    fn answer(&self, answer: &Answer) {
        let until = monotonic_ns() + SLACK_NS;
        while send(self.socket, answer) == Err(Errno::AGAIN) && monotonic_ns() < until {
            wait(self.socket, PollFlags::OUT, Some(until));
        }
    }
}

/// The manager's side. Dropped, everything goes on.
#[derive(Debug)]
pub struct Remote {
    socket: OwnedFd,
    /// The process that stops, as a child of this one; `None`: a thread.
    process: Option<Watcher>,
    buffer: Vec<u8>,
    /// The latest request for each group that is stopped, or may yet be. A message about an older
    /// request, or about none, is not true any more.
    requests: BTreeMap<u64, u64>,
    requests_made: u64,
    /// Stops that were ordered and whose outcome nobody has asked for: group and request.
    ordered: Vec<(u64, u64)>,
    /// Answers that nobody has looked at.
    unheard: VecDeque<Answer>,
    news: VecDeque<News>,
    /// Since then the lease has been renewed without an answer, `CLOCK_MONOTONIC` nanoseconds.
    unanswered_ns: Option<u64>,
    ended: bool,
}

impl Remote {
    /// `socket` leads to `process`, which is in [`serve`]: both by [`crate::detach::fork_watcher`].
    pub fn new((socket, process): (OwnedFd, Watcher)) -> Self {
        Self::of(socket, Some(process))
    }

    /// A stopper in a thread of this process, which is frozen with it. For tests of a manager's
    /// parts.
    pub fn in_this_process() -> Result<Self, HostError> {
        let (theirs, ours) = socket::pair()?;
        std::thread::spawn(move || serve(&theirs));
        Ok(Self::of(ours, None))
    }

    fn of(socket: OwnedFd, process: Option<Watcher>) -> Self {
        Self {
            socket,
            process,
            buffer: Vec::new(),
            requests: BTreeMap::new(),
            requests_made: 0,
            ordered: Vec::new(),
            unheard: VecDeque::new(),
            news: VecDeque::new(),
            unanswered_ns: None,
            ended: false,
        }
    }

    /// From here on the other process has something to look after when this one ends.
    pub fn arm(&mut self) {
        self.tell(&Order::Arm);
    }

    /// Sends an order. Answers are read meanwhile: the other side may be waiting for that.
    fn tell(&mut self, order: &Order) {
        let until = monotonic_ns() + LEASE_NS;
        while !self.ended {
            match send(&self.socket, order) {
                Ok(()) => return,
                Err(Errno::AGAIN) if monotonic_ns() < until => match receive(&self.socket, &mut self.buffer) {
                    Ok(Some(answer)) => {
                        self.unanswered_ns = None;
                        self.unheard.push_back(answer);
                    }
                    Ok(None) => wait(&self.socket, PollFlags::IN | PollFlags::OUT, Some(until)),
                    Err(_) => self.give_up(),
                },
                // It is gone, or frozen.
                Err(_) => self.give_up(),
            }
        }
    }

    /// Without its process everything runs, by the kernel.
    fn give_up(&mut self) {
        self.ended = true;
        if let Some(process) = &self.process {
            process.kill();
        }
        let stopped = std::mem::take(&mut self.requests);
        self.news.extend(stopped.into_keys().map(|key| News::Unstoppable(key, ENDED.to_owned())));
    }

    /// Orders a stop of `group` under the number `key`; a group that is stopped already is gone
    /// through again. [`Self::outcomes`] says what has become of it.
    pub fn order(&mut self, key: u64, mut group: Group) {
        // Whoever gives the orders goes on, also below a shell whose programs are stopped.
        group.tree.iter_mut().for_each(|except| except.extend([std::process::id()]));
        self.requests_made += 1;
        self.requests.insert(key, self.requests_made);
        self.ordered.push((key, self.requests_made));
        self.tell(&Order::Stop(self.requests_made, key, group));
    }

    /// What has become of the stops ordered since the latest call, by their groups. Returns when
    /// all threads are stopped, or after 30 ms at most for each, and a little for all.
    pub fn outcomes(&mut self) -> Vec<(u64, Outcome)> {
        let ordered = std::mem::take(&mut self.ordered);
        let until = monotonic_ns() + PATIENCE_NS * ordered.len() as u64 + SLACK_NS;
        let mut outcomes = BTreeMap::new();
        while outcomes.len() < ordered.len() && !self.ended {
            match self.hear(until) {
                Some(Answer::Outcome(request, key, outcome)) => {
                    if ordered.binary_search_by_key(&request, |(_, request)| *request).is_ok() {
                        if matches!(outcome, Outcome::Unstoppable(_)) && self.requests.get(&key) == Some(&request) {
                            self.requests.remove(&key);
                        }
                        outcomes.insert(request, outcome);
                    } else {
                        self.note_late(request, key, outcome);
                    }
                }
                Some(Answer::News(news)) => self.note(news),
                Some(Answer::Resumed) => {}
                None => break,
            }
        }
        let rest = if self.ended { Outcome::Unstoppable(ENDED.to_owned()) } else { Outcome::Pending };
        ordered
            .into_iter()
            .map(|(key, request)| (key, outcomes.remove(&request).unwrap_or_else(|| rest.clone())))
            .collect()
    }

    /// Stops a group, and waits as [`Self::outcomes`] does.
    pub fn stop(&mut self, key: u64, group: Group) -> Outcome {
        self.order(key, group);
        let found = self.outcomes().into_iter().find(|(of, _)| *of == key);
        found.map_or_else(|| Outcome::Unstoppable(ENDED.to_owned()), |(_, outcome)| outcome)
    }

    /// Lets the group go on. Returns at once.
    pub fn resume(&mut self, key: u64) {
        self.requests.remove(&key);
        self.tell(&Order::Resume(key));
    }

    /// Renews the lease, to be called about once a second while something is stopped. Returns the
    /// news since the latest call.
    pub fn renew(&mut self) -> Vec<News> {
        let now = monotonic_ns();
        // A frozen process would hold what it has stopped; its death lets everything go.
        if self.unanswered_ns.is_some_and(|since| now.saturating_sub(since) > LEASE_NS) {
            self.give_up();
        }
        self.tell(&Order::Renew);
        self.unanswered_ns.get_or_insert(now);
        while let Some(answer) = self.hear(now + SLACK_NS) {
            match answer {
                Answer::Outcome(request, key, outcome) => self.note_late(request, key, outcome),
                Answer::Resumed => {}
                Answer::News(news) => {
                    self.note(news);
                    break;
                }
            }
        }
        self.news.drain(..).collect()
    }

    /// An answer that comes until then.
    fn hear(&mut self, until_ns: u64) -> Option<Answer> {
        if let Some(answer) = self.unheard.pop_front() {
            return Some(answer);
        }
        while !self.ended {
            match receive(&self.socket, &mut self.buffer) {
                Ok(Some(answer)) => {
                    self.unanswered_ns = None;
                    return Some(answer);
                }
                Ok(None) if monotonic_ns() >= until_ns => return None,
                Ok(None) => wait(&self.socket, PollFlags::IN, Some(until_ns)),
                Err(_) => self.give_up(),
            }
        }
        None
    }

    /// The outcome of a request that nobody waits for any more.
    fn note_late(&mut self, request: u64, key: u64, outcome: Outcome) {
        if let Outcome::Unstoppable(reason) = outcome
            && self.requests.get(&key) == Some(&request)
        {
            self.requests.remove(&key);
            self.news.push_back(News::Unstoppable(key, reason));
        }
    }

    fn note(&mut self, news: Vec<News>) {
        for one in news {
            match one {
                News::Unstoppable(key, reason) if self.requests.remove(&key).is_some() => {
                    self.news.push_back(News::Unstoppable(key, reason));
                }
                News::Unstoppable(..) => {}
                News::Lapsed => self.news.push_back(News::Lapsed),
            }
        }
    }

    /// Lets everything go, and waits for that, a second at most.
    pub fn resume_all(&mut self) {
        self.requests.clear();
        self.tell(&Order::ResumeAll);
        let until = monotonic_ns() + FAREWELL_NS;
        while let Some(answer) = self.hear(until) {
            if matches!(answer, Answer::Resumed) {
                break;
            }
        }
    }
}

#[cfg(test)]
#[path = "remote_tests.rs"]
mod tests;
