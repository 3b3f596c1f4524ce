//! The actuator of affinity: it keeps the process trees of applications on their processors, and
//! gives every affinity back when an application is let go or has ended. Pins
//! ([`crate::hands::masks`]) stay as they are, and bound the application if all of it is pinned.
//!
//! It remembers the processes of each tree, because a process whose parent ends leaves the tree and
//! is still ours.

mod leaving;
#[cfg(test)]
mod newborn;
#[cfg(test)]
mod stories;

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::rc::Rc;

use numaestro_host::HostError;
use numaestro_host::affinity::Found;
use numaestro_topology::CpuSet;
use tracing::debug;

use crate::hands::kernel::{Kernel, Linux};
use crate::hands::masks::{InForce, Masks, SavedMasks};
use crate::hands::notes::Notes;
use crate::hands::own::{Own, Process, Words};
use crate::hands::told::Told;
use crate::senses::beginners::Beginners;
use crate::wakeups::Wakeups;

/// The processes of one application.
#[derive(Debug)]
struct Tree {
    /// The process that the application is.
    root: Process,
    /// The application that it descends from.
    around: Option<u64>,
    /// The processors that all of it is pinned to.
    bound: Option<CpuSet>,
    told: Told,
    /// This process of it has narrowed itself since it came.
    narrowed: Option<u32>,
    /// It is told, and moves its threads by itself.
    moves_itself: bool,
    /// Processes at the latest look, with their start times; also those that have left since.
    members: BTreeMap<u32, u64>,
    /// Members that have left the tree: a parent has ended.
    strays: BTreeSet<u32>,
}

impl Tree {
    fn in_force<'a>(&'a self, whole: &'a CpuSet, next: &'a CpuSet) -> InForce<'a> {
        InForce { whole, told: Some(&self.told), next, moves_itself: self.moves_itself }
    }
}

/// See the file's header.
#[derive(Debug)]
pub(crate) struct Trees {
    kernel: Rc<dyn Kernel>,
    own: Own,
    notes: Notes,
    by_app: BTreeMap<u64, Tree>,
    masks: RefCell<Masks>,
    beginners: RefCell<Beginners>,
    /// Sets that a former manager may have put processes on.
    former: BTreeMap<Process, Vec<CpuSet>>,
    /// Applications that are bound otherwise than when this was last asked.
    rebound: BTreeSet<u64>,
    /// Time that the latest sweep took, nanoseconds.
    sweep_ns: u64,
}

impl Trees {
    pub(crate) fn new(attach: PathBuf) -> Self {
        Self::on(Rc::new(Linux), attach)
    }

    pub(crate) fn on(kernel: Rc<dyn Kernel>, attach: PathBuf) -> Self {
        let masks = RefCell::new(Masks::new(kernel.clone(), attach));
        Self {
            kernel,
            own: Own::default(),
            notes: Notes::default(),
            by_app: BTreeMap::new(),
            masks,
            beginners: RefCell::default(),
            former: BTreeMap::new(),
            rebound: BTreeSet::new(),
            sweep_ns: 0,
        }
    }

    /// Moves are noted here from now on.
    pub(crate) fn note_in(&mut self, notes: Notes) {
        self.notes = notes;
    }

    /// The memory of a manager that was killed.
    pub(crate) fn remember(&mut self, saved: SavedMasks) {
        for (process, own) in &saved.own {
            self.own.set(*process, own.clone());
        }
        self.former = saved.put.iter().cloned().collect();
        self.masks.get_mut().remember(saved);
    }

    /// The memory for a next manager.
    pub(crate) fn memory(&self) -> SavedMasks {
        let mut memory = self.masks.borrow().saved();
        memory.own = self.unpaid().into_iter().map(|owed| ((owed.pid, owed.start_time), owed.original)).collect();
        memory.put = self.by_app.values().map(|tree| (tree.root, tree.told.all())).collect();
        memory
    }

    /// The next manager would find all that is known.
    pub(crate) fn saved(&mut self) {
        self.notes.saved();
    }

