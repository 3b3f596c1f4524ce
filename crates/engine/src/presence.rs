//! Which processors there are: those that go offline and come back, and those that load takes that is not managed. Knows nothing of who gets them.

use crate::engine::Engine;
use crate::event::Action;
use crate::ledger::Phase;
use numaestro_policy::PuState;
use numaestro_topology::PuId;

impl Engine {
    pub(crate) fn offline(&mut self, pu: PuId, actions: &mut Vec<Action>) -> bool {
        if !self.ledger.usable.contains(pu) {
            return false;
        }
        if self.ledger.usable.len() == 1 {
            let reason = format!("PU {pu} is the last one; it stays until another one is there");
            actions.push(Action::Refuse { app: None, reason });
            return false;
        }
        self.ledger.offline(pu, self.now);
        self.dirty_wrappers();
        true
    }

    pub(crate) fn online(&mut self, pu: PuId) -> bool {
        let known = pu.index() < self.machine.pu_count() && !self.settings.reserved.contains(pu);
        let come_back = known && !self.ledger.usable.contains(pu);
        if come_back {
            self.ledger.online(pu, self.now);
            self.dirty_wrappers();
        }
        come_back
    }

    /// Wrappers may run anywhere, and anywhere has changed; so have the clamps of wishes.
    pub(crate) fn dirty_wrappers(&mut self) {
        self.wishes_stale = true;
        for index in 0..self.ledger.started.len() {
            let slot = self.ledger.started[index];
            if self.ledger.account(slot).phase == Phase::Wrapper {
                self.ledger.mark(slot);
            }
        }
    }

    /// More takes effect at once, less when it has lasted.
    pub(crate) fn note_unmanaged(&mut self, processors: u32) -> bool {
        if processors < self.unmanaged {
            if self.unmanaged_soon.is_none_or(|(soon, _)| soon != processors) {
                self.unmanaged_soon = Some((processors, self.now.saturating_add(self.settings.cooldown_ns)));
            }
            return false;
        }
        let changed = processors > self.unmanaged;
        (self.unmanaged, self.unmanaged_soon) = (processors, None);
        changed
    }

    /// Marks as many free processors as unmanaged load takes, beside those that are marked already: siblings of marked ones first,
    /// then the last ones in hardware order.
    pub(crate) fn mark_unmanaged(&mut self) {
        let pus = self.ledger.pus.iter();
        let marked = pus.filter(|pu| pu.state == PuState::Unmanaged).count();
        for _ in marked..(self.unmanaged as usize).min(self.ledger.usable.len() - 1) {
            let pus = &self.ledger.pus;
            let free = pus
                .iter()
                .enumerate()
                .filter(|(_, pu)| pu.state == PuState::Free && pu.next.is_none() && pu.guests == 0);
            let beside = |index: usize| {
                let mut siblings = self.machine.smt_siblings(PuId(index as u32)).iter();
                siblings.any(|sibling| pus[sibling.index()].state == PuState::Unmanaged)
            };
            let Some((index, _)) = free.max_by_key(|&(index, _)| (beside(index), index)) else { return };
            self.ledger.set_unmanaged(PuId(index as u32), true);
        }
    }
}
