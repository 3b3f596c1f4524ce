//! Says which affinity masks are ours. A thread that has any other mask has been put where it is by
//! somebody else: by its program, a launcher, `taskset`. Such a mask is a *pin*, and nobody of ours
//! changes it.
//!
//! **A mask is ours** if it is one of these:
//! 1. the set that we have put this thread on, or the thread that has made it;
//! 2. a set that the application is told to be on, and that may be in force for some of its
//!    threads ([`crate::hands::told`]);
//! 3. what the kernel makes of one of these (offline processors and cpusets take some away);
//! 4. a set with every processor that the application may have: who takes everything is bound to
//!    nothing.
//!
//! **But it is a pin** also then, if it was one at an earlier look and is the same now; if the
//! thread is new, and its maker's mask is the same pin; or if the environment of its process
//! names that set and no more (a process that narrows itself says so there).
//!
//! A runtime that starts binds its thread here and there for a moment. A process that `run` has
//! told everything, and that does not say that it has narrowed itself, may be doing that: its mask
//! is a pin if it is still the same at a second look, [`SURE_NS`] later. Until then nobody changes
//! it.
//!
//! The kernel does not say who has set a mask. A program that sets the very mask that it has,
//! without saying so, cannot be told from one that we have put there.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::PathBuf;
use std::rc::Rc;

use numaestro_host::affinity::Found;
use numaestro_host::monotonic_ns;
use numaestro_topology::CpuSet;
use serde::{Deserialize, Serialize};

use crate::hands::kernel::Kernel;
use crate::hands::own::Process;
use crate::hands::told::Told;

/// Sets that are remembered when nothing is known about the application of a process any more.
const SETS_MOST: usize = 64;
/// Threads that are known when those that have ended are forgotten first.
const TIDY_AT: usize = 512;
/// From the first look at a mask that may be a pin to the second.
const SURE_NS: u64 = 20_000_000;
/// From one look at pins to the next: whoever has set one may take it away.
const AGAIN_NS: u64 = 1_000_000_000;

/// What the latest look at a thread has found.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Known {
    /// We have put it on this set.
    Ours(CpuSet),
    /// It may be a pin.
    Unsure {
        pid: u32,
        mask: CpuSet,
        since_ns: u64,
    },
    Pin {
        pid: u32,
        mask: CpuSet,
    },
}

/// See the file's header.
#[derive(Debug)]
pub(crate) struct Masks {
    kernel: Rc<dyn Kernel>,
    /// The socket that the environment of managed processes names.
    attach: PathBuf,
    /// Sets that applications were put on, the latest last.
    sets: VecDeque<CpuSet>,
    /// Threads that have been looked at.
    threads: BTreeMap<u32, Known>,
    /// The time of the next look at masks that are pins, or may be; `None`: there are none.
    look_ns: Option<u64>,
    /// Number of threads at which those that have ended are forgotten.
    tidy_at: usize,
}

/// The part that a next manager has to know.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SavedMasks {
    /// See [`Masks::sets`].
    sets: Vec<CpuSet>,
    /// Threads that are pinned, or may be, with their processes and masks.
    pins: Vec<(u32, u32, CpuSet)>,
    /// The masks that processes would have without us.
    #[serde(default)]
    pub(crate) own: Vec<(Process, CpuSet)>,
    /// Sets that processes were put on, the latest last.
    #[serde(default)]
    pub(crate) put: Vec<(Process, Vec<CpuSet>)>,
}

impl SavedMasks {
    /// The file is older than what was noted since.
    pub(crate) fn add_notes(&mut self, notes: Vec<(Process, CpuSet)>) {
        for (process, cpus) in notes {
            match self.put.iter_mut().find(|(known, _)| *known == process) {
                Some((_, sets)) => sets.push(cpus),
                None => self.put.push((process, vec![cpus])),
            }
        }
    }
}

/// The sets that may be in force for the threads of one application.
#[derive(Debug, Clone, Copy)]
pub(crate) struct InForce<'a> {
    /// Every processor that the application may have.
    pub(crate) whole: &'a CpuSet,
    /// Sets that it was put on. `None`: not known; any set that was used lately.
    pub(crate) told: Option<&'a Told>,
    /// The set that we are about to put its threads on; empty: we only look.
    pub(crate) next: &'a CpuSet,
    /// It moves its threads by itself, when it is told.
    pub(crate) moves_itself: bool,
}

