//! The sets of processors that an application was told to be on, as far as some of its threads may
//! still be there.
//!
//! A thread that was being made while its application moved has its maker's former mask, and nobody
//! could move it: the kernel shows it only when it is complete. So a set that was left counts
//! further for threads that were born until a moment later.

use numaestro_host::{boot_ns, procfs};
use numaestro_topology::CpuSet;

/// Sets that may be in force at once: on a busy machine many decisions pass before an application
/// has carried the first of them out.
const SETS_MOST: usize = 32;
/// From the copy of the maker's mask to the birth that the kernel tells. Whoever makes a thread may
/// have to wait for a processor in between.
const BIRTH_NS: u64 = 1_000_000_000;

/// See the file's header.
#[derive(Debug, Clone, Default)]
pub(crate) struct Told {
    /// The latest last; empty: not known.
    sets: Vec<CpuSet>,
    /// Sets that were left by the latest move, and by earlier ones as long as a birth takes; with
    /// the time of the move, nanoseconds since boot.
    left: Vec<(CpuSet, u64)>,
}

impl Told {
    /// It may be on any of these, the latest last. Older ones than the last few do not count.
    pub(crate) fn any(mut sets: Vec<CpuSet>) -> Self {
        sets.drain(..sets.len().saturating_sub(SETS_MOST - 1));
        Self { sets, ..Self::default() }
    }

    /// It is to be on this set.
    pub(crate) fn tell(&mut self, cpus: &CpuSet) {
        self.sets.retain(|known| known != cpus);
        self.sets.push(cpus.clone());
        if self.sets.len() > SETS_MOST {
            self.sets.remove(0);
        }
    }

    /// All of its threads are on the latest set.
    pub(crate) fn settle(&mut self) {
        if self.sets.len() > 1 {
            let left = self.sets.drain(..self.sets.len() - 1).collect();
            self.leave(left);
        }
    }

    /// Threads of it may have been made on these sets until now.
    pub(crate) fn leave(&mut self, sets: Vec<CpuSet>) {
        let now = boot_ns();
        self.left.retain(|(set, left_ns)| now < left_ns + BIRTH_NS && !sets.contains(set));
        self.left.extend(sets.into_iter().map(|set| (set, now)));
        self.left.drain(..self.left.len().saturating_sub(SETS_MOST));
    }

    /// Sets that any of its threads may be on; `None`: not known.
    pub(crate) fn sets(&self) -> Option<&[CpuSet]> {
        Some(&self.sets[..]).filter(|sets| !sets.is_empty())
    }

    /// All sets that any of its threads may be on, for a next manager.
    pub(crate) fn all(&self) -> Vec<CpuSet> {
        self.left.iter().map(|(set, _)| set).chain(&self.sets).cloned().collect()
    }

    /// A thread that was never seen before may have been made while its maker was on this set.
    /// `start_time`: ticks from boot to its birth.
    pub(crate) fn was_in_force_at_birth(&self, mask: &CpuSet, start_time: impl FnOnce() -> Option<u64>) -> bool {
        let left = self.left.iter().find(|(set, _)| set == mask);
        left.is_some_and(|(_, left_ns)| {
            start_time().is_some_and(|ticks| ticks * procfs::tick_ns() < left_ns + BIRTH_NS)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_that_was_left_counts_for_threads_that_were_being_made() {
        let (former, latest): (CpuSet, CpuSet) = ("0".parse().unwrap(), "1".parse().unwrap());
        let mut told = Told::any(vec![former.clone()]);
        let born = || procfs::stat(std::process::id()).ok().map(|stat| stat.start_time);
        told.tell(&latest);
        assert_eq!(told.sets().map(<[CpuSet]>::len), Some(2));
        assert!(!told.was_in_force_at_birth(&former, born), "nobody has left it");
        told.settle();
        assert_eq!(told.sets(), Some(&[latest.clone()][..]));
        assert!(told.was_in_force_at_birth(&former, born), "this thread was born before");
        assert!(!told.was_in_force_at_birth(&latest, born), "that one was not left");
        told.settle();
        assert!(told.was_in_force_at_birth(&former, born), "nothing new is no news");
        told.tell(&"2".parse().unwrap());
        told.settle();
        assert!(told.was_in_force_at_birth(&former, born), "a second move comes before it is born");
        assert!(told.was_in_force_at_birth(&latest, born));
        told.left[0].1 = (born().unwrap() * procfs::tick_ns()).saturating_sub(BIRTH_NS);
        assert!(!told.was_in_force_at_birth(&former, born), "this thread was born later");
        told.tell(&"3".parse().unwrap());
        told.settle();
        assert!(told.left.iter().all(|(set, _)| *set != former), "nobody is being made there any more");
    }
}
