//! Who of those that wait starts now, and what the others are told. Knows no policy's rules.

use crate::decision::view;
use crate::engine::Engine;
use crate::event::Action;
use crate::ledger::Phase;
use numaestro_policy::{Offer, PuState, Queue, Slot, View};

impl Engine {
    /// Starts those in the queue that may start, and tells the others their place. True if somebody was started.
    pub(crate) fn admit(&mut self, actions: &mut Vec<Action>) -> bool {
        self.fresh.clear();
        if !self.ledger.queue.is_empty() {
            if self.policy.admission.queues() {
                self.admit_in_turn(actions);
            }
            self.admit_without_turn(actions);
            self.admit_whom_nothing_helps(actions);
        }
        self.tell_places(actions);
        !self.fresh.is_empty()
    }

    /// Those that the admission part finds.
    fn admit_in_turn(&mut self, actions: &mut Vec<Action>) {
        let kept = |&slot: &Slot| {
            let app = self.ledger.app(slot);
            app.allocation.min(app.wanted(self.capacity))
        };
        let mut free = self.capacity.saturating_sub(self.order.iter().map(kept).sum());
        let mut from = 0;
        loop {
            let queue = Queue { waiting: self.ledger.queue.waiting(), started: &self.fresh, free };
            let Some(at) = self.policy.admission.next(&view!(self), queue, from) else { return };
            let waiting = queue.waiting[at];
            from = at + 1;
            if self.try_start(waiting.app, true) {
                self.start_at(at, actions);
                free = free.saturating_sub(waiting.need(self.capacity));
                from = at;
            }
        }
    }

    /// Those that do not wish to wait; and where admission does not queue, everybody but those that wish to.
    fn admit_without_turn(&mut self, actions: &mut Vec<Action>) {
        let queues = self.policy.admission.queues();
        let (mut at, mut blocked) = (if queues { self.ledger.queue.len().saturating_sub(1) } else { 0 }, false);
        while let Some(waiting) = self.ledger.queue.waiting().get(at).copied() {
            let wait = self.ledger.account(waiting.app).limits.wait.unwrap_or(queues);
            if !wait || !queues && !blocked && self.try_start(waiting.app, true) {
                if !wait {
                    self.try_start(waiting.app, false);
                }
                self.start_at(at, actions);
            } else {
                (at, blocked) = (at + 1, true);
            }
        }
    }

    /// Where nobody runs and every processor is there, waiting longer helps nobody: whoever is first starts with what there is for it (a minimum
    /// that the policy never gives would else hold up all those behind it for ever).
    fn admit_whom_nothing_helps(&mut self, actions: &mut Vec<Action>) {
        let somebody_runs = self.ledger.started.iter().any(|&slot| self.ledger.account(slot).phase == Phase::Running);
        let all_there = self.unmanaged == 0 && self.ledger.pus.iter().all(|pu| pu.state != PuState::Offline);
        if somebody_runs || !all_there {
            return;
        }
        if let Some(first) = self.ledger.queue.waiting().first().copied() {
            self.try_start(first.app, false);
            self.start_at(0, actions);
        }
    }

    /// Puts one among those that run, if it `may_start` or does not have to.
    fn try_start(&mut self, slot: Slot, has_to: bool) -> bool {
        let at = self.ledger.place_in(&self.order, slot);
        self.order.insert(at, slot);
        let starts = !has_to || self.may_start(slot);
        if !starts {
            self.order.remove(at);
        }
        starts
    }

    /// One that is among those that run leaves the queue.
    fn start_at(&mut self, at: usize, actions: &mut Vec<Action>) {
        let waiting = self.ledger.queue.remove(at);
        self.ledger.start(waiting.app, Phase::Running, self.now);
        self.fresh.push(waiting);
        actions.push(Action::Start { app: self.ledger.app(waiting.app).id });
    }

    /// Tells those in the queue whose place has changed, as far as they are to know; new ones always.
    fn tell_places(&mut self, actions: &mut Vec<Action>) {
        let moved = self.ledger.queue.take_moved();
        let len = self.ledger.queue.len();
        let known = (self.settings.positions as usize).min(len);
        for at in moved..known {
            self.tell_place(at, actions);
        }
        let mut new = len;
        let told = |engine: &Self, at: usize| engine.ledger.account(engine.ledger.queue.waiting()[at].app).position > 0;
        while new > moved.max(known) && !told(self, new - 1) {
            new -= 1;
        }
        for at in new..len {
            self.tell_place(at, actions);
        }
    }

    fn tell_place(&mut self, at: usize, actions: &mut Vec<Action>) {
        let slot = self.ledger.queue.waiting()[at].app;
        let position = at as u32 + 1;
        if std::mem::replace(&mut self.ledger.account_mut(slot).position, position) != position {
            actions.push(Action::Wait { app: self.ledger.app(slot).id, position });
        }
    }

    /// Asks what the share part would give it, and what of that the placement finds.
    fn may_start(&mut self, slot: Slot) -> bool {
        let selective = self.regime.selects() && self.regime.owns();
        if selective {
            self.divide_and_place();
        } else {
            self.divide();
        }
        // What a selective placement has not found is not offered.
        let count = |slot: Slot| if selective { self.plan.count(slot) } else { self.shares.count(slot) };
        let served = |&&other: &&Slot| other == slot || count(other) >= self.ledger.app(other).min;
        let others_served = self.order.iter().filter(served).count() == self.order.len();
        let offer = Offer { count: count(slot), others_served };
        if !self.policy.admission.queues() {
            return offer.suffices(self.ledger.app(slot).min);
        }
        self.policy.admission.starts(&view!(self), slot, offer)
    }
}
