//! Asks the turns part which applications run now, and narrows the division to them. The others let
//! go of their processors.

use crate::account::Phase;
use crate::division::Division;
use crate::event::Nanos;
use crate::group::{can_be_stopped, is_next};
use crate::ledger::Ledger;
use crate::site::Site;
use crate::worklist::WorkList;
use numaestro_policy::{Policy, Share, Shares, Slot, Turn};

/// The present turn.
#[derive(Debug, Clone, Default)]
pub(crate) struct Turns {
    turn: Turn,
    /// Time when the turns part wants to be asked again.
    until: Option<Nanos>,
    /// The present turn has no end: the turns part, when it was asked, named no time.
    endless: bool,
    /// Time when the turns part or the share part wants to be asked again.
    again: Option<Nanos>,
    /// Number of processors that the latest division between turns gave nobody.
    left_over: u32,
    /// This is the middle of a turn whose counts hold.
    holds: bool,
}

impl Turns {
    /// Time when the present turn ends.
    pub(crate) fn until(&self) -> Option<Nanos> {
        self.until
    }

    /// Time when there is something to decide even without an event.
    pub(crate) fn deadline(&self) -> Option<Nanos> {
        self.again
    }

    /// Time has passed. True if there is something to decide now.
    pub(crate) fn pass_time(&mut self, now: Nanos) -> bool {
        self.again.take_if(|at| now >= *at).is_some()
    }

    /// The list for released processors, in the middle of a turn whose counts hold.
    pub(crate) fn work_list(&self) -> Option<WorkList<'_>> {
        self.holds.then_some(WorkList { left_over: self.left_over, turn: &self.turn })
    }

    /// Another turns part begins anew.
    pub(crate) fn forget(&mut self, ledger: &mut Ledger) {
        (self.until, self.endless) = (None, false);
        self.lift_limits(ledger);
        self.turn.reset(&[]);
    }

    /// Leaves only the limits of wishes and of the machine: a trial of a waiting application is
    /// about the division after this turn.
    pub(crate) fn lift_limits(&self, ledger: &mut Ledger) {
        for &(slot, _) in self.turn.limits() {
            ledger.set_turn(slot, u32::MAX);
        }
    }

    /// Sets the limits of this turn. None is below the application's own minimum. A party's part
    /// may leave an application less than that; limited to it, the application would look
    /// impossible to the next division, which would take its processors for another one of the
    /// party, each time.
    pub(crate) fn set_limits(&self, ledger: &mut Ledger) {
        for &(slot, processors) in self.turn.limits() {
            let limit = processors.max(ledger.own_minimum(slot)).max(1);
            ledger.set_turn(slot, limit);
        }
    }

    /// Asks which applications run, and narrows the division to them, with their limits for this
    /// turn.
    pub(crate) fn take(&mut self, site: &mut Site, policy: &mut Policy, division: &mut Division) {
        for &slot in site.among.order() {
            site.ledger.account_for(slot, site.now);
        }
        if policy.turns.chooses_threads() {
            site.threads.list(&mut site.ledger, site.among.order());
        } else {
            site.threads.clear();
        }
        let goes_on = self.until.is_some_and(|end| site.now < end);
        // Parties serve others with every turn that ends. If a turn without an end ended at each
        // decision, each answer of an application to one decision would bring another one.
        if !goes_on && !self.endless && site.regime.stops() {
            division.parties_mut().end_turn(site);
        }
        self.turn.reset(site.among.order());
        self.until = policy.turns.now(&site.view(), &mut self.turn);
        self.endless = self.until.is_none();
        prefer(site, policy, self.turn.preferred());
        self.set_limits(&mut site.ledger);
        if site.places_anew() {
            for &slot in self.turn.running.iter().chain(&self.turn.next) {
                site.ledger.set_placeable(slot, u32::MAX);
            }
        }
        self.holds = site.regime.holds() && goes_on && self.can_hold(site, division);
        let next = if self.holds { &self.turn.next[..] } else { &[] };
        site.among.narrow(&site.ledger, &self.turn.running, next);
        let_go_of_turns(site);
    }

    /// Says whether counts can hold. They cannot if processors have been taken away, or parties may
    /// have less than before.
    fn can_hold(&self, site: &Site, division: &mut Division) -> bool {
        let capacity = site.among.capacity();
        let kept = |&slot: &Slot| {
            let app = site.ledger.app(slot);
            (slot, app.allocation.min(app.wanted(capacity)))
        };
        let in_turn = || self.turn.running.iter().chain(&self.turn.next).map(kept);
        in_turn().map(|(_, kept)| kept).sum::<u32>() <= capacity && division.parties_mut().allow(site, in_turn())
    }

    /// Records the results of the division that policies see, and the time of the next decision.
    pub(crate) fn close(&mut self, site: &mut Site, shares: &Shares, share: &dyn Share) {
        if !self.holds {
            self.left_over = site.among.capacity().saturating_sub(shares.total());
        }
        for &(slot, search) in shares.searches() {
            site.ledger.set_search(slot, search);
        }
        site.ledger.forget_old_reports();
        // If the time has passed already, the part has just been asked.
        let again = share.until(&site.view()).filter(|&at| at > site.now);
        self.again = [self.until, again].into_iter().flatten().min();
    }
}

/// Tells the placement part the preferred buses of the applications that it places.
fn prefer(site: &Site, policy: &mut Policy, preferred: &[(Slot, u32, u32)]) {
    if site.ledger.bounds() {
        let unbounded = preferred.iter().filter(|(slot, ..)| site.ledger.within(*slot).is_none());
        policy.placement.prefer(&unbounded.copied().collect::<Vec<_>>());
    } else {
        policy.placement.prefer(preferred);
    }
}

/// Takes all processors from the applications whose turn it is not: they are stopped when the next
/// owners of their processors are known. An application that cannot be stopped has its grace time.
fn let_go_of_turns(site: &mut Site) {
    let mut at = 0;
    for index in 0..site.ledger.started().len() {
        let slot = site.ledger.started()[index];
        if is_next(site.among.order(), &mut at, slot) {
            continue;
        }
        let account = site.ledger.account(slot);
        if account.phase != Phase::Running || account.pinned || site.ledger.app(slot).allocation == 0 {
            continue;
        }
        // A selective placement takes only free processors.
        if site.regime.selects() && can_be_stopped(site, slot) {
            site.ledger.give_up_all(slot, site.now);
        } else {
            site.ledger.lend_all(slot, site.now);
        }
    }
}
