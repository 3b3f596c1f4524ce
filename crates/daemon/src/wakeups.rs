//! Everything that wakes the manager: descriptors that become ready, and times that come. The
//! manager has one epoll instance and one kernel timer, and sleeps until the earliest of both.
//!
//! A component says here what it watches, by a [`Source`] or a [`Due`]. Both say whether the shell
//! or the front looks after it, so that the loop passes each event to one of them.

use std::collections::{BTreeMap, BTreeSet};
use std::os::fd::AsFd;

use numaestro_host::HostError;
use numaestro_host::poll::{Interest, Poller, Ready, Timer};

/// Whose descriptor is ready.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Source {
    /// The timer of all times.
    Timer,
    /// Signals that end the manager, or have it read its settings again.
    Signal,
    Shell(ShellSource),
    Front(FrontSource),
}

/// Descriptors that the shell looks after.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ShellSource {
    /// Programs wait for processors.
    Pressure,
    /// The heaviest of the programs that are not managed.
    Foreign,
    /// Notices of processors that come and go.
    Processors,
    /// Files of cgroups that were written.
    Files,
    /// Reports of the mover of pages.
    Pages,
    /// The jobserver of this application.
    Jobserver(u64),
    /// The end of this application's process.
    Process(u64),
}

/// Descriptors that the front looks after.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FrontSource {
    /// Programs that connect.
    Attach,
    /// People that connect.
    Control,
    /// Notices of executed programs.
    Execs,
    /// The manager's directory.
    Place,
    /// Answers that a thread has made.
    Answers,
    /// The parent of this step of a job.
    Step(u64),
    /// A scraper of the metrics page; 0: one that connects.
    Metrics(u64),
    /// This connection.
    Connection(u64),
}

/// The lower bits of a token are a number, the upper ones the kind of its source.
const NUMBER_BITS: u32 = 56;

impl Source {
    /// As the poller keeps it.
    fn token(self) -> u64 {
        let (kind, number) = match self {
            Self::Timer => (1, 0),
            Self::Signal => (2, 0),
            Self::Shell(ShellSource::Pressure) => (3, 0),
            Self::Shell(ShellSource::Foreign) => (4, 0),
            Self::Shell(ShellSource::Processors) => (5, 0),
            Self::Shell(ShellSource::Files) => (6, 0),
            Self::Shell(ShellSource::Pages) => (7, 0),
            Self::Shell(ShellSource::Jobserver(app)) => (8, app),
            Self::Shell(ShellSource::Process(app)) => (9, app),
            Self::Front(FrontSource::Attach) => (10, 0),
            Self::Front(FrontSource::Control) => (11, 0),
            Self::Front(FrontSource::Execs) => (12, 0),
            Self::Front(FrontSource::Place) => (13, 0),
            Self::Front(FrontSource::Answers) => (14, 0),
            Self::Front(FrontSource::Step(step)) => (15, step),
            Self::Front(FrontSource::Metrics(scraper)) => (16, scraper),
            Self::Front(FrontSource::Connection(connection)) => (17, connection),
        };
        debug_assert!(Self::all(number).contains(&self), "nobody would find {self:?} again");
        kind << NUMBER_BITS | number
    }

    /// Whose descriptor this is; `None`: nobody's.
    pub(crate) fn of(ready: &Ready) -> Option<Self> {
        let number = ready.token & ((1 << NUMBER_BITS) - 1);
        Self::all(number).into_iter().find(|source| source.token() == ready.token)
    }

    /// One of each kind; those that have a number have this one.
    fn all(number: u64) -> [Self; 17] {
        [
            Self::Timer,
            Self::Signal,
            Self::Shell(ShellSource::Pressure),
            Self::Shell(ShellSource::Foreign),
            Self::Shell(ShellSource::Processors),
            Self::Shell(ShellSource::Files),
            Self::Shell(ShellSource::Pages),
            Self::Shell(ShellSource::Jobserver(number)),
            Self::Shell(ShellSource::Process(number)),
            Self::Front(FrontSource::Attach),
            Self::Front(FrontSource::Control),
            Self::Front(FrontSource::Execs),
            Self::Front(FrontSource::Place),
            Self::Front(FrontSource::Answers),
            Self::Front(FrontSource::Step(number)),
            Self::Front(FrontSource::Metrics(number)),
            Self::Front(FrontSource::Connection(number)),
        ]
    }
}

impl From<ShellSource> for Source {
    fn from(source: ShellSource) -> Self {
        Self::Shell(source)
    }
}

impl From<FrontSource> for Source {
    fn from(source: FrontSource) -> Self {
        Self::Front(source)
    }
}

