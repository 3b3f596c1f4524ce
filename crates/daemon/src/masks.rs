//! Says which affinity masks are ours. A thread that has any other mask has been put where it is by
//! somebody else: by its program, a launcher, `taskset`. Such a mask is a *pin*, and nobody of ours
//! changes it.
//!
//! **A mask is ours** if it is one of these:
//! 1. a set that we have put the application on, and that may still be in force for some of its
//!    threads, or what the kernel makes of that set (offline processors and cpusets take some
//!    away);
//! 2. a set with every processor that the application may have: who takes everything is bound to
//!    nothing.
//!
//! **But it is a pin** also then, if it was one at an earlier look and is the same now; if the
//! thread is new, and its maker's mask is the same pin; or if the environment of its process
//! names that set and no more (a process that narrows itself says so there).
//!
//! It takes two looks with the same mask to tell a pin of a program that `run` has told everything:
//! a runtime that starts binds its thread here and there for a moment.
//!
//! The kernel does not say who has set a mask. A program that sets the very mask that it has,
//! without saying so, cannot be told from one that we have put there.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::PathBuf;

use numaestro_host::affinity::{self, Found};
use numaestro_host::procfs;
use numaestro_topology::CpuSet;
use serde::{Deserialize, Serialize};

use crate::given::given_by_user;

/// Sets that are remembered when nothing is known about the application of a process any more.
const SETS_MOST: usize = 64;
/// Threads that are known when those that have ended are forgotten first.
const TIDY_AT: usize = 512;

/// See the file's header.
#[derive(Debug)]
pub(crate) struct Masks {
    /// The socket that the environment of managed processes names.
    attach: PathBuf,
    /// Sets that applications were put on, the latest last.
    sets: VecDeque<CpuSet>,
    /// Threads that have been looked at; with the mask, if that is a pin.
    threads: BTreeMap<u32, Option<CpuSet>>,
    /// Masks that were no set of ours at one look, by thread.
    seen: BTreeMap<u32, CpuSet>,
    /// Number of threads at which those that have ended are forgotten.
    tidy_at: usize,
}

/// The part that a next manager has to know.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SavedMasks {
    /// See [`Masks::sets`].
    sets: Vec<CpuSet>,
    /// Pinned threads, with their masks.
    pins: Vec<(u32, CpuSet)>,
}

/// The sets that may be in force for the threads of one application.
#[derive(Debug, Clone, Copy)]
pub(crate) struct InForce<'a> {
    /// Every processor that the application may have.
    pub(crate) whole: &'a CpuSet,
    /// Sets that it was put on. `None`: not known; any set that was used lately.
    pub(crate) sets: Option<&'a [CpuSet]>,
    /// The set that its threads are about to have.
    pub(crate) next: &'a CpuSet,
}

impl Masks {
    pub(crate) fn new(attach: PathBuf) -> Self {
        Self { attach, sets: VecDeque::new(), threads: BTreeMap::new(), seen: BTreeMap::new(), tidy_at: TIDY_AT }
    }

    /// The memory of a manager that was killed.
    pub(crate) fn of_former(attach: PathBuf, saved: SavedMasks) -> Self {
        let threads = saved.pins.into_iter().map(|(tid, mask)| (tid, Some(mask))).collect();
        Self { sets: saved.sets.into(), threads, ..Self::new(attach) }
    }

    pub(crate) fn saved(&self) -> SavedMasks {
        let pins = self.threads.iter().filter_map(|(tid, mask)| Some((*tid, mask.clone()?)));
        SavedMasks { sets: self.sets.iter().cloned().collect(), pins: pins.collect() }
    }

    /// The socket that the environment of managed processes names.
    pub(crate) fn attach(&self) -> &PathBuf {
        &self.attach
    }

    /// The latest sets that applications were put on, at most so many, the latest last.
    pub(crate) fn lately(&self, most: usize) -> Vec<CpuSet> {
        self.sets.iter().skip(self.sets.len().saturating_sub(most)).cloned().collect()
    }

    /// An application is put on this set.
    pub(crate) fn used(&mut self, cpus: &CpuSet) {
        self.sets.retain(|known| known != cpus);
        self.sets.push_back(cpus.clone());
        if self.sets.len() > SETS_MOST {
            self.sets.pop_front();
        }
    }

