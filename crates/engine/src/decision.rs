//! One decision: who may start, who runs now, how many, which ones. Knows no policy's rules.

use crate::engine::Engine;
use crate::event::Action;
use crate::guests::Guests;
use crate::hysteresis::keep_roundings;
use crate::ledger::Phase;
use numaestro_policy::{PuState, Slot, View};
use numaestro_topology::PuId;

/// Most threads of one application where processors have no owners, so that sums stay far from overflow.
const THREADS_MAX: u32 = 1 << 16;

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
            threads: &$engine.threads,
            buses: &$engine.settings.buses,
            free_memory: &$engine.free_memory,
        }
    };
}

pub(crate) use view;

impl Engine {
    /// Decides, and writes the decision into the ledger.
    pub(crate) fn decide(&mut self, actions: &mut Vec<Action>) {
        self.decisions += 1;
        self.refresh();
        // What the division after this turn would be is what those that wait ask for.
        self.forget_limits();
        let work_list = self.work_list.take();
        self.ledger.forget_old_reports();
        let in_force = self.parties.in_force;
        self.note_bounds();
        let nobody_started = !self.admit(actions);
        // A trial has changed what a selective placement can give; only a decision sets that right.
        let tried = !self.ledger.queue.is_empty() && self.regime.selects();
        if nobody_started && self.only_queue && !tried {
            // Those that run are the same, with the same wishes, on the same processors.
            self.set_limits();
            self.work_list = work_list;
            self.parties.in_force = in_force;
            self.restore_bounds();
            return;
        }
        self.take_turns();
        if self.regime.owns() {
            self.divide_and_place();
            self.ledger.carry_out(&self.plan, self.now);
            self.stop_those_without(actions);
            self.host();
            self.guests.spread(&self.machine, &mut self.ledger, &self.hosted, self.parties.in_force);
        } else {
            self.host();
            std::mem::swap(&mut self.order, &mut self.hosted);
            self.divide();
            self.share_everything();
            std::mem::swap(&mut self.order, &mut self.hosted);
        }
        self.note_division();
        self.check_parties();
    }

    /// What the division leaves behind for policies to see, and when it wants to be made again.
    fn note_division(&mut self) {
        if self.work_list.is_none() {
            self.left_over = self.capacity.saturating_sub(self.shares.total());
        }
        for &(slot, search) in self.shares.searches() {
            self.ledger.apps[slot.index()].search = search;
        }
        self.ledger.forget_old_reports();
        // What it wanted to be asked for has been asked.
        let again = self.policy.share.until(&view!(self)).filter(|&at| at > self.now);
        self.turn_ends = [self.turn_until, again].into_iter().flatten().min();
    }

