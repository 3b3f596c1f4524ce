//! Who runs now: asks the turns part, stops those that have no processors in this turn and lets the others go on. Knows no policy's rules.
//!
//! Under turns that stop, nobody runs without processors of its own, but those that the shell cannot stop, that wait for something outside, or
//! that keep what they had when the manager was started again. What a stopped application had is its heirs' at once: nothing of it
//! runs, so nothing has to be vacated.

use crate::decision::view;
use crate::engine::Engine;
use crate::event::{Action, Nanos};
use crate::guests::Guests;
use crate::ledger::{Ledger, Phase};
use crate::worklist::WorkList;
use numaestro_policy::{Slot, View};
use numaestro_topology::PuSet;

impl Engine {
    /// When the present turn ends, on the shell's clock, if turns end: what was measured in it is to be told before.
    pub fn turn_ends(&self) -> Option<Nanos> {
        self.turn_until.map(|at| at.saturating_sub(self.gone_back))
    }

    /// Asks who runs. Leaves in `order` those among whom processors are divided, with their limits for this turn; the others let go of what they have.
    pub(crate) fn take_turns(&mut self) {
        self.forget_limits();
        self.ledger.account_for_time(&self.order, self.now);
        self.list_threads();
        let goes_on = self.turn_until.is_some_and(|end| self.now < end);
        let within = self.regime.holds() && goes_on;
        if !goes_on && self.regime.stops() {
            self.note_served();
        }
        self.turn.reset(&self.order);
        self.turn_until = self.policy.turns.now(&view!(self), &mut self.turn);
        self.turn_ends = self.turn_until;
        self.policy.placement.prefer(self.turn.preferred());
        self.set_limits();
        let everybody = self.order.len();
        self.order.clone_from(&self.turn.running);
        if self.regime.selects() {
            for &slot in self.turn.running.iter().chain(&self.turn.next) {
                self.ledger.apps[slot.index()].placeable = u32::MAX;
            }
        }
        let capacity = self.capacity;
        let kept = |ledger: &Ledger, slot: Slot| {
            let app = ledger.app(slot);
            app.allocation.min(app.wanted(capacity))
        };
        let in_turn = self.turn.running.iter().chain(&self.turn.next);
        // Counts cannot hold if processors have been taken away.
        let holds =
            within && in_turn.map(|&slot| kept(&self.ledger, slot)).sum::<u32>() <= capacity && self.parties_hold(kept);
        self.work_list = holds.then_some(WorkList { left_over: self.left_over });
        if holds {
            self.order.extend_from_slice(&self.turn.next);
        }
        let id = |slot: &Slot| self.ledger.app(*slot).id;
        if !self.order.is_sorted_by_key(id) {
            self.order.sort_unstable_by_key(id);
        }
        self.ledger.regrouped |= self.order.len() != everybody;
        self.let_go_of_turns();
    }

    /// Another turns part begins anew.
    pub(crate) fn forget_turn(&mut self) {
        self.turn_until = None;
        self.forget_limits();
        self.turn.reset(&[]);
    }

    /// No limits but those of wishes and of the machine.
    pub(crate) fn forget_limits(&mut self) {
        for &(slot, _) in self.turn.limits() {
            self.ledger.apps[slot.index()].turn = u32::MAX;
        }
    }

    /// The limits of this turn.
    pub(crate) fn set_limits(&mut self) {
        for &(slot, processors) in self.turn.limits() {
            self.ledger.apps[slot.index()].turn = processors.max(1);
        }
    }

    /// Whether it takes part in the division whenever it is its turn. Where turns are taken, one whose minimum is more than there is, or for whose
    /// party nothing is left beside what is kept for others, does not: its turn would help nobody.
    pub(crate) fn takes_turns(&self, slot: Slot) -> bool {
        let (app, account) = (self.ledger.app(slot), self.ledger.account(slot));
        let helps = || app.min <= self.ledger.there_is && self.may_have_some(app.party);
        let possible = !self.regime.stops() || helps();
        account.phase == Phase::Running && !account.blocked && !account.pinned && possible
    }