    /// Says whether the mask of a thread is ours, by the rule in the file's header.
    pub(crate) fn is_ours(&mut self, found: Found<'_>, in_force: InForce<'_>) -> bool {
        let ours = self.judge(found, in_force);
        // A runtime that starts binds its thread here and there for a moment: it takes two looks to
        // tell a pin.
        let unsure =
            !ours && self.told_whole(found, in_force) && self.threads.get(&found.tid).is_none_or(Option::is_none);
        if unsure && self.seen.insert(found.tid, found.mask.clone()).as_ref() != Some(found.mask) {
            return false;
        }
        if self.threads.len() >= self.tidy_at {
            self.threads.retain(|tid, _| affinity::get(*tid).is_ok());
            self.seen.clear();
            self.tidy_at = TIDY_AT.max(2 * self.threads.len());
        }
        self.threads.insert(found.tid, (!ours).then(|| found.mask.clone()));
        ours
    }

    /// `run` has told its process all of this, and it has not said that it has narrowed itself.
    fn told_whole(&self, found: Found<'_>, in_force: InForce<'_>) -> bool {
        given_by_user(found.pid, &self.attach).is_some_and(|given| given == *in_force.whole)
    }

    fn judge(&self, found: Found<'_>, in_force: InForce<'_>) -> bool {
        let InForce { whole, sets, next } = in_force;
        if whole.is_subset(found.mask) {
            return true;
        }
        match self.threads.get(&found.tid) {
            Some(Some(pin)) if pin == found.mask => return false,
            None if self.maker_is_pinned(found) => return false,
            _ => {}
        }
        let is_of_kernel = |set: &CpuSet| {
            found.mask.is_subset(set) && affinity::possible(found.pid, set).is_ok_and(|made| made == *found.mask)
        };
        let is_one = |known: &mut dyn Iterator<Item = &CpuSet>| {
            let known: Vec<&CpuSet> = known.collect();
            known.contains(&found.mask) || known.iter().any(|set| is_of_kernel(set)) || is_of_kernel(whole)
        };
        let ours = match sets {
            Some(sets) => is_one(&mut sets.iter()),
            None => is_one(&mut self.sets.iter()),
        };
        // Nobody asks for the environment of a process that stays where it is.
        ours && (found.mask == next || !self.says_so(found, whole))
    }

    /// A new thread has its maker's mask. The maker is known as the first thread of its process, or
    /// of the process above.
    fn maker_is_pinned(&self, found: Found<'_>) -> bool {
        let above = || procfs::stat(found.pid).ok().map(|stat| stat.parent);
        let maker = if found.tid == found.pid { above() } else { Some(found.pid) };
        maker.and_then(|maker| self.pin_of(maker)) == Some(found.mask)
    }

    /// The environment says that the process has narrowed itself to this mask.
    fn says_so(&self, found: Found<'_>, whole: &CpuSet) -> bool {
        let said = given_by_user(found.pid, &self.attach);
        said.is_some_and(|said| said == *found.mask && said != *whole)
    }

    /// What was found about these threads does not count any more.
    pub(crate) fn forget(&mut self, tids: &[u32]) {
        for tid in tids {
            self.threads.remove(tid);
        }
    }

    /// The mask of a thread, if it was found to be a pin.
    pub(crate) fn pin_of(&self, tid: u32) -> Option<&CpuSet> {
        self.threads.get(&tid)?.as_ref()
    }

    /// The processors that these processes are pinned to, if nothing of them runs anywhere else.
    /// Processes that have started some of the others only wait for them, and do not count.
    pub(crate) fn bound(&self, pids: &[u32]) -> Option<CpuSet> {
        if self.threads.values().all(Option::is_none) {
            return None;
        }
        let parents: BTreeSet<u32> = pids.iter().filter_map(|pid| Some(procfs::stat(*pid).ok()?.parent)).collect();
        let mut bound = CpuSet::default();
        for pid in pids.iter().filter(|pid| !parents.contains(pid)) {
            for tid in procfs::threads(*pid).unwrap_or_default() {
                bound.or_with(self.pin_of(tid)?);
            }
        }
        Some(bound).filter(|bound| !bound.is_empty())
    }
}
