//! Makes masks whole: gives every process that was managed the affinity that it would have without
//! us, and reads it back from the kernel before anybody says so. Masks that others have set stay
//! ([`crate::hands::masks`]).
//!
//! Three sources name the processes whose masks are ours to give back: the applications with
//! everything that descends from them; the processes that were seen below them and have left the
//! tree since (a parent has ended); and the environment that `run` gives, which every process
//! inherits even if its parents end: it names our socket, and the affinity that the user gave. One
//! look at all of them is not enough: a thread in the middle of an older decision may still narrow
//! itself, and a process may just be born. So looks are repeated until several in a row find
//! nothing to do.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use numaestro_abi::control::{LeftBehind, Whole};
use numaestro_host::affinity::Found;
use numaestro_host::procfs;
use numaestro_topology::CpuSet;

use crate::hands::masks::{InForce, Masks};
use numaestro_quantity::label::label;

/// Looks in a row that find nothing to do, and the fewest before something is given up.
const QUIET_LOOKS: u32 = 3;
/// From one look to the next.
const PAUSE: Duration = Duration::from_millis(4);

/// A process that is to have its affinity back, with everything below it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Owed {
    pub(crate) pid: u32,
    /// Clock ticks after boot: with `pid`, the process.
    pub(crate) start_time: u64,
    /// The affinity that it would have without us.
    pub(crate) original: CpuSet,
}

/// The result of one look.
#[derive(Debug, Default)]
struct Look {
    processes: u32,
    threads: u32,
    changed: BTreeSet<u32>,
    refused: BTreeMap<u32, String>,
    /// Processes with threads that others have bound, and to which processors.
    pinned: BTreeMap<u32, CpuSet>,
}

/// The processes that an affinity is owed to.
#[derive(Debug)]
pub(crate) struct Debts<'a> {
    /// Applications whose management ends.
    pub(crate) owed: &'a [Owed],
    /// Processes whose management goes on, with everything below them.
    pub(crate) managed: &'a BTreeSet<u32>,
    /// Knows which masks are ours, and the socket that the environment of managed processes names.
    pub(crate) masks: &'a RefCell<Masks>,
}

impl Debts<'_> {
    /// Repeats looks until several in a row find nothing to do and `settled` agrees, or `patience`
    /// is over. Looks at thousands of processes may take longer than that: then there are as many
    /// as it takes to tell processes that are narrowed again from those that were narrow until now.
    pub(crate) fn pay(&self, patience: Duration, mut settled: impl FnMut() -> bool) -> Whole {
        let until = Instant::now() + patience;
        let (mut quiet, mut looks, mut before) = (0, 0, BTreeSet::new());
        loop {
            // While others are managed further, their thousands of processes are gone through once
            // only: this is done between their decisions. The sweep after the end of an application
            // finds a process that was just being born.
            let thorough = looks == 0 || self.managed.is_empty();
            let mut look = self.look(|_| thorough);
            looks += 1;
            quiet = if look.changed.is_empty() { quiet + 1 } else { 0 };
            let over = looks > QUIET_LOOKS && Instant::now() > until;
            if over || (quiet >= QUIET_LOOKS && settled()) {
                look.changed.retain(|pid| before.contains(pid));
                return look.into_reply();
            }
            before = look.changed;
            std::thread::sleep(PAUSE);
        }
    }

    /// Takes one quick look, at processes only that have less than `whole`. Processes that were
    /// narrow until now are not named.
    pub(crate) fn pay_strays(&self, whole: &CpuSet) -> Whole {
        let kernel = self.masks.borrow().kernel();
        let mut look = self.look(|pid| kernel.mask(pid).is_some_and(|present| !whole.is_subset(&present)));
        look.changed.clear();
        look.into_reply()
    }

    fn look(&self, matters: impl Fn(u32) -> bool) -> Look {
        let (mut look, kernel) = (Look::default(), self.masks.borrow().kernel());
        for (pid, original) in self.everybody(matters) {
            let in_force = InForce { whole: &original, told: None, next: &original, moves_itself: true };
            let mut ours = |found: Found<'_>| {
                let is_ours = self.masks.borrow_mut().is_ours(found, in_force);
                if !is_ours {
                    look.pinned.entry(pid).or_default().or_with(found.mask);
                }
                is_ours
            };
            match kernel.restore_process(pid, &original, &mut ours) {
                Ok(moved) => {
                    look.processes += 1;
                    look.threads += moved.threads;
                    if moved.changed > 0 {
                        look.changed.insert(pid);
                    }
                }
                Err(cause) if cause.is_gone() => {}
                Err(cause) => {
                    look.refused.insert(pid, cause.to_string());
                }
            }
        }
        look
    }

    /// Every process that an affinity is owed to, with that affinity. `matters` says whether a
    /// process that is known by its environment only is looked at.
    fn everybody(&self, matters: impl Fn(u32) -> bool) -> BTreeMap<u32, CpuSet> {
        let (mut all, kernel) = (BTreeMap::new(), self.masks.borrow().kernel());
        let roots: BTreeSet<u32> =
            self.owed.iter().map(|entry| entry.pid).chain(self.managed.iter().copied()).collect();
        for entry in self.owed {
            if kernel.start_of(entry.pid) == Some(entry.start_time) {
                let tree = kernel.tree(entry.pid, &roots);
                all.extend(tree.into_iter().map(|pid| (pid, entry.original.clone())));
            }
        }
        let attach = self.masks.borrow().attach().clone();
        for pid in kernel.all() {
            // A program that a user runs with another user's rights is not to be moved at the word
            // of an environment that the user wrote.
            if all.contains_key(&pid) || !matters(pid) || kernel.has_other_rights(pid) {
                continue;
            }
            if let Some(original) = kernel.given(pid, &attach)
                && !self.is_managed(pid)
            {
                all.insert(pid, original);
            }
        }
        all
    }

    fn is_managed(&self, pid: u32) -> bool {
        let kernel = self.masks.borrow().kernel();
        let mut line = std::iter::successors(Some(pid), |pid| kernel.parent_of(*pid).filter(|above| *above != 0));
        line.any(|at| self.managed.contains(&at))
    }
}