    /// See [`Own`]. `around`: the application that the process descends from.
    pub(crate) fn own_of(&self, pid: u32, said: Option<CpuSet>, around: Option<u64>, usable: &CpuSet) -> CpuSet {
        let environment = self.kernel.given(pid, self.masks.borrow().attach());
        let words = Words { said, environment, around: around.and_then(|app| self.own_of_app(app)).cloned() };
        self.own.find(self.process(pid), words, usable, || self.kernel.mask(pid))
    }

    fn process(&self, pid: u32) -> Process {
        (pid, self.kernel.start_of(pid).unwrap_or_default())
    }

    fn is_there(&self, (pid, start_time): Process) -> bool {
        self.kernel.start_of(pid) == Some(start_time)
    }

    fn own_of_app(&self, app: u64) -> Option<&CpuSet> {
        self.own.of(self.by_app.get(&app)?.root)
    }

    /// A new application. `said`: its own mask as its `run` or a former manager says; `around`: the
    /// application that it descends from.
    pub(crate) fn enter(&mut self, app: u64, pid: u32, said: Option<CpuSet>, around: Option<u64>, usable: &CpuSet) {
        let (root, own) = (self.process(pid), self.own_of(pid, said, around, usable));
        let told = match (self.former.remove(&root), around.and_then(|app| self.by_app.get(&app))) {
            // If it was let go after that was saved, the application around has moved it since.
            (Some(sets), tree) => {
                let around = tree.map(|tree| tree.told.all()).unwrap_or_default();
                Told::any(around.into_iter().chain(sets).collect())
            }
            (None, Some(tree)) => tree.told.clone(),
            // Born below a `run` that is over.
            (None, None) if self.kernel.given(pid, self.masks.borrow().attach()).is_some() => {
                self.masks.borrow().lately()
            }
            (None, None) => Told::any(vec![own.clone()]),
        };
        self.own.set(root, own);
        let (members, strays) = Default::default();
        let (bound, narrowed, moves_itself) = (None, None, false);
        self.by_app.insert(app, Tree { root, around, bound, told, narrowed, moves_itself, members, strays });
        self.find_bound(app, &[pid]);
    }

    /// A former manager has put an application on this set.
    pub(crate) fn had(&mut self, app: u64, pid: u32, cpus: &CpuSet) {
        self.told(app, cpus);
        self.masks.get_mut().forget(&self.kernel.threads(pid));
        self.find_bound(app, &[pid]);
    }

    /// The process of an application has become another program: somebody between may have narrowed
    /// it.
    pub(crate) fn look_again(&mut self, app: u64, pid: u32, usable: &CpuSet) {
        let given = self.kernel.given(pid, self.masks.borrow().attach()).filter(|cpus| cpus.intersects(usable));
        let Some(tree) = self.by_app.get_mut(&app) else { return };
        if let Some(given) = given.filter(|given| self.own.of(tree.root) != Some(given)) {
            self.own.set(tree.root, given);
            tree.narrowed = Some(pid);
            self.masks.get_mut().look_again();
            self.rebound.insert(app);
        }
        self.find_bound(app, &[pid]);
    }

    /// Looks at all threads of these processes of an application, and finds out whether they are
    /// pinned.
    fn find_bound(&mut self, app: u64, pids: &[u32]) {
        let Some(tree) = self.by_app.get(&app) else { return };
        let Some(own) = self.own.of(tree.root) else { return };
        let (masks, nowhere) = (self.masks.get_mut(), CpuSet::default());
        for &pid in pids {
            for tid in self.kernel.threads(pid) {
                if let Some(mask) = self.kernel.mask(tid) {
                    masks.is_ours(Found { pid, tid, mask: &mask }, tree.in_force(own, &nowhere));
                }
            }
        }
        self.note_bound(app, pids);
    }

    fn note_bound(&mut self, app: u64, pids: &[u32]) {
        let bound = self.masks.get_mut().bound(pids);
        let Some(tree) = self.by_app.get_mut(&app) else { return };
        let before = std::mem::replace(&mut tree.bound, bound);
        if before != tree.bound {
            debug!(app, ?before, now = ?tree.bound, "all of it is pinned, or not any more");
            self.rebound.insert(app);
        }
    }

