//! Whoever leaves is given its own mask back, and so is all that outlives it.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use numaestro_abi::control::Whole;
use numaestro_host::affinity::Found;
use numaestro_host::monotonic_ns;
use numaestro_topology::CpuSet;
use tracing::debug;

use super::{Tree, Trees};
use crate::hands::own::Process;
use crate::hands::whole::{Debts, Owed};
use crate::wakeups::{ShellDue, Wakeups};

/// From the end of an application until its last processes are looked for.
const SWEEP_NS: u64 = 10_000_000;
/// The search may take this part of the time at most.
const SWEEP_SHARE: u64 = 20;

impl Trees {
    /// An application has gone: no process that outlives it stays where it was, the application's
    /// own least of all, which may be let go and managed anew.
    pub(crate) fn leave(&mut self, app: u64, is_application: &dyn Fn(u32) -> bool, wakeups: &mut Wakeups) {
        let Some(gone) = self.by_app.remove(&app) else { return };
        let own = self.own.of(gone.root).cloned().unwrap_or_default();
        self.hand_to_around(app, &gone);
        let others = self.by_app.values().map(|tree| tree.root.0).collect();
        // The number may be another process's by now.
        let below = if self.is_there(gone.root) { self.kernel.tree(gone.root.0, &others) } else { Vec::new() };
        let born = below.into_iter().map(|pid| self.process(pid));
        let members: BTreeSet<Process> =
            gone.members.iter().map(|(pid, start_time)| (*pid, *start_time)).chain(born).collect();
        for process in members.into_iter().filter(|process| *process != gone.root).chain([gone.root]) {
            let (pid, _) = process;
            if !self.is_there(process) || is_application(pid) || self.kernel.has_other_rights(pid) {
                continue;
            }
            let masks = self.masks.get_mut();
            let mut ours = |found: Found<'_>| masks.is_ours(found, gone.in_force(&own, &own));
            let _ = self.kernel.set_process(pid, &own, &mut ours);
        }
        if !self.is_there(gone.root) || self.kernel.threads(gone.root.0).into_iter().all(|tid| self.has_own(tid, &own))
        {
            self.own.forget(gone.root);
        }
        // Processes that were born a moment before have never been seen: they are looked for.
        wakeups.set_if_unset(ShellDue::Strays, monotonic_ns() + SWEEP_NS.max(self.sweep_ns * SWEEP_SHARE));
    }

    /// The application around one that has gone is around all that was inside. A process that is
    /// being born now is on a set of the one that has gone, so these sets count there too.
    fn hand_to_around(&mut self, app: u64, gone: &Tree) {
        for tree in self.by_app.values_mut().filter(|tree| tree.around == Some(app)) {
            tree.around = gone.around;
        }
        if let Some(around) = gone.around.and_then(|app| self.by_app.get_mut(&app)) {
            around.told.leave(gone.told.all());
        }
    }

    /// Processes that are no application any more, and could not be given their own mask.
    pub(super) fn unpaid(&self) -> Vec<Owed> {
        let managed: BTreeSet<Process> = self.by_app.values().map(|tree| tree.root).collect();
        let left = self.own.iter().filter(|(process, _)| !managed.contains(process) && self.is_there(*process));
        left.map(|((pid, start_time), own)| Owed { pid, start_time, original: own.clone() }).collect()
    }

    /// A thread has all that is its own, or what somebody else has bound it to.
    fn has_own(&self, tid: u32, own: &CpuSet) -> bool {
        let mask = self.kernel.mask(tid);
        mask.is_none_or(|mask| own.is_subset(&mask) || self.masks.borrow().pin_of(tid) == Some(&mask))
    }

    /// Gives processes that have left every application their affinity back. `managed`: roots of
    /// all managed trees.
    pub(crate) fn sweep(&mut self, managed: &BTreeSet<u32>, usable: &CpuSet) {
        let began = monotonic_ns();
        let whole = Debts { owed: &self.unpaid(), managed, masks: &self.masks }.pay_strays(usable);
        self.sweep_ns = monotonic_ns() - began;
        if whole.processes > 0 || !whole.left.is_empty() {
            debug!(processes = whole.processes, left = ?whole.left, "processes that have outlived their application");
        }
    }

    /// The affinities owed to one application and to all processes that have left it.
    pub(crate) fn owed(&self, app: u64) -> Vec<Owed> {
        let original = self.original(app);
        let one = |(pid, start_time)| Owed { pid, start_time, original: original.clone() };
        let root = self.by_app.get(&app).map(|tree| tree.root);
        root.into_iter().chain(self.strays(app)).map(one).collect()
    }

    /// Gives back the owed affinities, and reads them back from the kernel. `settled`: programs
    /// have said that they are let go.
    pub(crate) fn pay(
        &self,
        owed: &[Owed],
        mut managed: BTreeSet<u32>,
        patience: Duration,
        settled: impl Fn() -> bool,
    ) -> Whole {
        /// Longest time that a program that was let go may take to say that it has carried this
        /// out. Its threads have been moved from outside already.
        const ADOPTION: Duration = Duration::from_millis(500);
        let owed: Vec<Owed> = owed.iter().cloned().chain(self.unpaid()).collect();
        for entry in &owed {
            managed.remove(&entry.pid);
        }
        let began = Instant::now();
        let debts = Debts { owed: &owed, managed: &managed, masks: &self.masks };
        debts.pay(patience, || began.elapsed() > ADOPTION || settled())
    }
}
