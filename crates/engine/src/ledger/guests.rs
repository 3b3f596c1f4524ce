//! Records the applications that run on processors of others. A target says whether its processors
//! are shared, so each change marks the owner and the other guests.

use super::Ledger;
use crate::account::Phase;
use numaestro_policy::{PuState, Slot};
use numaestro_topology::{PuId, PuSet};

/// Says whether guests may run on a processor in this state.
pub(crate) fn is_place(state: PuState) -> bool {
    matches!(state, PuState::Free | PuState::Owned | PuState::Leaving)
}

impl Ledger {
    /// An application is a guest on one more processor.
    pub(crate) fn add_guest(&mut self, slot: Slot, pu: PuId) {
        self.accounts[slot.index()].guest_of.insert(pu);
        self.pus[pu.index()].guests += 1;
        self.guest_changed(slot, pu);
    }

    /// An application is not a guest on this processor any more.
    pub(crate) fn remove_guest(&mut self, slot: Slot, pu: PuId) {
        self.accounts[slot.index()].guest_of.remove(pu);
        self.pus[pu.index()].guests -= 1;
        self.guest_changed(slot, pu);
    }

    /// An application is a guest nowhere any more.
    pub(crate) fn remove_guests(&mut self, slot: Slot) {
        if self.account(slot).guest_of.is_empty() {
            return;
        }
        let mut left = std::mem::take(&mut self.accounts[slot.index()].guest_of);
        self.mark(slot);
        self.changed(slot);
        for pu in &left {
            self.pus[pu.index()].guests -= 1;
            self.mark_owners(pu);
        }
        self.mark_guests(|guest_of| guest_of.intersects(&left));
        // Its memory is used again.
        left.clear();
        self.accounts[slot.index()].guest_of = left;
    }

    /// All applications in `order` become guests on every processor that they may have. Nobody owns
    /// any.
    pub(crate) fn add_guests_everywhere(&mut self, order: &[Slot]) {
        let places = self.pus.iter().filter(|pu| is_place(pu.state)).count();
        for &slot in order {
            let bounded = self.within(slot).is_some();
            if !bounded && self.account(slot).guest_of.len() == places {
                continue;
            }
            for index in 0..self.pus.len() {
                let pu = PuId(index as u32);
                if bounded && !self.account(slot).within.contains(pu) {
                    if self.account(slot).guest_of.contains(pu) {
                        self.remove_guest(slot, pu);
                    }
                } else if is_place(self.pus[index].state) && self.accounts[slot.index()].guest_of.insert(pu) {
                    self.pus[index].guests += 1;
                    self.written.pus.push(pu);
                    self.mark(slot);
                }
            }
        }
    }

    /// A guest has begun or ceased to use the processors it is on: their owners may have to be
    /// told.
    pub(crate) fn mark_hosts(&mut self, slot: Slot) {
        let on = std::mem::take(&mut self.accounts[slot.index()].guest_of);
        for pu in &on {
            self.mark_owners(pu);
        }
        self.accounts[slot.index()].guest_of = on;
    }

    /// Says whether a guest uses this processor: a guest that waits for something outside does not.
    pub(crate) fn runs_a_guest(&self, pu: PuId) -> bool {
        let uses = |&slot: &Slot| {
            let account = self.account(slot);
            account.phase == Phase::Running && account.guest_of.contains(pu) && !account.activity.blocked
        };
        self.pu(pu).guests > 0 && self.started.iter().any(uses)
    }

    /// All applications on this processor may have to be told whether it is shared.
    fn guest_changed(&mut self, slot: Slot, pu: PuId) {
        self.mark(slot);
        self.changed(slot);
        self.mark_owners(pu);
        if self.pus[pu.index()].guests > 0 {
            self.mark_guests(|guest_of| guest_of.contains(pu));
        }
    }

    fn mark_owners(&mut self, pu: PuId) {
        self.written.pus.push(pu);
        let entry = self.pus[pu.index()];
        for owner in [entry.owner, entry.next].into_iter().flatten() {
            self.mark(owner);
        }
    }

    fn mark_guests(&mut self, there: impl Fn(&PuSet) -> bool) {
        for index in 0..self.started.len() {
            let other = self.started[index];
            let account = self.account(other);
            if account.phase == Phase::Running && there(&account.guest_of) {
                self.mark(other);
            }
        }
    }
}