impl Masks {
    pub(crate) fn new(kernel: Rc<dyn Kernel>, attach: PathBuf) -> Self {
        let (sets, threads) = Default::default();
        Self { kernel, attach, sets, threads, look_ns: None, tidy_at: TIDY_AT }
    }

    /// The memory of a manager that was killed.
    pub(crate) fn remember(&mut self, saved: SavedMasks) {
        self.sets = saved.sets.into();
        // Of all: who has left an application may still be where that was.
        for set in saved.put.into_iter().flat_map(|(_, sets)| sets) {
            if !self.sets.contains(&set) {
                self.sets.push_back(set);
            }
        }
        self.threads = saved.pins.into_iter().map(|(tid, pid, mask)| (tid, Known::Pin { pid, mask })).collect();
        self.look_again();
    }

    pub(crate) fn saved(&self) -> SavedMasks {
        // What may be a pin is none of ours. The next manager looks at it again, as at all pins.
        let pin = |(tid, known): (&u32, &Known)| match known {
            Known::Pin { pid, mask } | Known::Unsure { pid, mask, .. } => Some((*tid, *pid, mask.clone())),
            Known::Ours(_) => None,
        };
        let (sets, pins) = (self.sets.iter().cloned().collect(), self.threads.iter().filter_map(pin).collect());
        SavedMasks { sets, pins, ..SavedMasks::default() }
    }

    pub(crate) fn kernel(&self) -> Rc<dyn Kernel> {
        self.kernel.clone()
    }

    /// The socket that the environment of managed processes names.
    pub(crate) fn attach(&self) -> &PathBuf {
        &self.attach
    }

    /// The latest sets that applications were put on.
    pub(crate) fn lately(&self) -> Told {
        Told::any(self.sets.iter().cloned().collect())
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
        if self.threads.len() >= self.tidy_at {
            self.threads.retain(|tid, _| self.kernel.mask(*tid).is_some());
            self.tidy_at = TIDY_AT.max(2 * self.threads.len());
        }
        let put = if in_force.next.is_empty() { found.mask } else { in_force.next };
        let known = if ours { Known::Ours(put.clone()) } else { self.not_ours(found, in_force) };
        self.threads.insert(found.tid, known);
        ours
    }

    fn not_ours(&mut self, found: Found<'_>, in_force: InForce<'_>) -> Known {
        let (pid, now) = (found.pid, monotonic_ns());
        let since_ns = match self.threads.get(&found.tid) {
            Some(Known::Unsure { mask, since_ns, .. }) if mask == found.mask => *since_ns,
            Some(Known::Pin { mask, .. }) if mask == found.mask => 0,
            _ if self.told_whole(found, in_force) => now,
            _ => 0,
        };
        if now < since_ns + SURE_NS {
            self.look_at(since_ns + SURE_NS);
            return Known::Unsure { pid, mask: found.mask.clone(), since_ns };
        }
        self.look_again();
        Known::Pin { pid, mask: found.mask.clone() }
    }

    /// Whoever has narrowed itself may widen itself.
    pub(crate) fn look_again(&mut self) {
        self.look_at(monotonic_ns() + AGAIN_NS);
    }

    fn look_at(&mut self, at_ns: u64) {
        self.look_ns = Some(self.look_ns.map_or(at_ns, |set| set.min(at_ns)));
    }

    /// The time of the next look at masks that are pins, or may be.
    pub(crate) fn look_ns(&self) -> Option<u64> {
        self.look_ns
    }

    /// The processes with threads that are pinned, or may be: this is the time for a look at them.
    pub(crate) fn take_pinned(&mut self) -> BTreeSet<u32> {
        self.look_ns = None;
        let pid = |known: &Known| match known {
            Known::Pin { pid, .. } | Known::Unsure { pid, .. } => Some(*pid),
            Known::Ours(_) => None,
        };
        self.threads.values().filter_map(pid).collect()
    }

    /// `run` has told its process all of this, and it has not said that it has narrowed itself.
    fn told_whole(&self, found: Found<'_>, in_force: InForce<'_>) -> bool {
        self.kernel.given(found.pid, &self.attach).is_some_and(|given| given == *in_force.whole)
    }