impl Look {
    fn into_reply(self) -> Whole {
        let name = |pid: u32| procfs::stat(pid).map(|stat| label(&stat.name)).unwrap_or_default();
        let again = "something narrows it again each time".to_owned();
        let changed = self.changed.into_iter().map(|pid| (pid, again.clone()));
        let left = self.refused.into_iter().chain(changed);
        let left = left.map(|(pid, why)| LeftBehind { pid, name: name(pid), why }).collect();
        let pinned = self.pinned.into_iter().map(|(pid, cpus)| (pid, format!("bound to {cpus}")));
        let pinned = pinned.map(|(pid, why)| LeftBehind { pid, name: name(pid), why }).collect();
        Whole { processes: self.processes, threads: self.threads, left, pinned }
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Child, Command};

    use super::*;
    use crate::hands::kernel::Linux;
    use crate::senses::given::{ATTACH, CPUS_ALL, given_by_user};
    use numaestro_host::affinity;
    use std::path::Path;
    use std::rc::Rc;

    struct Killed(Child);

    impl Drop for Killed {
        fn drop(&mut self) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }

    fn debts(masks: &RefCell<Masks>) -> Debts<'_> {
        static NOBODY: BTreeSet<u32> = BTreeSet::new();
        Debts { owed: &[], managed: &NOBODY, masks }
    }

    /// A manager that has put programs on these.
    fn masks(attach: &Path, cpus: &CpuSet) -> RefCell<Masks> {
        let mut masks = Masks::new(Rc::new(Linux), attach.to_owned());
        masks.used(cpus);
        RefCell::new(masks)
    }

    fn narrow(pid: u32, cpus: &CpuSet) {
        affinity::set_process(pid, cpus, &mut affinity::anybody).unwrap();
    }

    fn sleeper(attach: &Path, all: &CpuSet) -> Killed {
        let mut command = Command::new("sleep");
        Killed(command.arg("100").env(ATTACH, attach).env(CPUS_ALL, all.to_string()).spawn().unwrap())
    }

    #[test]
    fn who_bears_our_mark_is_made_whole_and_nobody_else() {
        let dir = tempfile::tempdir().unwrap();
        let (attach, all) = (dir.path().join("attach"), affinity::get(0).unwrap());
        let one: CpuSet = all.iter().take(1).collect();
        let ours = sleeper(&attach, &all);
        std::fs::create_dir(dir.path().join("other")).unwrap();
        let others = sleeper(&dir.path().join("other/attach"), &all);
        while given_by_user(ours.0.id(), &attach).is_none() {
            std::thread::yield_now();
        }
        for child in [&ours, &others] {
            narrow(child.0.id(), &one);
        }
        let masks = masks(&attach, &one);
        let outcome = debts(&masks).pay(Duration::from_secs(5), || true);
        assert_eq!((outcome.processes, outcome.threads, outcome.left), (1, 1, Vec::new()));
        assert_eq!(affinity::get(ours.0.id()).unwrap(), all);
        assert_eq!(affinity::get(others.0.id()).unwrap(), one);
        // The other one's manager has gone, and its directory with it: who else would pay?
        std::fs::remove_dir(dir.path().join("other")).unwrap();
        assert_eq!(given_by_user(others.0.id(), &attach), Some(all.clone()));
        std::fs::create_dir(dir.path().join("other")).unwrap();
        // A process that is managed further is left where it is, and so are its descendants.
        narrow(ours.0.id(), &one);
        let managed = BTreeSet::from([std::process::id()]);
        Debts { managed: &managed, ..debts(&masks) }.pay(Duration::from_secs(5), || true);
        assert_eq!(affinity::get(ours.0.id()).unwrap(), one);
    }

    #[test]
    fn a_mask_that_others_have_set_stays() {
        let dir = tempfile::tempdir().unwrap();
        let (attach, all) = (dir.path().join("attach"), affinity::get(0).unwrap());
        if all.len() < 2 {
            numaestro_skip::skip!("one processor only");
        }
        let two: Vec<CpuSet> = all.iter().take(2).map(|cpu| std::iter::once(cpu).collect()).collect();
        let masks = masks(&attach, &two[0]);
        let [ours, theirs, says] = [&all, &all, &two[0]].map(|given| sleeper(&attach, given));
        while [&ours, &theirs, &says].iter().any(|child| given_by_user(child.0.id(), &attach).is_none()) {
            std::thread::yield_now();
        }
        for (child, cpus) in [(&ours, &two[0]), (&theirs, &two[1]), (&says, &two[0])] {
            narrow(child.0.id(), cpus);
        }
        debts(&masks).pay(Duration::from_secs(5), || true);
        let of = |child: &Killed| affinity::get(child.0.id()).unwrap();
        assert_eq!([of(&ours), of(&theirs), of(&says)], [all, two[1].clone(), two[0].clone()]);
        // It is known from now on, also to the next manager, and whatever ours are.
        masks.borrow_mut().used(&two[1]);
        let next = RefCell::new(Masks::new(Rc::new(Linux), attach));
        next.borrow_mut().remember(masks.borrow().saved());
        debts(&next).pay(Duration::from_secs(5), || true);
        assert_eq!(of(&theirs), two[1]);
    }

    #[test]
    fn what_is_narrowed_again_and_again_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let (attach, all) = (dir.path().join("attach"), affinity::get(0).unwrap());
        let one: CpuSet = all.iter().take(1).collect();
        if one == all {
            return;
        }
        let child = sleeper(&attach, &all);
        let pid = child.0.id();
        while given_by_user(pid, &attach).is_none() {
            std::thread::yield_now();
        }
        let stop = std::sync::atomic::AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                    let _ = affinity::set(pid, &one);
                }
            });
            // On a busy machine the thread that narrows it may not run for some looks.
            let masks = masks(&attach, &one);
            let mut outcomes = (0..50).map(|_| debts(&masks).pay(Duration::from_millis(100), || true));
            let outcome = outcomes.find(|outcome| !outcome.left.is_empty());
            stop.store(true, std::sync::atomic::Ordering::Relaxed);
            let left = outcome.expect("one of the looks finds it narrow again").left;
            let named: Vec<_> = left.into_iter().map(|left| (left.pid, left.name)).collect();
            assert_eq!(named, [(pid, "sleep".to_owned())]);
        });
    }

    #[test]
    fn another_process_of_the_same_number_is_owed_nothing() {
        let all = affinity::get(0).unwrap();
        let entry = Owed { pid: std::process::id(), start_time: 1, original: all };
        let masks = masks(Path::new("/nonexistent/attach"), &CpuSet::default());
        let debts = Debts { owed: &[entry], ..debts(&masks) };
        assert!(debts.everybody(|_| true).is_empty());
    }
}
