//! The only processors that an application may have.

use super::Ledger;
use numaestro_policy::Slot;
use numaestro_topology::PuSet;

impl Ledger {
    /// An application may have these processors only; empty: any. False if that is nothing new.
    pub(crate) fn allow(&mut self, slot: Slot, pus: &PuSet) -> bool {
        let allowed = &mut self.accounts[slot.index()].allowed;
        if allowed == pus {
            return false;
        }
        allowed.clone_from(pus);
        let before = self.account(slot).within.clone();
        self.bound(slot);
        before != self.account(slot).within
    }

    /// Other processors are usable now.
    pub(super) fn bound_all(&mut self) {
        for index in 0..self.accounts.len() {
            if !self.accounts[index].allowed.is_empty() {
                self.bound(Slot(index as u32));
            }
        }
    }

    fn bound(&mut self, slot: Slot) {
        let account = &mut self.accounts[slot.index()];
        let before = !account.within.is_empty();
        account.within.clone_from(&account.allowed);
        account.within.and_with(&self.usable);
        if account.within.len() == self.usable.len() {
            account.within.clear();
        }
        let after = !account.within.is_empty();
        self.special.bounded = self.special.bounded - u32::from(before) + u32::from(after);
        self.mark(slot);
        self.changed(slot);
    }

    /// Says whether some application may have some of the usable processors only.
    pub(crate) fn bounds(&self) -> bool {
        self.special.bounded > 0
    }

    /// The only processors that an application may have, if these are not all.
    pub(crate) fn within(&self, slot: Slot) -> Option<&PuSet> {
        Some(&self.account(slot).within).filter(|within| !within.is_empty())
    }

    /// An application is gone.
    pub(super) fn unbound(&mut self, slot: Slot) {
        self.special.bounded -= u32::from(self.within(slot).is_some());
    }
}