/// A task of the shell that is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ShellDue {
    /// A look how many processors a program without a page can use.
    Demand(u64),
    /// A look for lost tokens of a build's jobserver.
    Jobs(u64),
    /// A look whether applications are in sequential phases.
    Phases,
    /// A look whether load that is not managed is there.
    Foreign,
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
    /// Processes that have outlived their application are given their affinity back.
    Strays,
    /// A look at programs that have just begun.
    Beginners,
    /// A look at masks that are pins, or may be.
    Pins,
}

/// A task of the front that is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum FrontDue {
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
    /// Notices of executed programs have gathered.
    Execs,
    /// Programs that may have to be adopted are looked at.
    Candidates,
    /// All processes are looked through for such programs.
    Scan,
    /// Connections can perhaps be accepted again.
    Accept,
    /// A look whether the manager's directory and sockets are still there.
    Place,
    /// Refusals that were not logged are counted in a line.
    Refusals,
}

/// A task that is due, and whose it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Due {
    Shell(ShellDue),
    Front(FrontDue),
}

impl From<ShellDue> for Due {
    fn from(due: ShellDue) -> Self {
        Self::Shell(due)
    }
}

impl From<FrontDue> for Due {
    fn from(due: FrontDue) -> Self {
        Self::Front(due)
    }
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
        poller.add(timer.as_fd(), Source::Timer.token(), Interest::Read)?;
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

    pub(crate) fn watch(&self, fd: &impl AsFd, source: impl Into<Source>, interest: Interest) -> Result<(), HostError> {
        self.poller.add(fd.as_fd(), source.into().token(), interest)
    }

    pub(crate) fn change(
        &self,
        fd: &impl AsFd,
        source: impl Into<Source>,
        interest: Interest,
    ) -> Result<(), HostError> {
        self.poller.change(fd.as_fd(), source.into().token(), interest)
    }

    /// Not watched any more; one that was not is no error.
    pub(crate) fn forget(&self, source: &impl AsFd) {
        let _ = self.poller.remove(source.as_fd());
    }

    /// Sets the time of a task, or moves it.
    pub(crate) fn set(&mut self, due: impl Into<Due>, at_ns: u64) {
        let due = due.into();
        self.clear(due);
        self.order.insert((at_ns, due));
        self.times.insert(due, at_ns);
    }

    /// Sets, unless it is set already.
    pub(crate) fn set_if_unset(&mut self, due: impl Into<Due>, at_ns: u64) {
        let due = due.into();
        if !self.times.contains_key(&due) {
            self.set(due, at_ns);
        }
    }

    /// Sets, or moves to an earlier time.
    pub(crate) fn set_earlier(&mut self, due: impl Into<Due>, at_ns: u64) {
        let due = due.into();
        if self.times.get(&due).is_none_or(|&present| at_ns < present) {
            self.set(due, at_ns);
        }
    }

    /// Not due any more.
    pub(crate) fn clear(&mut self, due: impl Into<Due>) {
        let due = due.into();
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
        timers.set(FrontDue::Watch, 30);
        timers.set(ShellDue::Phases, 20);
        timers.set(FrontDue::Watch, 10);
        timers.set_if_unset(ShellDue::Phases, 5);
        timers.set_earlier(ShellDue::Phases, 25);
        assert_eq!(timers.next(), Some(10));
        assert_eq!(timers.pop(9), None);
        assert_eq!(timers.pop(100), Some(FrontDue::Watch.into()));
        assert_eq!(timers.pop(100), Some(ShellDue::Phases.into()));
        assert_eq!(timers.pop(100), None);
        assert_eq!(timers.next(), None);
    }

    #[test]
    fn every_source_is_found_again() {
        let shell = [
            ShellSource::Pressure,
            ShellSource::Foreign,
            ShellSource::Processors,
            ShellSource::Files,
            ShellSource::Pages,
            ShellSource::Jobserver(7),
            ShellSource::Process(8),
        ];
        let front = [
            FrontSource::Attach,
            FrontSource::Control,
            FrontSource::Execs,
            FrontSource::Place,
            FrontSource::Answers,
            FrontSource::Step(9),
            FrontSource::Metrics(0),
            FrontSource::Connection(10),
        ];
        let all =
            shell.map(Source::from).into_iter().chain(front.map(Source::from)).chain([Source::Timer, Source::Signal]);
        for source in all {
            let ready = Ready { token: source.token(), readable: true, writable: false, priority: false };
            assert_eq!(Source::of(&ready), Some(source));
        }
        assert_eq!(Source::of(&Ready { token: 0, readable: true, writable: false, priority: false }), None);
    }
}
