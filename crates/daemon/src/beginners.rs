//! Programs that have just begun on all processors that they may have, because nobody answers their
//! questions: they are to size themselves by these before they are moved onto their application's
//! share.
//!
//! A program has begun when it has used some processor time: then its runtime has counted. One that
//! does nothing is in nobody's way.

use std::collections::BTreeMap;

use numaestro_host::{monotonic_ns, procfs};

use crate::wakeups::{Due, Wakeups};

/// Processor time in which a program starts.
const START_NS: u64 = 100_000_000;
/// From one look at a program to the next.
const LOOK_NS: u64 = 50_000_000;
/// It is moved then at the latest.
const LONGEST_NS: u64 = 2_000_000_000;

/// A process that begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Beginner {
    /// With the process id, the process.
    start_time: u64,
    /// Processor time that it had used before, nanoseconds.
    used_ns: u64,
    until_ns: u64,
}

/// See the file's header.
#[derive(Debug, Default)]
pub(crate) struct Beginners {
    by_pid: BTreeMap<u32, Beginner>,
}

fn used_ns(pid: u32) -> u64 {
    procfs::thread_times(pid).unwrap_or_default().iter().map(|(_, time, _)| time).sum()
}

impl Beginners {
    /// A process is about to become another program.
    pub(crate) fn begin(&mut self, pid: u32, wakeups: &mut Wakeups) {
        let Ok(stat) = procfs::stat(pid) else { return };
        let now = monotonic_ns();
        let beginner = Beginner { start_time: stat.start_time, used_ns: used_ns(pid), until_ns: now + LONGEST_NS };
        self.by_pid.insert(pid, beginner);
        wakeups.set_earlier(Due::Beginners, now + LOOK_NS);
    }

    /// It is not to be moved yet.
    pub(crate) fn has(&self, pid: u32) -> bool {
        self.by_pid.contains_key(&pid)
    }

    /// Processes that have begun since the latest look, and still live.
    pub(crate) fn take_begun(&mut self, wakeups: &mut Wakeups) -> Vec<u32> {
        let now = monotonic_ns();
        let mut begun = Vec::new();
        self.by_pid.retain(|pid, beginner| {
            if procfs::stat(*pid).map(|stat| stat.start_time).ok() != Some(beginner.start_time) {
                return false;
            }
            // One thread's time starts anew with another program; the process's does not.
            let starts = now < beginner.until_ns && used_ns(*pid).saturating_sub(beginner.used_ns) < START_NS;
            if !starts {
                begun.push(*pid);
            }
            starts
        });
        if !self.by_pid.is_empty() {
            wakeups.set(Due::Beginners, now + LOOK_NS);
        }
        begun
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn a_program_has_begun_when_it_has_worked_or_time_is_over() {
        let mut wakeups = Wakeups::new().unwrap();
        let mut beginners = Beginners::default();
        let spawn = |script: &str| Command::new("sh").args(["-c", script]).spawn().unwrap();
        let (mut works, mut sleeps) = (spawn("while :; do :; done"), spawn("exec sleep 100"));
        for child in [&works, &sleeps] {
            beginners.begin(child.id(), &mut wakeups);
        }
        assert!(beginners.has(works.id()) && beginners.has(sleeps.id()));
        let mut begun = Vec::new();
        while begun.is_empty() {
            begun = beginners.take_begun(&mut wakeups);
            std::thread::yield_now();
        }
        assert_eq!(begun, [works.id()], "who sleeps goes on beginning");
        beginners.by_pid.get_mut(&sleeps.id()).unwrap().until_ns = 0;
        assert_eq!(beginners.take_begun(&mut wakeups), [sleeps.id()]);
        assert!(beginners.by_pid.is_empty());
        beginners.begin(sleeps.id(), &mut wakeups);
        for child in [&mut works, &mut sleeps] {
            child.kill().unwrap();
            child.wait().unwrap();
        }
        assert!(beginners.take_begun(&mut wakeups).is_empty() && beginners.by_pid.is_empty(), "it has ended");
    }
}
