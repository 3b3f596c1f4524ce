//! Programs that have just begun on all processors that they may have, because nobody answers their
//! questions: they are to size themselves by these before they are moved onto their application's
//! share.
//!
//! A process says so before it becomes such a program, and waits a moment until the manager knows.
//! Where it cannot reach the manager (a sandbox with another root), the program's environment names
//! the share that it left (`NUMAESTRO_CPUS_NOW`). Before it is that program, it shows one thing
//! only: it has left the set that the manager had put it on, for all that it may have.
//!
//! A program has begun when it has used some processor time: then its runtime has counted. One that
//! does nothing is in nobody's way.

use std::collections::BTreeMap;

use numaestro_host::affinity::Found;
use numaestro_host::{monotonic_ns, procfs};
use numaestro_topology::CpuSet;

use crate::senses::given::CPUS_NOW;
use crate::wakeups::{ShellDue, Wakeups};

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
    /// Processes that have begun, with their start times. Their environment says it only once.
    begun: BTreeMap<u32, u64>,
    /// Somebody has been found, and the next look is not set.
    found: bool,
}

fn used_ns(pid: u32) -> u64 {
    procfs::thread_times(pid).unwrap_or_default().iter().map(|(_, time, _)| time).sum()
}

impl Beginners {
    /// A process is about to become another program.
    pub(crate) fn begin(&mut self, pid: u32, wakeups: &mut Wakeups) {
        let Ok(stat) = procfs::stat(pid) else { return };
        self.insert(pid, stat.start_time);
        wakeups.set_earlier(ShellDue::Beginners, monotonic_ns() + LOOK_NS);
    }

    /// It is not to be moved to `next` yet. `whole`: what its application may have; `put`: the set
    /// that the manager has put this thread on, or the process that has started it.
    pub(crate) fn begins<'a>(
        &mut self,
        found: Found<'_>,
        whole: &CpuSet,
        next: &CpuSet,
        put: impl FnOnce() -> Option<&'a CpuSet>,
    ) -> bool {
        if self.has(found.pid) {
            return true;
        }
        // The environment is read only where the program would lose something.
        if next.is_empty() || whole.is_subset(next) || !whole.is_subset(found.mask) {
            return false;
        }
        let Ok(stat) = procfs::stat(found.pid) else { return false };
        let left_its_set = found.tid == found.pid && put().is_some_and(|put| !whole.is_subset(put));
        let says_so = || procfs::variables(found.pid, [CPUS_NOW]).is_ok_and(|[now]| now.is_some());
        if self.begun.get(&found.pid) == Some(&stat.start_time) || !(left_its_set || says_so()) {
            return false;
        }
        self.insert(found.pid, stat.start_time);
        self.found = true;
        true
    }

    fn insert(&mut self, pid: u32, start_time: u64) {
        self.begun.retain(|pid, start_time| procfs::stat(*pid).is_ok_and(|stat| stat.start_time == *start_time));
        self.begun.insert(pid, start_time);
        let until_ns = monotonic_ns() + LONGEST_NS;
        self.by_pid.insert(pid, Beginner { start_time, used_ns: used_ns(pid), until_ns });
    }

    /// Sets the next look at programs that were found by their environment.
    pub(crate) fn watch(&mut self, wakeups: &mut Wakeups) {
        if std::mem::take(&mut self.found) {
            wakeups.set_earlier(ShellDue::Beginners, monotonic_ns() + LOOK_NS);
        }
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
            wakeups.set(ShellDue::Beginners, now + LOOK_NS);
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

    #[test]
    fn who_cannot_say_so_begins_once_by_its_environment() {
        let mut beginners = Beginners::default();
        let spawn = |name: &str| Command::new("sleep").arg("100").env(name, "0").spawn().unwrap();
        let (mut says, mut silent) = (spawn(CPUS_NOW), spawn("OTHER"));
        let (whole, share): (CpuSet, CpuSet) = ("0-1".parse().unwrap(), "0".parse().unwrap());
        let begins = |beginners: &mut Beginners, child: &std::process::Child, mask: &CpuSet, next: &CpuSet| {
            beginners.begins(Found { pid: child.id(), tid: child.id(), mask }, &whole, next, || Some(&whole))
        };
        assert!(!begins(&mut beginners, &says, &whole, &whole), "it loses nothing");
        assert!(!begins(&mut beginners, &says, &share, &share), "it is on its share already");
        assert!(!begins(&mut beginners, &silent, &whole, &share));
        // Its environment is the new program's when it has become that.
        let until = monotonic_ns() + LONGEST_NS;
        while !begins(&mut beginners, &says, &whole, &share) && monotonic_ns() < until {
            std::thread::yield_now();
        }
        assert!(beginners.has(says.id()) && beginners.found);
        beginners.by_pid.clear();
        assert!(!begins(&mut beginners, &says, &whole, &share), "it has begun");
        beginners.begun.clear();
        beginners.begin(says.id(), &mut Wakeups::new().unwrap());
        beginners.by_pid.clear();
        assert!(!begins(&mut beginners, &says, &whole, &share), "it has said so itself, and has begun");
        beginners.by_pid.clear();
        let found = Found { pid: silent.id(), tid: silent.id(), mask: &whole };
        assert!(!beginners.begins(found, &whole, &share, || None), "nobody knows where it was");
        assert!(beginners.begins(found, &whole, &share, || Some(&share)), "it has left its share");
        for child in [&mut says, &mut silent] {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }
}
