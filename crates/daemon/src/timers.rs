//! Everything that is due at some time, in one ordered set: the manager has one kernel timer and sleeps until the earliest.
//! It must not know a clock.

use std::collections::{BTreeMap, BTreeSet};

/// What is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Due {
    /// How many processors a program without a page can use.
    Demand(u64),
    /// Whether applications are in sequential phases.
    Phases,
    /// Whether load that is not managed is there.
    Foreign,
    /// News for those who watch.
    Watch,
    /// The state file.
    Save,
    /// Nobody has needed the manager for a while.
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
    /// Groups that somebody was still in are removed.
    Sweep,
    /// Whether memory that programs are bound to is nearly full.
    Nodes,
    /// Notices of executed programs have gathered.
    Execs,
    /// Programs that may have to be adopted are looked at.
    Candidates,
    /// All processes are looked through for such programs.
    Scan,
    /// Processes that have outlived their application are given their affinity back.
    Strays,
    /// Connections can perhaps be accepted again.
    Accept,
}

/// At most one time for each thing that can be due.
#[derive(Debug, Default)]
pub(crate) struct Timers {
    order: BTreeSet<(u64, Due)>,
    times: BTreeMap<Due, u64>,
}

impl Timers {
    /// Sets, or moves.
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

    /// The earliest time.
    pub(crate) fn next(&self) -> Option<u64> {
        self.order.first().map(|entry| entry.0)
    }

    /// Takes out the earliest that is due at `now_ns`.
    pub(crate) fn pop(&mut self, now_ns: u64) -> Option<Due> {
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
        let mut timers = Timers::default();
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
