//! One decision: who may start, who runs now, how many, which ones. Knows no policy's rules.

use crate::engine::Engine;
use crate::event::Action;
use crate::guests::Guests;
use crate::hysteresis::keep_roundings;
use crate::ledger::Phase;
use numaestro_policy::{Offer, PuState, Slot, View};

/// The view, borrowed from parts of the engine so that the policy can be borrowed too.
macro_rules! view {
    ($engine:ident) => {
        View {
            now_ns: $engine.now,
            machine: &$engine.machine,
            pus: &$engine.ledger.pus,
            apps: &$engine.ledger.apps,
            order: &$engine.order,
            capacity: $engine.capacity,
            threads: &[],
        }
    };
}

impl Engine {
    /// Decides, and writes the decision into the ledger.
    pub(crate) fn decide(&mut self, actions: &mut Vec<Action>) {
        self.decisions += 1;
        self.refresh();
        self.admit(actions);
        let mut running = std::mem::take(&mut self.order);
        self.turn_ends = self.policy.turns.now(&view!(self), &mut running);
        self.order = running;
        if self.policy.share.space_shares() {
            self.divide_and_place();
            self.ledger.carry_out(&self.plan, self.now);
            self.host_blocked();
            self.guests.spread(&self.machine, &mut self.ledger, &self.order);
        } else {
            self.divide();
            self.share_everything();
        }
        let again = self.policy.share.until(&view!(self));
        self.turn_ends = [self.turn_ends, again].into_iter().flatten().min();
        self.order.retain(|&slot| !self.ledger.account(slot).blocked);
    }

    /// Counts and places. A selective placement may give an application less than its share; then what that leaves is divided again.
    fn divide_and_place(&mut self) {
        loop {
            self.divide();
            self.lend_back();
            if !self.settings.move_for_rounding {
                keep_roundings(&self.ledger, &self.order, self.capacity, self.subject, &mut self.shares);
            }
            let view = view!(self);
            self.plan.reset(&view);
            self.policy.placement.place(&view, &self.shares, &mut self.plan);
            if !self.policy.placement.selective() || !self.lower_caps() {
                return;
            }
        }
    }

    /// Caps those that were given less than their share at what they were given. False if nobody was, so that it ends: caps only fall.
    fn lower_caps(&mut self) -> bool {
        let mut lowered = false;
        for &slot in &self.order {
            let (placed, app) = (self.plan.count(slot), &mut self.ledger.apps[slot.index()]);
            if placed < self.shares.count(slot) && placed < app.placeable {
                app.placeable = placed;
                lowered = true;
            }
        }
        lowered
    }

    /// Nobody owns anything; everybody is everywhere, with as many threads as the share part says.
    fn share_everything(&mut self) {
        for index in 0..self.order.len() {
            let slot = self.order[index];
            self.ledger.lend_all(slot, self.now);
            let team = self.shares.count(slot);
            let account = self.ledger.account_mut(slot);
            account.dirty |= std::mem::replace(&mut account.team, team) != team;
        }
        Guests::everywhere(&mut self.ledger, &self.order);
    }

    /// Blocked applications take no part in the division; they are somebody's guests.
    fn host_blocked(&mut self) {
        for &slot in &self.ledger.arrival {
            let account = self.ledger.account(slot);
            if account.phase == Phase::Running && account.blocked && !account.pinned {
                let at = self.order.partition_point(|&other| self.ledger.app(other).id < self.ledger.app(slot).id);
                self.order.insert(at, slot);
            }
        }
    }

    /// What policies see of wishes, and how many processors there are to divide.
    fn refresh(&mut self) {
        let usable = self.ledger.usable.len() as u32;
        let space_shares = self.policy.share.space_shares();
        let mut pinned = 0;
        self.order.clear();
        for &slot in &self.ledger.arrival {
            let account = &mut self.ledger.accounts[slot.index()];
            let app = &mut self.ledger.apps[slot.index()];
            let limits = account.limits;
            let lowered = account.sequential && space_shares;
            account.team = if space_shares { 0 } else { account.team };
            (app.placeable, app.estimate_ns) = (u32::MAX, limits.estimate_ns);
            app.request = if lowered { 1 } else { limits.request.clamp(1, usable) };
            app.min = if lowered { 1 } else { limits.min };
            app.max = limits.max.max(app.min);
            app.weight_milli = limits.weight_milli;
            account.pinned &= app.allocation > 0;
            if account.pinned {
                pinned += app.allocation;
            } else if account.phase == Phase::Running && !account.blocked {
                self.order.push(slot);
            }
        }
        let unmanaged = self.unmanaged.min(usable - 1);
        self.capacity = (usable - unmanaged).saturating_sub(pinned);
        self.unmark_unmanaged(unmanaged as usize);
    }

    /// Processors that unmanaged load has left can be given again.
    fn unmark_unmanaged(&mut self, unmanaged: usize) {
        let marked = self.ledger.pus.iter_mut().filter(|pu| pu.state == PuState::Unmanaged);
        for pu in marked.skip(unmanaged) {
            pu.state = PuState::Free;
        }
    }

    /// Starts those in the queue that may start, and tells the others their place.
    fn admit(&mut self, actions: &mut Vec<Action>) {
        let (mut blocked, mut place) = (false, 0);
        for index in 0..self.ledger.arrival.len() {
            let slot = self.ledger.arrival[index];
            if self.ledger.account(slot).phase != Phase::Waiting {
                continue;
            }
            let wait = self.ledger.account(slot).limits.wait.unwrap_or_else(|| self.policy.admission.queues());
            let at = self.order.partition_point(|&other| self.ledger.app(other).id < self.ledger.app(slot).id);
            self.order.insert(at, slot);
            let starts = !wait || !blocked && self.may_start(slot);
            let app = self.ledger.app(slot).id;
            let account = self.ledger.account_mut(slot);
            if starts {
                (account.phase, account.dirty, account.position) = (Phase::Running, true, 0);
                self.ledger.apps[slot.index()].started_ns = self.now;
                actions.push(Action::Start { app });
            } else {
                self.order.remove(at);
                (blocked, place) = (true, place + 1);
                if account.position != place {
                    account.position = place;
                    actions.push(Action::Wait { app, position: place });
                }
            }
        }
    }

    /// Asks what the share part would give it, and what of that the placement finds.
    fn may_start(&mut self, slot: Slot) -> bool {
        let selective = self.policy.placement.selective();
        if selective {
            self.divide_and_place();
        } else {
            self.divide();
        }
        let served = |&&other: &&Slot| other == slot || self.shares.count(other) >= self.ledger.app(other).min;
        let others_served = self.order.iter().filter(served).count() == self.order.len();
        let offer = Offer { count: self.shares.count(slot), others_served };
        if self.ledger.account(slot).limits.wait == Some(true) {
            return offer.suffices(self.ledger.app(slot).min);
        }
        self.policy.admission.starts(&view!(self), slot, offer)
    }

    fn divide(&mut self) {
        self.shares.reset(self.ledger.apps.len());
        self.policy.share.divide(&view!(self), &mut self.shares);
    }

    /// Processors of sequential applications that nobody wants stay with them.
    fn lend_back(&mut self) {
        let mut left = self.capacity - self.shares.total();
        for &slot in &self.order {
            let account = self.ledger.account(slot);
            let count = self.shares.count(slot);
            if account.sequential && count > 0 {
                let back = left.min(account.parallel_count.saturating_sub(count));
                self.shares.set(slot, count + back);
                left -= back;
            }
        }
    }
}