    /// The time of the next look at processes that have narrowed themselves.
    pub(crate) fn pins_due_ns(&self) -> Option<u64> {
        self.masks.borrow().look_ns()
    }

    /// Processes that have narrowed themselves: this is the time for a look at them.
    pub(crate) fn take_pinned(&mut self) -> BTreeSet<u32> {
        let masks = self.masks.get_mut();
        let mut pids = masks.take_pinned();
        let narrowed: Vec<u32> = self.by_app.values().filter_map(|tree| tree.narrowed).collect();
        if !narrowed.is_empty() {
            masks.look_again();
        }
        pids.extend(narrowed);
        pids
    }

    /// Says whether an application is bound otherwise than when this was last asked.
    pub(crate) fn take_rebound(&mut self, app: u64) -> bool {
        self.rebound.remove(&app)
    }

    /// The affinity that the threads of an application would have without us.
    pub(crate) fn original(&self, app: u64) -> CpuSet {
        self.own_of_app(app).cloned().unwrap_or_default()
    }

    /// The processors that an application may have by affinity: those that its user gave it, or
    /// that all of it is pinned to.
    pub(crate) fn allowed(&self, app: u64) -> CpuSet {
        let bound = self.by_app.get(&app).and_then(|tree| tree.bound.as_ref());
        bound.or_else(|| self.own_of_app(app)).cloned().unwrap_or_default()
    }

    /// An application is going to be on this set, also if nobody lives to see it.
    fn put(&mut self, app: u64, cpus: &CpuSet) {
        self.masks.get_mut().used(cpus);
        if let Some(tree) = self.by_app.get(&app) {
            self.notes.note(tree.root, cpus);
        }
    }

    /// An application is told that it is to be on this set; it moves by itself.
    pub(crate) fn told(&mut self, app: u64, cpus: &CpuSet) {
        self.put(app, cpus);
        if let Some(tree) = self.by_app.get_mut(&app) {
            tree.told.tell(cpus);
            tree.moves_itself = true;
        }
    }

    /// Nobody but us moves the threads of an application: all are on the latest set.
    pub(crate) fn settled(&mut self, app: u64) {
        if let Some(tree) = self.by_app.get_mut(&app) {
            tree.told.settle();
            tree.moves_itself = false;
        }
    }

