//! Everything that wakes the manager: descriptors that become ready, and times that come. The
//! manager has one epoll instance and one kernel timer, and sleeps until the earliest of both.
//!
//! A component says here what it watches, by a token or a [`Due`]; the manager's loop passes the
//! events back to it.

use std::collections::{BTreeMap, BTreeSet};
use std::os::fd::AsFd;

use numaestro_host::HostError;
use numaestro_host::poll::{Interest, Poller, Ready, Timer};

/// The meaning of a poller's token: the upper bits; the lower ones are a number.
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
    pub(crate) const PLACE: u64 = 11;
    pub(crate) const ANSWERS: u64 = 12;
    /// The parent of a step of a job; plus its process id.
    pub(crate) const STEP: u64 = 1 << 59;
    /// The jobserver of a build; plus the number of the application.
    pub(crate) const JOBSERVER: u64 = 1 << 60;
    /// The metrics page; plus the number of the scraper.
    pub(crate) const METRICS: u64 = 1 << 61;
    /// Plus the number of the connection.
    pub(crate) const CONNECTION: u64 = 1 << 62;
    /// Plus the number of the application.
    pub(crate) const PROCESS: u64 = 1 << 63;
}

/// A task that is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Due {
    /// A look how many processors a program without a page can use.
    Demand(u64),
    /// A look for lost tokens of a build's jobserver.
    Jobs(u64),
    /// A look whether applications are in sequential phases.
    Phases,
    /// A look whether load that is not managed is there.
    Foreign,
    /// A status for connections that watch.
    Watch,
    /// The state file.
    Save,
    /// The manager has had no program and no connection for a while.
    Idle,
    /// The service manager wants a sign of life.
    Life,
    /// The service manager's line of status.
    Line,
    /// Slow readers of the metrics page are cut off.
    Metrics,
    /// The stopper hears that the manager lives.
    Lease,
    /// Programs that could not be stopped are tried again.
    Unstoppable,
    /// A program is moved into its cpuset.
    Cpuset(u64),
    /// Groups that still had processes are removed.
    Sweep,
    /// A look whether memory that programs are bound to is nearly full.
    Nodes,
    /// Notices of executed programs have gathered.
    Execs,
    /// Programs that may have to be adopted are looked at.
    Candidates,
    /// All processes are looked through for such programs.
    Scan,
    /// Processes that have outlived their application are given their affinity back.
    Strays,
    /// A look at programs that have just begun.
    Beginners,
    /// A look at masks that are pins, or may be.
    Pins,
    /// Connections can perhaps be accepted again.
    Accept,
    /// A look whether the manager's directory and sockets are still there.
    Place,
    /// Refusals that were not logged are counted in a line.
    Refusals,
}

/// See the file's header.
#[derive(Debug)]
pub(crate) struct Wakeups {
    poller: Poller,
    timer: Timer,
    /// The tasks that are due, in order of their times, nanoseconds.
    order: BTreeSet<(u64, Due)>,
    /// At most one time for each thing that can be due.
    times: BTreeMap<Due, u64>,
}

impl Wakeups {
    pub(crate) fn new() -> Result<Self, HostError> {
        let (poller, timer) = (Poller::new()?, Timer::new()?);
        poller.add(timer.as_fd(), token::TIMER, Interest::Read)?;
        Ok(Self { poller, timer, order: BTreeSet::new(), times: BTreeMap::new() })
    }

    /// Sleeps until a descriptor is ready or a time has come; `deadline`: one more time,
    /// nanoseconds.
    pub(crate) fn wait(&mut self, deadline: Option<u64>, ready: &mut Vec<Ready>) -> Result<(), HostError> {
        self.timer.arm([self.next(), deadline].into_iter().flatten().min())?;
        ready.clear();
        self.poller.wait(ready)
    }

    /// The same without sleep: there is something to do in any case.
    pub(crate) fn look(&mut self, deadline: Option<u64>, ready: &mut Vec<Ready>) -> Result<(), HostError> {
        self.timer.arm([self.next(), deadline].into_iter().flatten().min())?;
        ready.clear();
        self.poller.look(ready)
    }

    /// Everything whose time has come. A handler may set itself again for a time that has passed
    /// meanwhile; this task comes the next time.
    pub(crate) fn take_due(&mut self, now_ns: u64) -> Vec<Due> {
        self.timer.clear();
        std::iter::from_fn(|| self.pop(now_ns)).collect()
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

    /// Sets the time of a task, or moves it.
    pub(crate) fn set(&mut self, due: Due, at_ns: u64) {
        self.clear(due);
        self.order.insert((at_ns, due));
        self.times.insert(due, at_ns);
    }

    /// Sets, unless it is set already.
    pub(crate) fn set_if_unset(&mut self, due: Due, at_ns: u64) {
        if !self.times.contains_key(&due) {
            self.set(due, at_ns);
        }
    }

    /// Sets, or moves to an earlier time.
    pub(crate) fn set_earlier(&mut self, due: Due, at_ns: u64) {
        if self.times.get(&due).is_none_or(|&present| at_ns < present) {
            self.set(due, at_ns);
        }
    }

    /// Not due any more.
    pub(crate) fn clear(&mut self, due: Due) {
        if let Some(at_ns) = self.times.remove(&due) {
            self.order.remove(&(at_ns, due));
        }
    }

    /// The earliest time, nanoseconds.
    fn next(&self) -> Option<u64> {
        self.order.first().map(|entry| entry.0)
    }

    /// Takes out the earliest that is due at `now_ns`.
    fn pop(&mut self, now_ns: u64) -> Option<Due> {
        let (at_ns, due) = *self.order.first()?;
        if at_ns > now_ns {
            return None;
        }
        self.clear(due);
        Some(due)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_thing_once_and_in_order() {
        let mut timers = Wakeups::new().unwrap();
        timers.set(Due::Watch, 30);
        timers.set(Due::Phases, 20);
        timers.set(Due::Watch, 10);
        timers.set_if_unset(Due::Phases, 5);
        timers.set_earlier(Due::Phases, 25);
        assert_eq!(timers.next(), Some(10));
        assert_eq!(timers.pop(9), None);
        assert_eq!(timers.pop(100), Some(Due::Watch));
        assert_eq!(timers.pop(100), Some(Due::Phases));
        assert_eq!(timers.pop(100), None);
        assert_eq!(timers.next(), None);
    }
}
