//! G1–G8 hold after every step, under every policy. A broken one is a mistake in a policy or in
//! this crate, so the check panics.
//!
//! * G1 a processor has one owner at most, and is in exactly the sets of that owner;
//! * G2 the sum of allocations is not above the number of usable processors, and an allocation is
//!   the number of its processors;
//! * G3 no allocation is above the request, except that of a claim, that of a lender whose
//!   processors nobody else wanted, and under a share part that lets applications keep more;
//! * G4 an application that is gone owns nothing, is next for nothing and waits for nothing;
//! * G5 same events, same actions: shown by replaying journals, not checked here;
//! * G6 work conservation, where the share part promises it and counts do not hold: no processor is
//!   free while an application could use it;
//! * G7 each application that was started has processors, is a guest, is next for some that are
//!   being vacated, or is stopped until its turn;
//! * G8 an application has processors that it may have only, its own and as a guest, but for
//!   those of
//!   a claim.
//!
//! The check always covers the processors that the step has written, with the sets of their owners
//! and next owners, and the applications that it has written. In debug builds it covers everything
//! after every step, so it also finds a write that was not noted.

use crate::account::Phase;
use crate::admission::Admission;
use crate::group::stops_without;
use crate::site::Site;
use numaestro_policy::{Policy, PuState, Slot};
use numaestro_topology::{PuId, PuSet};

/// The parts of the engine that are checked.
pub(crate) struct Invariants<'a> {
    pub site: &'a Site,
    pub policy: &'a Policy,
    pub admission: &'a Admission,
    /// Parties bound applications.
    pub confined: bool,
    /// The latest division was between turns, so the work-list keeps no processors back.
    pub divided: bool,
}