    /// Those whose turn it is not have nothing from now on: they are stopped when the heirs of what they had are known. Whoever cannot be stopped has its
    /// grace time.
    fn let_go_of_turns(&mut self) {
        // A selective placement leaves alone what is not free.
        let at_once = self.regime.selects();
        let mut running = 0;
        for index in 0..self.ledger.started.len() {
            let slot = self.ledger.started[index];
            if self.order.get(running) == Some(&slot) {
                running += 1;
            } else if self.lets_go(slot) && self.ledger.app(slot).allocation > 0 {
                if at_once && self.can_be_stopped(slot) {
                    self.ledger.give_up_all(slot, self.now);
                } else {
                    self.ledger.lend_all(slot, self.now);
                }
            }
        }
    }

    /// Whether it has nothing of its own outside its turn.
    fn lets_go(&self, slot: Slot) -> bool {
        let account = self.ledger.account(slot);
        account.phase == Phase::Running && !account.pinned
    }

    /// Whether having no processors means that it is stopped.
    pub(crate) fn can_be_stopped(&self, slot: Slot) -> bool {
        self.regime.stops() && self.takes_turns(slot) && !self.ledger.account(slot).unstoppable
    }

    /// Whether it is stopped if it has no processors. In its turn it is, if others have some: where a policy finds none for anybody, nobody is stopped
    /// for the sake of others. Where parties leave it none in its turn it is a guest: a turns part that knows nothing of them could choose it again and
    /// again beside the same others, and it would never run.
    pub(crate) fn stops_without(&self, slot: Slot, its_turn: bool) -> bool {
        self.can_be_stopped(slot) && (!its_turn || self.ledger.allocated > 0 && !self.parties.in_force)
    }

    /// Stops those that have nothing after the decision. What they were vacating passes on.
    pub(crate) fn stop_those_without(&mut self, actions: &mut Vec<Action>) {
        if !self.regime.stops() {
            return;
        }
        // Before anything else that this step asks for; but nobody is stopped before its start.
        let stops = self.stop_some_without(true, actions);
        actions[self.first_action..].rotate_right(stops);
        self.stop_some_without(false, actions);
        self.force_nobody_stopped(actions);
    }

    /// Those that have been told where they are, or those that have not. Returns how many.
    fn stop_some_without(&mut self, told: bool, actions: &mut Vec<Action>) -> usize {
        let (mut running, mut stopped) = (0, 0);
        for index in 0..self.ledger.started.len() {
            let slot = self.ledger.started[index];
            let its_turn = self.order.get(running) == Some(&slot);
            running += usize::from(its_turn);
            let account = self.ledger.account(slot);
            let stops = self.ledger.app(slot).allocation == 0 && !account.stopped && told == (account.sent.epoch > 0);
            if stops && self.stops_without(slot, its_turn) {
                self.stop(slot);
                actions.push(Action::Stop { app: self.ledger.app(slot).id });
                stopped += 1;
            }
        }
        stopped
    }

    /// The shell does not move what it stops: a grace time may end in the same step as a turn.
    fn force_nobody_stopped(&mut self, actions: &mut Vec<Action>) {
        let mut at = self.first_action;
        while at < actions.len() {
            let stopped = match &actions[at] {
                Action::Force { app, .. } => {
                    self.ledger.slot(*app).is_some_and(|slot| self.ledger.account(slot).stopped)
                }
                _ => false,
            };
            if stopped {
                let force = actions.remove(at);
                self.sets.extend(set_of(force));
            } else {
                at += 1;
            }
        }
    }

    fn stop(&mut self, slot: Slot) {
        Guests::forget(&mut self.ledger, slot);
        self.ledger.give_up_all(slot, self.now);
        self.ledger.account_mut(slot).stopped = true;
        self.ledger.changed(slot);
    }

    /// Leaves in `hosted`, in order of arrival, all that run or are to run: whoever of them has no processors of its own is a guest.
    pub(crate) fn host(&mut self) {
        self.hosted.clear();
        let mut running = 0;
        for index in 0..self.ledger.started.len() {
            let slot = self.ledger.started[index];
            let its_turn = self.order.get(running) == Some(&slot);
            running += usize::from(its_turn);
            let account = self.ledger.account(slot);
            let stays_stopped = account.stopped && self.stops_without(slot, its_turn);
            if account.phase == Phase::Running && !account.pinned && !stays_stopped {
                self.hosted.push(slot);
            }
        }
    }
}

/// The set that an action holds, to be used again.
fn set_of(action: Action) -> Option<PuSet> {
    match action {
        Action::Target { pus, .. } | Action::Force { pus, .. } => Some(pus),
        _ => None,
    }
}
