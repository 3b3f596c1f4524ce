//! A processor changes hands in two phases.
//!
//! [`Ledger::assign`] records the next owner. A processor without an owner goes over at once. A
//! processor with an owner becomes `LEAVING` and stays its owner's until the owner has left it;
//! then the next owner has it. So a processor never has two owners, and deciding again before the
//! owner has answered only changes the next owner.

use super::Ledger;
use crate::event::Nanos;
use numaestro_policy::{Former, Plan, PuState, Slot};
use numaestro_topology::PuId;

impl Ledger {
    /// Takes the homes and next owners of a plan over.
    pub(crate) fn carry_out(&mut self, plan: &Plan, now: Nanos) {
        for &slot in plan.rehomed() {
            // The plan knows this home already.
            self.apps[slot.index()].home = plan.home(slot);
            self.mark(slot);
        }
        for &pu in plan.touched() {
            self.assign(pu, plan.next(pu), now);
        }
    }

    /// Records the next owner of a processor.
    pub(crate) fn assign(&mut self, pu: PuId, next: Option<Slot>, now: Nanos) {
        let entry = self.pus[pu.index()];
        if entry.next == next {
            return;
        }
        self.write_next(pu, next);
        match (entry.owner, next) {
            (None, Some(slot)) => self.take(pu, slot, now),
            (None, None) => {}
            (Some(owner), next) if next == Some(owner) => self.stay(pu, owner),
            (Some(_), _) if entry.state != PuState::Owned => {}
            // Nothing of the owner is there: it was not told of it, does not run, or has nothing to
            // run on it.
            (Some(owner), _)
                if entry.idle || self.activity(owner).stopped || !self.account(owner).sent.pus.contains(pu) =>
            {
                self.let_go(pu, now);
            }
            (Some(owner), _) => self.announce(pu, owner),
        }
    }

    /// Every processor that an application owns or is to own is free, or goes to its next owner, at
    /// once.
    pub(crate) fn give_up_all(&mut self, slot: Slot, now: Nanos) {
        let mut pus = std::mem::take(&mut self.scratch);
        // Each processor it owns is in `own` or in `leaving`, so these are all.
        pus.extend(self.app(slot).own.iter());
        pus.extend(self.account(slot).leaving.iter());
        for pu in pus.drain(..) {
            if self.pus[pu.index()].next == Some(slot) {
                self.write_next(pu, None);
            }
            if self.pus[pu.index()].owner == Some(slot) {
                self.let_go(pu, now);
            }
        }
        self.scratch = pus;
        self.settle_leaving(slot);
    }

    /// An application vacates all its processors, as if others were next.
    pub(crate) fn lend_all(&mut self, slot: Slot, now: Nanos) {
        if self.app(slot).allocation == 0 {
            return;
        }
        let mut pus = std::mem::take(&mut self.scratch);
        pus.extend(self.app(slot).own.iter());
        for pu in pus.drain(..) {
            self.assign(pu, None, now);
        }
        self.scratch = pus;
    }

    /// Changes the next owner only; nothing follows from it yet.
    fn write_next(&mut self, pu: PuId, next: Option<Slot>) {
        let before = std::mem::replace(&mut self.pus[pu.index()].next, next);
        self.unplanned.pus.push(pu);
        self.wrote(pu);
        if let Some(slot) = before {
            let app = &mut self.apps[slot.index()];
            app.own.remove(pu);
            app.allocation -= 1;
            self.allocated -= 1;
            self.changed(slot);
        }
        if let Some(slot) = next {
            let app = &mut self.apps[slot.index()];
            app.own.insert(pu);
            app.allocation += 1;
            self.allocated += 1;
            self.changed(slot);
            self.mark(slot);
        }
    }

    /// A processor without an owner goes to this application.
    fn take(&mut self, pu: PuId, slot: Slot, now: Nanos) {
        let entry = &mut self.pus[pu.index()];
        self.unmanaged -= u32::from(entry.state == PuState::Unmanaged);
        (entry.owner, entry.state, entry.since_ns, entry.idle) = (Some(slot), PuState::Owned, now, false);
        self.account_for(slot, now);
        let account = &mut self.accounts[slot.index()];
        account.owned.insert(pu);
        account.on += 1;
        self.mark(slot);
    }

    /// The owner will have to vacate it, once it is told.
    fn announce(&mut self, pu: PuId, owner: Slot) {
        self.pus[pu.index()].state = PuState::Leaving;
        self.vacating.announce(pu);
        let account = &mut self.accounts[owner.index()];
        account.owned.remove(pu);
        account.leaving.insert(pu);
        self.mark(owner);
    }

    /// The owner keeps it after all.
    fn stay(&mut self, pu: PuId, owner: Slot) {
        self.pus[pu.index()].state = PuState::Owned;
        let account = &mut self.accounts[owner.index()];
        account.leaving.remove(pu);
        account.owned.insert(pu);
        self.mark(owner);
        self.settle_leaving(owner);
    }

    /// The owner has left the processor: the next owner has it.
    pub(super) fn let_go(&mut self, pu: PuId, now: Nanos) {
        let entry = &mut self.pus[pu.index()];
        let Some(owner) = entry.owner.take() else { return };
        (entry.state, entry.since_ns, entry.idle) = (PuState::Free, now, false);
        entry.last = Some(Former { slot: owner, app: self.apps[owner.index()].id });
        let next = entry.next;
        self.keep_before_processors(owner, pu, now);
        self.account_for(owner, now);
        let account = &mut self.accounts[owner.index()];
        account.owned.remove(pu);
        account.leaving.remove(pu);
        account.on -= 1;
        self.mark(owner);
        self.wrote(pu);
        self.changed(owner);
        match next {
            Some(slot) => self.take(pu, slot, now),
            None => self.freed = true,
        }
    }

    /// An application is about to lose this processor. Its before-processors are the ones that it
    /// has at its latest deallocation; those that it loses in the same moment are of one
    /// deallocation.
    fn keep_before_processors(&mut self, owner: Slot, pu: PuId, now: Nanos) {
        let account = &mut self.accounts[owner.index()];
        let held = &mut self.apps[owner.index()].held;
        if account.deallocated.replace(now) != Some(now) {
            held.clone_from(&account.owned);
            held.or_with(&account.leaving);
        }
        held.insert(pu);
    }

    /// An application with no processor to leave has no grace time either.
    pub(super) fn settle_leaving(&mut self, slot: Slot) {
        if self.account(slot).leaving.is_empty() {
            self.vacating.settle(slot);
        }
    }

    /// This processor is to be checked.
    fn wrote(&mut self, pu: PuId) {
        if self.written.pus.last() != Some(&pu) {
            self.written.pus.push(pu);
        }
    }

    /// This application is to be checked.
    pub(super) fn changed(&mut self, slot: Slot) {
        if self.written.apps.last() != Some(&slot) {
            self.written.apps.push(slot);
        }
    }
}