impl Invariants<'_> {
    /// Panics if one is broken.
    #[inline]
    pub(crate) fn check(&self) {
        let (ledger, written) = (&self.site.ledger, self.site.ledger.written());
        for &pu in &written.pus {
            self.check_processor(pu);
            self.check_membership(pu);
        }
        for &slot in &written.apps {
            self.check_application(slot);
        }
        let (allocated, usable) = (ledger.allocated() as usize, ledger.usable().len());
        assert!(allocated <= usable, "G2: {allocated} of {usable} allocated");
        if cfg!(debug_assertions) {
            self.check_everything();
        }
    }

    fn check_everything(&self) {
        let ledger = &self.site.ledger;
        for index in 0..ledger.pus().len() as u32 {
            self.check_processor(PuId(index));
        }
        for &slot in ledger.started() {
            self.check_application(slot);
        }
        for waiting in self.admission.waiting() {
            self.check_application(waiting.app);
        }
        let allocations = ledger.apps().iter().map(|app| app.allocation);
        assert!(allocations.sum::<u32>() == ledger.allocated(), "G2: the sum is wrong");
        let pinned = ledger.started().iter().any(|&slot| ledger.account(slot).pinned);
        assert!(pinned == ledger.pins(), "those that keep what they have are counted wrongly");
        let unmanaged = ledger.pus().iter().filter(|pu| pu.state == PuState::Unmanaged).count();
        assert!(unmanaged == ledger.unmanaged() as usize, "unmanaged processors are counted wrongly");
        self.check_sets();
    }

    /// G1: state, owner and next fit together.
    fn check_processor(&self, pu: PuId) {
        let entry = self.site.ledger.pu(pu);
        let right = match entry.state {
            PuState::Owned => entry.owner.is_some() && entry.next == entry.owner,
            PuState::Leaving => entry.owner.is_some() && entry.next != entry.owner,
            PuState::Free | PuState::Reserved | PuState::Unmanaged | PuState::Offline => {
                entry.owner.is_none() && entry.next.is_none()
            }
        };
        assert!(right, "G1: PU {pu} is {:?}, its owner {:?}, next {:?}", entry.state, entry.owner, entry.next);
    }

    /// G1 and G2: a processor is in the sets of its owner and of its next owner.
    fn check_membership(&self, pu: PuId) {
        let entry = self.site.ledger.pu(pu);
        if let Some(owner) = entry.owner {
            let account = self.site.ledger.account(owner);
            let sets = (account.owned.contains(pu), account.leaving.contains(pu));
            assert!(
                sets == (entry.state == PuState::Owned, entry.state == PuState::Leaving),
                "G1: PU {pu} in the wrong set"
            );
        }
        if let Some(next) = entry.next {
            assert!(self.site.ledger.app(next).own.contains(pu), "G2: PU {pu} in the wrong set");
        }
    }

    /// G2, G4, G7 and G8.
    fn check_application(&self, slot: Slot) {
        let (app, account) = (self.site.ledger.app(slot), self.site.ledger.account(slot));
        assert!(app.own.len() == app.allocation as usize, "G2: application {}", app.id);
        if account.phase == Phase::Running {
            let served = app.allocation > 0 || !account.guest_of.is_empty() || account.activity.stopped;
            assert!(served, "G7: application {} runs nowhere", app.id);
            self.check_stopped(slot);
            let inside = |pus: &PuSet| self.site.ledger.within(slot).is_none_or(|within| pus.is_subset(within));
            let right = account.pinned || inside(&app.own) && inside(&account.guest_of);
            assert!(right, "G8: application {} has {} and {}", app.id, app.own, account.guest_of);
        } else {
            let nothing = app.allocation == 0 && account.owned.is_empty() && account.leaving.is_empty();
            assert!(nothing, "G4: application {} has {} and does not run", app.id, app.own);
        }
    }

    /// A stopped application has no processors, and will go on. Under turns that stop, no
    /// application without processors runs in its turn beside others that have some.
    fn check_stopped(&self, slot: Slot) {
        let (app, account) = (self.site.ledger.app(slot), self.site.ledger.account(slot));
        let order = self.site.among.order();
        let its_turn = order.get(self.site.ledger.place_in(order, slot)) == Some(&slot);
        let waits = stops_without(self.site, slot, its_turn, self.confined);
        if account.activity.stopped {
            let nothing = account.owned.is_empty() && account.leaving.is_empty() && account.guest_of.is_empty();
            assert!(nothing, "application {} is stopped and has {} and {}", app.id, account.owned, account.guest_of);
            assert!(app.allocation > 0 || waits, "G7: application {} is stopped for ever", app.id);
        } else {
            assert!(app.allocation > 0 || !waits, "application {} has nothing and is not stopped", app.id);
        }
    }

    /// G1 and G2, by set; G3 and G6.
    fn check_sets(&self) {
        let ledger = &self.site.ledger;
        let mut guests = 0;
        for (number, app) in ledger.apps().iter().enumerate() {
            let slot = Slot(number as u32);
            let account = ledger.account(slot);
            let is = |pu: PuId, state| ledger.pu(pu).state == state && ledger.pu(pu).owner == Some(slot);
            let right = account.owned.iter().all(|pu| is(pu, PuState::Owned));
            assert!(right, "G1: {} in the wrong set", account.owned);
            let right = account.leaving.iter().all(|pu| is(pu, PuState::Leaving));
            assert!(right, "G1: {} in the wrong set", account.leaving);
            let right = app.own.iter().all(|pu| ledger.pu(pu).next == Some(slot));
            assert!(right, "G2: {} in the wrong set", app.own);
            let right = account.guest_of.iter().all(|pu| ledger.pu(pu).guests > 0);
            assert!(right, "G1: {} have no guests", account.guest_of);
            guests += account.guest_of.len();
        }
        // Every member of a set belongs there; these checks find processors that are missing from a
        // set.
        for index in 0..ledger.pus().len() as u32 {
            self.check_membership(PuId(index));
        }
        let counted: usize = ledger.pus().iter().map(|pu| pu.guests as usize).sum();
        assert!(guests == counted, "G1: {guests} guests, not {counted}");
        for &slot in self.site.among.order() {
            let (app, account) = (ledger.app(slot), ledger.account(slot));
            let activity = &account.activity;
            let most = if activity.sequential {
                activity.parallel_count.max(1)
            } else {
                app.request.max(app.min).min(app.max)
            };
            let decided = account.phase == Phase::Running && !account.pinned;
            let right = !decided || app.allocation <= most || self.policy.share.retains();
            assert!(right, "G3: application {} has {} of {most}", app.id, app.allocation);
        }
        self.check_work_conservation();
    }

    /// G6.
    fn check_work_conservation(&self) {
        let (ledger, order) = (&self.site.ledger, self.site.among.order());
        let (capacity, policy) = (self.site.among.capacity(), self.policy);
        let given: u32 = order.iter().map(|&slot| ledger.app(slot).allocation).sum();
        let wants_more = |&&slot: &&Slot| {
            let app = ledger.app(slot);
            app.allocation > 0 && app.allocation < app.cap(capacity)
        };
        if self.divided && policy.share.conserves_work() && given < capacity {
            let idle = order.iter().find(wants_more).map(|&slot| ledger.app(slot).id);
            assert!(idle.is_none(), "G6: {given} of {capacity} given, {idle:?} wants more, {policy}");
        }
    }
}