    fn judge(&self, found: Found<'_>, in_force: InForce<'_>) -> bool {
        let InForce { whole, told, next, moves_itself } = in_force;
        if whole.is_subset(found.mask) {
            return true;
        }
        match self.threads.get(&found.tid) {
            Some(Known::Pin { mask, .. }) if mask == found.mask => return false,
            // Only the program itself can have put it there.
            Some(Known::Unsure { mask, .. }) if mask == found.mask && !moves_itself => return false,
            None if self.maker(found).and_then(|maker| self.pin_of(maker)) == Some(found.mask) => return false,
            _ => {}
        }
        let put = self.put(found.tid).or_else(|| self.put(self.maker(found)?));
        let sets = told.and_then(Told::sets);
        let sets = sets.map_or_else(|| self.sets.iter().collect(), |sets| sets.iter().collect::<Vec<_>>());
        let known: Vec<&CpuSet> = put.into_iter().chain(sets).collect();
        let is_of_kernel = |set: &CpuSet| {
            found.mask.is_subset(set) && self.kernel.possible(found.pid, set).is_some_and(|made| made == *found.mask)
        };
        let is_new = !self.threads.contains_key(&found.tid);
        let ours = known.contains(&found.mask)
            || is_new
                && told.is_some_and(|told| told.was_in_force_at_birth(found.mask, || self.kernel.start_of(found.tid)))
            || known.iter().any(|set| is_of_kernel(set))
            || is_of_kernel(whole);
        // Nobody asks for the environment of a process that stays where it is.
        ours && (found.mask == next || !self.says_so(found, whole))
    }

    /// The set that we have put a thread on.
    pub(crate) fn put(&self, tid: u32) -> Option<&CpuSet> {
        match self.threads.get(&tid)? {
            Known::Ours(set) => Some(set),
            Known::Pin { .. } | Known::Unsure { .. } => None,
        }
    }

    /// A new thread has its maker's mask. The maker is known as the first thread of its process, or
    /// of the process above.
    fn maker(&self, found: Found<'_>) -> Option<u32> {
        if found.tid == found.pid { self.kernel.parent_of(found.pid) } else { Some(found.pid) }
    }

    /// The environment says that the process has narrowed itself to this mask.
    fn says_so(&self, found: Found<'_>, whole: &CpuSet) -> bool {
        let said = self.kernel.given(found.pid, &self.attach);
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
        match self.threads.get(&tid)? {
            Known::Pin { mask, .. } => Some(mask),
            Known::Ours(_) | Known::Unsure { .. } => None,
        }
    }

    /// The processors that these processes are pinned to, if nothing of them runs anywhere else.
    /// Processes that have started some of the others only wait for them, and do not count.
    pub(crate) fn bound(&self, pids: &[u32]) -> Option<CpuSet> {
        if !self.threads.values().any(|known| matches!(known, Known::Pin { .. })) {
            return None;
        }
        let parents: BTreeSet<u32> = pids.iter().filter_map(|pid| self.kernel.parent_of(*pid)).collect();
        let mut bound = CpuSet::default();
        for pid in pids.iter().filter(|pid| !parents.contains(pid)) {
            for tid in self.kernel.threads(*pid) {
                bound.or_with(self.pin_of(tid)?);
            }
        }
        Some(bound).filter(|bound| !bound.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_was_made_during_a_move_is_where_its_maker_was_and_who_goes_back_there_is_pinned() {
        let set = |text: &str| text.parse::<CpuSet>().unwrap();
        let (whole, former, latest) = (set("0-1023"), set("1022"), set("1023"));
        let mut told = Told::any(vec![whole.clone()]);
        told.tell(&former);
        told.tell(&latest);
        told.settle();
        let mut masks = Masks::new(Rc::new(crate::hands::kernel::Linux), PathBuf::from("/nobody/attach"));
        let own = std::process::id();
        let found = Found { pid: own, tid: own, mask: &former };
        let in_force = InForce { whole: &whole, told: Some(&told), next: &latest, moves_itself: false };
        assert!(masks.is_ours(found, in_force), "it was made before the move, and never seen");
        assert!(!masks.is_ours(found, in_force), "we have put it on the latest set, and it has gone back");
        assert_eq!(masks.pin_of(own), Some(&former));
    }
}