    /// Counts and places. A selective placement may give an application less than its share; then what that leaves is divided again.
    pub(crate) fn divide_and_place(&mut self) {
        if self.regime.selects() {
            for &slot in &self.order {
                self.ledger.apps[slot.index()].placeable = u32::MAX;
            }
        }
        loop {
            self.divide();
            self.lend_back();
            if !self.settings.move_for_rounding && self.work_list.is_none() {
                keep_roundings(&self.ledger, &self.order, self.capacity, self.subject, &mut self.shares);
            }
            let view = view!(self);
            self.plan.follow(&view, &self.ledger.news.pus, &self.ledger.news.homes);
            self.ledger.news.pus.clear();
            self.ledger.news.homes.clear();
            self.policy.placement.place(&view, &self.shares, &mut self.plan);
            if !self.regime.selects() || !self.lower_caps() {
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
            if std::mem::replace(&mut account.team, team) != team {
                self.ledger.mark(slot);
            }
        }
        Guests::everywhere(&mut self.ledger, &self.order);
    }

    /// Who takes part, what policies see of wishes, and how many processors there are to divide.
    fn refresh(&mut self) {
        if std::mem::take(&mut self.wishes_stale) {
            for index in 0..self.ledger.started.len() {
                self.refresh_wish(self.ledger.started[index]);
            }
            for index in 0..self.ledger.queue.len() {
                self.refresh_wish(self.ledger.queue.waiting()[index].app);
            }
        }
        let usable = self.ledger.usable.len() as u32;
        self.ledger.there_is = usable.saturating_sub(self.unmanaged).max(1);
        let pinned = if self.ledger.some.pinned { self.keep_pinned() } else { 0 };
        if std::mem::take(&mut self.ledger.regrouped) || self.regime.stops() {
            self.order.clear();
            for index in 0..self.ledger.started.len() {
                let slot = self.ledger.started[index];
                if self.takes_turns(slot) {
                    self.order.push(slot);
                }
            }
        }
        // Where processors have no owners, none is left to anybody in particular.
        let unmanaged = if self.regime.owns() { self.unmanaged.min(usable - 1) } else { 0 };
        self.capacity = (usable - unmanaged).saturating_sub(pinned);
        self.unmark_unmanaged(unmanaged as usize);
    }

    /// What policies see of the wishes of one application.
    pub(crate) fn refresh_wish(&mut self, slot: Slot) {
        let usable = self.ledger.usable.len() as u32;
        let space_shares = self.regime.owns();
        let most_of_party = self.most_of(self.ledger.app(slot).party);
        let account = &mut self.ledger.accounts[slot.index()];
        let app = &mut self.ledger.apps[slot.index()];
        let limits = account.limits;
        let lowered = account.sequential && space_shares;
        account.team = if space_shares { 0 } else { account.team };
        (app.placeable, app.estimate_ns) = (u32::MAX, limits.estimate_ns);
        app.entitled = if space_shares { most_of_party } else { u32::MAX };
        // Where processors have no owners, counts are threads, of which there may be more than processors.
        let most = if space_shares { usable } else { THREADS_MAX };
        app.request = if lowered { 1 } else { limits.request.clamp(1, most) };
        app.min = if lowered { 1 } else { limits.min };
        app.max = limits.max.max(app.min);
        app.weight_milli = limits.weight_milli;
        if account.phase == Phase::Waiting
            && let Some(at) = self.ledger.place_in_queue(slot)
        {
            let processors = self.ledger.app(slot).cap(u32::MAX);
            self.ledger.queue.waiting_mut()[at].processors = processors;
        }
    }

    /// Processors of those that keep what they have.
    fn keep_pinned(&mut self) -> u32 {
        let mut pinned = 0;
        self.ledger.some.pinned = false;
        for &slot in &self.ledger.started {
            let (app, account) = (&self.ledger.apps[slot.index()], &mut self.ledger.accounts[slot.index()]);
            if account.pinned {
                account.pinned = app.allocation > 0;
                self.ledger.some.pinned |= account.pinned;
                self.ledger.regrouped = true;
                pinned += app.allocation;
            }
        }
        pinned
    }

    /// Processors that unmanaged load has left can be given again.
    fn unmark_unmanaged(&mut self, unmanaged: usize) {
        if !self.ledger.some.unmanaged {
            return;
        }
        let mut marked = 0;
        for index in 0..self.ledger.pus.len() {
            if self.ledger.pus[index].state == PuState::Unmanaged {
                marked += 1;
                if marked > unmanaged {
                    self.ledger.set_unmanaged(PuId(index as u32), false);
                }
            }
        }
        self.ledger.some.unmanaged = marked.min(unmanaged) > 0;
    }

    /// The share part, or the work-list, under whatever bounds there are.
    pub(crate) fn divide_by_share(&mut self) {
        self.shares.reset(self.ledger.apps.len());
        match self.work_list {
            None => self.policy.share.divide(&view!(self), &mut self.shares),
            Some(work_list) => work_list.divide(&view!(self), &self.turn, &mut self.shares),
        }
    }

    /// Processors of sequential applications that nobody wants stay with them.
    fn lend_back(&mut self) {
        let mut left = self.capacity - self.shares.total();
        if self.parties.in_force {
            self.count_parties();
        }
        for index in 0..self.order.len() {
            let slot = self.order[index];
            let account = self.ledger.account(slot);
            let count = self.shares.count(slot);
            if account.sequential && count > 0 {
                let back = left.min(account.parallel_count.saturating_sub(count)).min(self.room_of(slot));
                self.shares.set(slot, count + back);
                self.add_to_party(slot, back);
                left -= back;
            }
        }
    }
}
