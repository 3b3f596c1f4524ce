//! How a processor changes hands, in two phases. Knows nothing of why.
//!
//! [`Ledger::assign`] writes down who is next: one that is nobody's goes over at once, one that has an owner becomes `LEAVING` and stays its
//! owner's. [`Ledger::adopted`] (or a death) lets go of it, and the one that is next owns it. So a processor never has two owners, and
//! deciding again before the owner has answered only changes who is next.

use crate::event::Nanos;
use crate::ledger::Ledger;
use numaestro_policy::{Former, Plan, PuState, Slot};
use numaestro_topology::PuId;

impl Ledger {
    /// Carries a plan over.
    pub(crate) fn carry_out(&mut self, plan: &Plan, now: Nanos) {
        for &slot in plan.rehomed() {
            self.apps[slot.index()].home = plan.home(slot);
            self.mark(slot);
        }
        for &pu in plan.touched() {
            self.assign(pu, plan.next(pu), now);
        }
    }

    /// Writes down who is next.
    pub(crate) fn assign(&mut self, pu: PuId, next: Option<Slot>, now: Nanos) {
        let entry = &self.pus[pu.index()];
        let owner = entry.owner;
        if entry.next == next {
            return;
        }
        self.write_next(pu, next);
        match (owner, next) {
            (None, Some(slot)) => self.take(pu, slot, now),
            (Some(owner), next) if next == Some(owner) => self.stay(pu, owner),
            // What its owner has not been told of, has nothing on or does not run on needs no vacating.
            (Some(owner), _)
                if self.pus[pu.index()].state == PuState::Owned
                    && (self.pus[pu.index()].idle
                        || self.account(owner).stopped
                        || !self.account(owner).sent.pus.contains(pu)) =>
            {
                self.let_go(pu, now);
            }
            (Some(owner), _) if self.pus[pu.index()].state == PuState::Owned => self.announce(pu, owner),
            _ => {}
        }
    }

    /// Another one is next, and nothing has followed from it yet.
    pub(crate) fn write_next(&mut self, pu: PuId, next: Option<Slot>) {
        let before = std::mem::replace(&mut self.pus[pu.index()].next, next);
        self.news.pus.push(pu);
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

    /// Nobody's becomes somebody's.
    fn take(&mut self, pu: PuId, slot: Slot, now: Nanos) {
        let entry = &mut self.pus[pu.index()];
        (entry.owner, entry.state, entry.since_ns, entry.idle) = (Some(slot), PuState::Owned, now, false);
        self.apps[slot.index()].held.remove(pu);
        self.account_for(slot, now);
        let account = self.account_mut(slot);
        account.owned.insert(pu);
        account.on += 1;
        self.mark(slot);
    }

    /// The owner will have to vacate it, once it is told.
    fn announce(&mut self, pu: PuId, owner: Slot) {
        self.pus[pu.index()].state = PuState::Leaving;
        self.leave_epoch[pu.index()] = 0;
        let account = self.account_mut(owner);
        account.owned.remove(pu);
        account.leaving.insert(pu);
        self.mark(owner);
    }

    /// The owner keeps it after all.
    fn stay(&mut self, pu: PuId, owner: Slot) {
        self.pus[pu.index()].state = PuState::Owned;
        let account = self.account_mut(owner);
        account.leaving.remove(pu);
        account.owned.insert(pu);
        self.mark(owner);
        self.settle_leaving(owner);
    }

    /// The owner is not on it any more: the one that is next has it.
    pub(crate) fn let_go(&mut self, pu: PuId, now: Nanos) {
        let entry = &mut self.pus[pu.index()];
        let Some(owner) = entry.owner.take() else { return };
        (entry.state, entry.since_ns, entry.idle) = (PuState::Free, now, false);
        entry.last = Some(Former { slot: owner, app: self.apps[owner.index()].id });
        let next = entry.next;
        self.apps[owner.index()].held.insert(pu);
        self.account_for(owner, now);
        let account = self.account_mut(owner);
        account.owned.remove(pu);
        account.leaving.remove(pu);
        account.on -= 1;
        self.mark(owner);
        self.wrote(pu);
        self.changed(owner);
        if let Some(slot) = next {
            self.take(pu, slot, now);
        }
    }
}
