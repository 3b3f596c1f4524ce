//! G1–G7: what holds after every step, whatever the policy. A broken one is a mistake in a policy or in this crate, so it panics.
//!
//! * G1 a processor has one owner at most, and is in exactly the sets of that owner;
//! * G2 the sum of allocations is not above the number of usable processors, and an allocation is the number of its processors;
//! * G3 no allocation is above what was asked for, except a claim's, what nobody else wanted of a lender, and while a policy is at it;
//! * G4 an application that is gone owns nothing, is next for nothing and waits for nothing;
//! * G5 same events, same actions: shown by replaying journals, not checked here;
//! * G6 work conservation, where the share part promises it and counts do not hold: no processor is free while somebody could use it;
//! * G7 whoever was started has processors, is a guest, is next for some that are being vacated, or is stopped until its turn.
//!
//! Always checked is what the step has written: every such processor with its owner's and its heir's sets, every such application. In debug
//! builds everything is checked after every step, so that nothing is written without being noted.

use crate::engine::Engine;
use crate::ledger::Phase;
use numaestro_policy::{PuState, Slot};
use numaestro_topology::PuId;

impl Engine {
    pub(crate) fn check(&mut self) {
        for &pu in &self.ledger.written.pus {
            self.check_processor(pu);
            self.check_membership(pu);
        }
        for &slot in &self.ledger.written.apps {
            self.check_application(slot);
        }
        let (allocated, usable) = (self.ledger.allocated as usize, self.ledger.usable.len());
        assert!(allocated <= usable, "G2: {allocated} of {usable} allocated");
        self.ledger.written.pus.clear();
        self.ledger.written.apps.clear();
        if cfg!(debug_assertions) {
            self.check_everything();
        }
    }

    fn check_everything(&self) {
        for index in 0..self.ledger.pus.len() as u32 {
            self.check_processor(PuId(index));
        }
        for &slot in &self.ledger.started {
            self.check_application(slot);
        }
        for waiting in self.ledger.queue.waiting() {
            self.check_application(waiting.app);
        }
        let allocations = self.ledger.apps.iter().map(|app| app.allocation);
        assert!(allocations.sum::<u32>() == self.ledger.allocated, "G2: the sum is wrong");
        self.check_sets();
    }

    /// G1: state, owner and next fit together.
    fn check_processor(&self, pu: PuId) {
        let entry = &self.ledger.pus[pu.index()];
        let right = match entry.state {
            PuState::Owned => entry.owner.is_some() && entry.next == entry.owner,
            PuState::Leaving => entry.owner.is_some() && entry.next != entry.owner,
            _ => entry.owner.is_none() && entry.next.is_none(),
        };
        assert!(right, "G1: PU {pu} is {:?}, its owner {:?}, next {:?}", entry.state, entry.owner, entry.next);
    }

    /// G1 and G2: it is in the sets of its owner and of the one that is next.
    fn check_membership(&self, pu: PuId) {
        let entry = &self.ledger.pus[pu.index()];
        if let Some(owner) = entry.owner {
            let account = self.ledger.account(owner);
            let sets = (account.owned.contains(pu), account.leaving.contains(pu));
            assert!(
                sets == (entry.state == PuState::Owned, entry.state == PuState::Leaving),
                "G1: PU {pu} in the wrong set"
            );
        }
        if let Some(next) = entry.next {
            assert!(self.ledger.app(next).own.contains(pu), "G2: PU {pu} in the wrong set");
        }
    }

    /// G2, G4 and G7.
    fn check_application(&self, slot: Slot) {
        let (app, account) = (self.ledger.app(slot), self.ledger.account(slot));
        assert!(app.own.len() == app.allocation as usize, "G2: application {}", app.id);
        if account.phase == Phase::Running {
            let served = app.allocation > 0 || !account.guest_of.is_empty() || account.stopped;
            assert!(served, "G7: application {} runs nowhere", app.id);
            self.check_stopped(slot);
        } else {
            let nothing = app.allocation == 0 && account.owned.is_empty() && account.leaving.is_empty();
            assert!(nothing, "G4: application {} has {} and does not run", app.id, app.own);
        }
    }

