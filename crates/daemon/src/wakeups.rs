//! Everything that wakes the manager: descriptors that become ready, and times that come. The
//! manager has one epoll instance and one kernel timer, and sleeps until the earliest of both.
//!
//! A component says here what it watches, by a token or a [`Due`]; the manager's loop passes what
//! has happened back to it.

use std::os::fd::AsFd;

use numaestro_host::HostError;
use numaestro_host::poll::{Interest, Poller, Ready, Timer};

use crate::timers::{Due, Timers};

/// What a token of the poller stands for: the upper bits; the lower ones are a number.
pub(crate) mod token {
    pub(crate) const ATTACH: u64 = 1;
    pub(crate) const CONTROL: u64 = 2;
    pub(crate) const TIMER: u64 = 3;
    pub(crate) const SIGNAL: u64 = 4;
    pub(crate) const PRESSURE: u64 = 5;
    pub(crate) const FOREIGN: u64 = 6;
    pub(crate) const EXECS: u64 = 7;
    pub(crate) const PROCESSORS: u64 = 8;
    pub(crate) const FILES: u64 = 9;
    pub(crate) const PAGES: u64 = 10;
    /// The metrics page; plus the number of the scraper.
    pub(crate) const METRICS: u64 = 1 << 61;
    /// Plus the number of the connection.
    pub(crate) const CONNECTION: u64 = 1 << 62;
    /// Plus the number of the application.
    pub(crate) const PROCESS: u64 = 1 << 63;
}

/// See the file's header.
#[derive(Debug)]
pub(crate) struct Wakeups {
    poller: Poller,
    timer: Timer,
    timers: Timers,
}

impl Wakeups {
    pub(crate) fn new() -> Result<Self, HostError> {
        let (poller, timer) = (Poller::new()?, Timer::new()?);
        poller.add(timer.as_fd(), token::TIMER, Interest::Read)?;
        Ok(Self { poller, timer, timers: Timers::default() })
    }

    /// Sleeps until a descriptor is ready or a time has come; `deadline`: one more time,
    /// nanoseconds.
    pub(crate) fn wait(&mut self, deadline: Option<u64>, ready: &mut Vec<Ready>) -> Result<(), HostError> {
        self.timer.arm([self.timers.next(), deadline].into_iter().flatten().min())?;
        ready.clear();
        self.poller.wait(ready)
    }

    /// Everything whose time has come. A handler may set itself again for a time that has passed
    /// meanwhile; that comes the next time.
    pub(crate) fn take_due(&mut self, now_ns: u64) -> Vec<Due> {
        self.timer.clear();
        std::iter::from_fn(|| self.timers.pop(now_ns)).collect()
    }

    pub(crate) fn watch(&self, source: &impl AsFd, token: u64, interest: Interest) -> Result<(), HostError> {
        self.poller.add(source.as_fd(), token, interest)
    }

    pub(crate) fn change(&self, source: &impl AsFd, token: u64, interest: Interest) -> Result<(), HostError> {
        self.poller.change(source.as_fd(), token, interest)
    }

    /// Not watched any more; one that was not is no error.
    pub(crate) fn forget(&self, source: &impl AsFd) {
        let _ = self.poller.remove(source.as_fd());
    }

    /// Sets a time, nanoseconds, or moves it.
    pub(crate) fn set(&mut self, due: Due, at_ns: u64) {
        self.timers.set(due, at_ns);
    }

    /// Sets a time unless it is set already.
    pub(crate) fn set_if_unset(&mut self, due: Due, at_ns: u64) {
        self.timers.set_if_unset(due, at_ns);
    }

    /// Sets a time, or moves it to an earlier one.
    pub(crate) fn set_earlier(&mut self, due: Due, at_ns: u64) {
        self.timers.set_earlier(due, at_ns);
    }

    pub(crate) fn clear(&mut self, due: Due) {
        self.timers.clear(due);
    }
}
