//! What applications are told. Knows nothing of why they have what they have.
//!
//! First those that have to vacate something are told; programs of class fold have done so when the shell has carried the target out, so
//! what they vacate passes on at once. Then everybody else whose target has changed.

use crate::engine::Engine;
use crate::event::{Action, Class};
use crate::ledger::{Account, Ledger, Phase};
use numaestro_policy::{App, Slot};
use numaestro_topology::{PuId, PuSet};

/// A target that an application should have.
struct Wanted<'a> {
    pus: &'a PuSet,
    /// Threads; as a rule the number of processors.
    count: u32,
    shared: bool,
    lent: bool,
}

impl Engine {
    /// Appends the targets that have changed.
    pub(crate) fn tell(&mut self, actions: &mut Vec<Action>) {
        if self.ledger.dirty.is_empty() {
            return;
        }
        let mut slots = std::mem::take(&mut self.ledger.dirty);
        self.in_order_of_arrival(&mut slots);
        let mut next = 0;
        while let Some(&slot) = slots.get(next) {
            self.tell_leaving(slot, actions);
            // Heirs of those that have left at once.
            slots.append(&mut self.ledger.dirty);
            next += 1;
        }
        self.in_order_of_arrival(&mut slots);
        for &slot in &slots {
            if std::mem::take(&mut self.ledger.account_mut(slot).dirty) {
                self.tell_pages(slot, actions);
                self.tell_one(slot, actions);
            }
        }
        slots.clear();
        self.ledger.dirty = slots;
    }

    fn in_order_of_arrival(&self, slots: &mut [Slot]) {
        let id = |slot: &Slot| self.ledger.app(*slot).id;
        if !slots.is_sorted_by_key(id) {
            slots.sort_unstable_by_key(id);
        }
    }

    /// Tells one that has to vacate something, if it has not been told; one that has become of class fold since then has vacated it with its next target.
    fn tell_leaving(&mut self, slot: Slot, actions: &mut Vec<Action>) {
        let account = self.ledger.account(slot);
        let told = |pu: PuId| self.ledger.leave_epoch[pu.index()] > 0;
        let folds = self.ledger.app(slot).class == Class::Fold;
        let all_told = account.leaving.iter().all(told);
        if !account.dirty || account.leaving.is_empty() || all_told && !folds {
            return;
        }
        self.tell_one(slot, actions);
        let epoch = self.ledger.account(slot).sent.epoch;
        let grace = match (self.policy.share.preempts(), self.reclaims) {
            (true, _) => 0,
            (false, true) => self.settings.reclaim_ns,
            (false, false) => self.settings.grace_ns,
        };
        self.ledger.announced(slot, epoch, self.now, grace);
        // One whose target is the same (as a guest it stays where it was) has carried it out already.
        if folds && !all_told || self.ledger.account(slot).adopted >= epoch {
            self.ledger.release_announced(slot, epoch, self.now);
        }
    }

    /// Appends where the pages of one application go, if that is not where it was last told.
    fn tell_pages(&mut self, slot: Slot, actions: &mut Vec<Action>) {
        let account = self.ledger.account(slot);
        if account.phase != Phase::Running {
            return;
        }
        let home = self.policy.pages.home(&self.view(), slot);
        if home != account.pages {
            self.ledger.account_mut(slot).pages = home;
            actions.push(Action::Pages { app: self.ledger.app(slot).id, home });
        }
    }

    /// Appends the target of one application, if it differs from the one it has.
    fn tell_one(&mut self, slot: Slot, actions: &mut Vec<Action>) {
        let Some(wanted) = wanted(&self.ledger, slot) else { return };
        let sent = &self.ledger.account(slot).sent;
        let same = sent.pus == *wanted.pus && sent.count == wanted.count;
        let stopped = self.ledger.account(slot).stopped;
        if !stopped && sent.epoch > 0 && same && sent.shared == wanted.shared && sent.lent == wanted.lent {
            return;
        }
        let mut pus = self.sets.pop().unwrap_or_else(|| PuSet::with_capacity(self.machine.pu_count()));
        pus.clone_from(wanted.pus);
        let (count, shared, lent) = (wanted.count, wanted.shared, wanted.lent);
        let app = self.ledger.app(slot).id;
        let sent = &mut self.ledger.account_mut(slot).sent;
        sent.pus.clone_from(&pus);
        (sent.epoch, sent.count, sent.shared, sent.lent) = (sent.epoch + 1, count, shared, lent);
        actions.push(Action::Target { app, epoch: sent.epoch, count: sent.count, pus, shared, lent });
        if self.ledger.app(slot).class == Class::Fold {
            let account = self.ledger.account_mut(slot);
            account.adopted = account.sent.epoch;
        }
        if stopped {
            self.ledger.account_mut(slot).stopped = false;
            actions.push(Action::Continue { app });
        }
    }
}

/// The target an application should have now; `None` while it waits or while all that will be its own has still to be vacated by others
/// and it has not begun to run.
fn wanted(ledger: &Ledger, slot: Slot) -> Option<Wanted<'_>> {
    let (account, app): (&Account, &App) = (ledger.account(slot), ledger.app(slot));
    let on = |pus: &'_ PuSet| pus.len() as u32;
    let lent = account.sequential && app.allocation < account.parallel_count;
    match account.phase {
        Phase::Wrapper => Some(Wanted { pus: &ledger.usable, count: on(&ledger.usable), shared: true, lent: false }),
        Phase::Running if !account.owned.is_empty() => {
            let shared = account.owned.iter().any(|pu| ledger.pus[pu.index()].guests > 0 && runs_a_guest(ledger, pu));
            Some(Wanted { pus: &account.owned, count: on(&account.owned), shared, lent })
        }
        // A guest alone on its processors may still have to make room at any time, without being asked first.
        Phase::Running if !account.guest_of.is_empty() => {
            let count = if account.team > 0 { account.team } else { on(&account.guest_of) };
            Some(Wanted { pus: &account.guest_of, count, shared: true, lent })
        }
        // It is stopped until it has something.
        Phase::Running if account.stopped => None,
        // It has lost all it had: until what will be its own is vacated, it runs there beside those that vacate it.
        Phase::Running if account.sent.epoch > 0 && !app.own.is_empty() => {
            Some(Wanted { pus: &app.own, count: on(&app.own), shared: true, lent })
        }
        Phase::Gone | Phase::Waiting | Phase::Running => None,
    }
}

/// Whether a guest of this processor uses it: one that waits for something outside does not.
fn runs_a_guest(ledger: &Ledger, pu: PuId) -> bool {
    let is_there = |account: &Account| account.phase == Phase::Running && account.guest_of.contains(pu);
    ledger.started.iter().map(|&slot| ledger.account(slot)).any(|account| is_there(account) && !account.blocked)
}
