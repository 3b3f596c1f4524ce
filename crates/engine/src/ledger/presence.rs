//! Processors go offline and come back, and are left to load that is not managed.

use super::Ledger;
use crate::account::Account;
use crate::event::Nanos;
use numaestro_policy::PuState;
use numaestro_topology::{PuId, PuSet};

impl Ledger {
    /// PUs that may be given to applications now or when they come back.
    pub(crate) fn not_reserved(&self) -> PuSet {
        let there = self.pus.iter().enumerate().filter(|(_, pu)| pu.state != PuState::Reserved);
        there.map(|(index, _)| PuId(index as u32)).collect()
    }

    /// A processor is gone. Its owner loses it at once.
    pub(crate) fn offline(&mut self, pu: PuId, now: Nanos) {
        self.assign(pu, None, now);
        if let Some(owner) = self.pus[pu.index()].owner {
            self.let_go(pu, now);
            self.settle_leaving(owner);
        }
        self.unmanaged -= u32::from(self.pus[pu.index()].state == PuState::Unmanaged);
        self.pus[pu.index()].guests = 0;
        self.set_state(pu, PuState::Offline);
        self.usable.remove(pu);
        self.bound_all();
        for index in 0..self.started.len() {
            let slot = self.started[index];
            if self.accounts[slot.index()].guest_of.remove(pu) {
                self.mark(slot);
                self.changed(slot);
            }
        }
    }

    /// A processor is back.
    pub(crate) fn online(&mut self, pu: PuId, now: Nanos) {
        self.pus[pu.index()].since_ns = now;
        self.set_state(pu, PuState::Free);
        self.usable.insert(pu);
        self.bound_all();
    }

    /// Leaves a free processor to load that is not managed.
    pub(crate) fn leave_to_unmanaged(&mut self, pu: PuId) {
        self.set_state(pu, PuState::Unmanaged);
        self.unmanaged += 1;
    }

    /// Unmanaged load is on at most so many processors: the others can be given again.
    pub(crate) fn take_from_unmanaged(&mut self, most: u32) {
        if self.unmanaged <= most {
            return;
        }
        let mut kept = 0;
        for index in 0..self.pus.len() {
            if self.pus[index].state == PuState::Unmanaged {
                if kept == most {
                    self.set_state(PuId(index as u32), PuState::Free);
                } else {
                    kept += 1;
                }
            }
        }
        self.unmanaged = kept;
    }

    /// Load that is not managed can be anywhere, and bounded applications cannot: it is left other
    /// processors than theirs.
    pub(crate) fn take_bounded_from_unmanaged(&mut self) {
        if !self.bounds() || self.unmanaged == 0 {
            return;
        }
        for index in 0..self.pus.len() {
            let pu = PuId(index as u32);
            let wanted = |account: &Account| account.within.contains(pu);
            if self.pus[index].state == PuState::Unmanaged && self.accounts.iter().any(wanted) {
                self.set_state(pu, PuState::Free);
                self.unmanaged -= 1;
            }
        }
    }

    fn set_state(&mut self, pu: PuId, state: PuState) {
        self.pus[pu.index()].state = state;
        self.unplanned.pus.push(pu);
        self.written.pus.push(pu);
    }
}