    /// Whoever is stopped has nothing, and will go on; under turns that stop, nobody runs beside others in its own turn.
    fn check_stopped(&self, slot: Slot) {
        let (app, account) = (self.ledger.app(slot), self.ledger.account(slot));
        let its_turn = self.order.get(self.ledger.place_in(&self.order, slot)) == Some(&slot);
        let waits = self.stops_without(slot, its_turn);
        if account.stopped {
            let nothing = account.owned.is_empty() && account.leaving.is_empty() && account.guest_of.is_empty();
            assert!(nothing, "application {} is stopped and has {} and {}", app.id, account.owned, account.guest_of);
            assert!(app.allocation > 0 || waits, "G7: application {} is stopped for ever", app.id);
        } else {
            assert!(app.allocation > 0 || !waits, "application {} has nothing and is not stopped", app.id);
        }
    }

    /// G1 and G2, by set; G3 and G6.
    fn check_sets(&self) {
        let mut guests = 0;
        for (number, account) in self.ledger.accounts.iter().enumerate() {
            let (slot, app) = (Slot(number as u32), &self.ledger.apps[number]);
            let entry = |pu: PuId| &self.ledger.pus[pu.index()];
            let is = |pu: PuId, state| entry(pu).state == state && entry(pu).owner == Some(slot);
            assert!(account.owned.iter().all(|pu| is(pu, PuState::Owned)), "G1: {} in the wrong set", account.owned);
            assert!(
                account.leaving.iter().all(|pu| is(pu, PuState::Leaving)),
                "G1: {} in the wrong set",
                account.leaving
            );
            assert!(app.own.iter().all(|pu| entry(pu).next == Some(slot)), "G2: {} in the wrong set", app.own);
            assert!(account.guest_of.iter().all(|pu| entry(pu).guests > 0), "G1: {} have no guests", account.guest_of);
            guests += account.guest_of.len();
        }
        // Every member is where it belongs; these say that nobody is missing.
        for index in 0..self.ledger.pus.len() as u32 {
            self.check_membership(PuId(index));
        }
        let counted: usize = self.ledger.pus.iter().map(|pu| pu.guests as usize).sum();
        assert!(guests == counted, "G1: {guests} guests, not {counted}");
        for &slot in &self.order {
            let (app, account) = (self.ledger.app(slot), self.ledger.account(slot));
            let most =
                if account.sequential { account.parallel_count.max(1) } else { app.request.max(app.min).min(app.max) };
            let decided = account.phase == Phase::Running && self.decided_last(slot);
            assert!(
                !decided || app.allocation <= most || self.policy.share.retains(),
                "G3: application {} has {} of {most}",
                app.id,
                app.allocation
            );
        }
        self.check_work_conservation();
    }

    /// Whether the latest decision was about this application too.
    fn decided_last(&self, slot: Slot) -> bool {
        self.order.contains(&slot) && !self.ledger.account(slot).pinned
    }

    /// G6.
    fn check_work_conservation(&self) {
        let given: u32 = self.order.iter().map(|&slot| self.ledger.app(slot).allocation).sum();
        let wants_more = |&&slot: &&Slot| {
            let app = self.ledger.app(slot);
            app.allocation > 0 && app.allocation < app.cap(self.capacity)
        };
        if self.work_list.is_none() && self.policy.share.conserves_work() && self.decisions > 0 && given < self.capacity
        {
            let idle = self.order.iter().find(wants_more).map(|&slot| self.ledger.app(slot).id);
            let policy = &self.policy;
            assert!(idle.is_none(), "G6: {given} of {} given, {idle:?} wants more, {policy}", self.capacity);
        }
    }
}