    /// Judges the masks of an application's threads, which are about to be on `next`.
    pub(crate) fn judge<'a>(&'a self, app: u64, next: &'a CpuSet) -> impl FnMut(Found<'_>) -> bool + 'a {
        let tree = self.by_app.get(&app);
        // Processes that were found on less than everything just now. Their children are born on
        // that set: a child on everything has left it.
        let mut narrow = BTreeSet::new();
        move |found| {
            let whole = self.own_of_app(app).unwrap_or(next);
            if whole.is_subset(found.mask) {
                narrow.remove(&found.pid);
            } else if found.tid == found.pid {
                narrow.insert(found.pid);
            }
            // Who moves itself is attached: its questions are answered.
            let moves_itself = tree.is_some_and(|tree| tree.moves_itself);
            let begins = {
                let masks = self.masks.borrow();
                let parent = || self.kernel.parent_of(found.pid).filter(|parent| narrow.contains(parent));
                let put = || masks.put(found.tid).or_else(|| masks.put(parent()?)).filter(|_| !moves_itself);
                self.beginners.borrow_mut().begins(found, whole, next, put)
            };
            if begins {
                return false;
            }
            let unknown = InForce { whole: next, told: None, next, moves_itself: false };
            let in_force = tree.map_or(unknown, |tree| tree.in_force(whole, next));
            self.masks.borrow_mut().is_ours(found, in_force)
        }
    }

    /// Processes that had left the tree in a former manager's time.
    pub(crate) fn inherit(&mut self, app: u64, strays: &[(u32, u64)]) {
        if let Some(tree) = self.by_app.get_mut(&app) {
            tree.members = strays.iter().copied().collect();
            tree.strays = strays.iter().map(|(pid, _)| *pid).collect();
        }
    }

    /// Processes that have left the tree, with their start times.
    pub(crate) fn strays(&self, app: u64) -> Vec<(u32, u64)> {
        let tree = self.by_app.get(&app);
        tree.map(|tree| tree.strays.iter().filter_map(|pid| Some((*pid, *tree.members.get(pid)?))).collect())
            .unwrap_or_default()
    }

    /// Processes that have left any tree.
    pub(crate) fn all_strays(&self) -> impl Iterator<Item = u32> {
        self.by_app.values().flat_map(|tree| tree.strays.iter().copied())
    }

    /// A process is known as one of an application's.
    pub(crate) fn has_member(&self, pid: u32) -> bool {
        self.by_app.values().any(|tree| tree.members.contains_key(&pid))
    }

    /// The application whose tree has this process, or had it before its parent ended.
    pub(crate) fn app_of_member(&self, pid: u32) -> Option<u64> {
        let is_it = |tree: &Tree| tree.members.get(&pid).is_some_and(|start_time| self.is_there((pid, *start_time)));
        self.by_app.iter().find(|(_, tree)| is_it(tree)).map(|(app, _)| *app)
    }

    /// These processes are in the tree now. Processes that have left it and still live stay ours.
    pub(crate) fn note_members(&mut self, app: u64, pids: &[u32]) {
        let Some(tree) = self.by_app.get_mut(&app) else { return };
        tree.members.retain(|pid, start_time| self.kernel.start_of(*pid) == Some(*start_time));
        tree.members.extend(pids.iter().filter_map(|pid| Some((*pid, self.kernel.start_of(*pid)?))));
        let inside: BTreeSet<u32> = pids.iter().copied().collect();
        tree.strays = tree.members.keys().copied().filter(|pid| !inside.contains(pid)).collect();
    }

    /// Moves all that descends from `root`, without the trees of `others`, and all that has left
    /// the tree. `Err`: the system refuses.
    pub(crate) fn place(
        &mut self,
        app: u64,
        root: u32,
        others: &BTreeSet<u32>,
        cpus: &CpuSet,
    ) -> Result<(), HostError> {
        self.put(app, cpus);
        let mut pids = BTreeSet::new();
        let mut judge = self.judge(app, cpus);
        let mut ours = |found: Found<'_>| {
            pids.insert(found.pid);
            judge(found)
        };
        let moved = self.kernel.set_tree(root, others, cpus, &mut ours);
        for (stray, start_time) in self.strays(app) {
            if self.is_there((stray, start_time)) && !others.contains(&stray) {
                let _ = self.kernel.set_process(stray, cpus, &mut ours);
            }
        }
        drop(judge);
        if let Some(tree) = self.by_app.get_mut(&app) {
            tree.told.tell(cpus);
        }
        self.note_bound(app, &pids.into_iter().collect::<Vec<_>>());
        match moved {
            Ok(_) => Ok(()),
            Err(cause) if cause.is_gone() => Ok(()),
            Err(cause) => Err(cause),
        }
    }

    /// A process of an application is about to become another program, which is to size itself.
    ///
    /// The manager may have moved it onto its share before it heard that: then it goes back.
    pub(crate) fn begin(&mut self, app: u64, pid: u32, wakeups: &mut Wakeups) {
        self.beginners.get_mut().begin(pid, wakeups);
        if let Some(own) = self.own_of_app(app)
            && let Some(mask) = self.kernel.mask(pid)
            && mask != *own
            && self.masks.borrow().put(pid) == Some(&mask)
        {
            let _ = self.kernel.set_process(pid, own, &mut |found| found.tid == pid);
        }
    }

    /// Sets the next look at programs that were found to begin.
    pub(crate) fn watch_beginners(&mut self, wakeups: &mut Wakeups) {
        self.beginners.get_mut().watch(wakeups);
    }

    /// Processes that have begun since the latest look.
    pub(crate) fn take_begun(&mut self, wakeups: &mut Wakeups) -> Vec<u32> {
        self.beginners.get_mut().take_begun(wakeups)
    }
}
