//! What happens to an application between its arrival and its end: it wants another number of processors, works alone, waits, is there for
//! its children only. Knows nothing of what it will get.

use crate::engine::Engine;
use crate::event::Action;
use crate::guests::{Guests, uses_changed};
use crate::ledger::Phase;
use numaestro_policy::Slot;

impl Engine {
    pub(crate) fn depart(&mut self, slot: Slot) -> bool {
        self.only_queue = self.ledger.account(slot).phase == Phase::Waiting;
        Guests::forget(&mut self.ledger, slot);
        self.ledger.leave(slot, self.now);
        self.subject = None;
        true
    }

    pub(crate) fn request(&mut self, slot: Slot, processors: u32, actions: &mut Vec<Action>) -> bool {
        let account = self.ledger.account_mut(slot);
        if account.limits.request == processors {
            return false;
        }
        account.limits.request = processors;
        let before = account.phase;
        match (before, processors) {
            (Phase::Wrapper, 0) | (Phase::Gone, _) => return false,
            (_, 0) => self.wrap(slot, actions),
            (Phase::Wrapper, _) => {
                self.ledger.account_mut(slot).phase = Phase::Running;
                self.ledger.regrouped = true;
                self.ledger.mark(slot);
                self.ledger.changed(slot);
            }
            (Phase::Waiting, _) => self.only_queue = true,
            (Phase::Running, _) => {}
        }
        self.refresh_wish(slot);
        true
    }

    /// It holds nothing of its own from now on; its children do.
    pub(crate) fn wrap(&mut self, slot: Slot, actions: &mut Vec<Action>) {
        self.ledger.account_mut(slot).blocked = false;
        Guests::forget(&mut self.ledger, slot);
        self.ledger.give_up_all(slot, self.now);
        if self.ledger.apps[slot.index()].home.take().is_some() {
            self.ledger.news.homes.push(slot);
        }
        if self.ledger.account(slot).phase == Phase::Waiting {
            if let Some(at) = self.ledger.place_in_queue(slot) {
                self.ledger.queue.remove(at);
            }
            self.ledger.start(slot, Phase::Wrapper, self.now);
            actions.push(Action::Start { app: self.ledger.app(slot).id });
        }
        let account = self.ledger.account_mut(slot);
        (account.phase, account.pinned) = (Phase::Wrapper, false);
        self.ledger.regrouped = true;
        self.ledger.mark(slot);
    }

    pub(crate) fn sequential(&mut self, slot: Slot, sequential: bool) -> bool {
        let allocation = self.ledger.app(slot).allocation;
        let account = self.ledger.account_mut(slot);
        let changed = account.sequential != sequential;
        let was_blocked = std::mem::take(&mut account.blocked);
        account.sequential = sequential;
        if changed {
            account.parallel_count = allocation;
        }
        let decides = (changed || was_blocked) && account.phase == Phase::Running;
        self.reclaims = decides && !sequential;
        self.ledger.regrouped |= was_blocked;
        if changed || was_blocked {
            self.ledger.mark(slot);
            self.refresh_wish(slot);
        }
        if was_blocked {
            uses_changed(&mut self.ledger, slot);
        }
        decides
    }

    /// Who has a claim to keep what it has, or has nothing of its own, stays as it is.
    pub(crate) fn blocked(&mut self, slot: Slot) -> bool {
        let allocation = self.ledger.app(slot).allocation;
        let account = self.ledger.account_mut(slot);
        // One that has been stopped said so before.
        let nothing = allocation == 0 && !account.stopped;
        if account.phase != Phase::Running || account.pinned || account.blocked || nothing {
            return false;
        }
        if !account.sequential {
            account.parallel_count = allocation;
        }
        (account.sequential, account.blocked) = (true, true);
        self.ledger.regrouped = true;
        self.ledger.mark(slot);
        self.ledger.lend_all(slot, self.now);
        self.refresh_wish(slot);
        true
    }
}
