//! Who runs now: asks the turns part, and narrows the division to those that run in this turn. The
//! others let go of what they have.

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
    /// When the turns part wants to be asked again.
    until: Option<Nanos>,
    /// When that, or the share part, wants to be asked again.
    again: Option<Nanos>,
    /// Processors that the latest division between turns gave nobody.
    left_over: u32,
    /// In the middle of a turn whose counts hold.
    holds: bool,
}

impl Turns {
    /// When the present turn ends.
    pub(crate) fn until(&self) -> Option<Nanos> {
        self.until
    }

    /// When there is something to decide because time has passed.
    pub(crate) fn deadline(&self) -> Option<Nanos> {
        self.again
    }

    /// Time has passed. True if there is something to decide now.
    pub(crate) fn pass_time(&mut self, now: Nanos) -> bool {
        self.again.take_if(|at| now >= *at).is_some()
    }

    /// What is released goes here, in the middle of a turn whose counts hold.
    pub(crate) fn work_list(&self) -> Option<WorkList<'_>> {
        self.holds.then_some(WorkList { left_over: self.left_over, turn: &self.turn })
    }

    /// Another turns part begins anew.
    pub(crate) fn forget(&mut self, ledger: &mut Ledger) {
        self.until = None;
        self.lift_limits(ledger);
        self.turn.reset(&[]);
    }

    /// No limits but those of wishes and of the machine: those that wait ask what the division
    /// after this turn would be.
    pub(crate) fn lift_limits(&self, ledger: &mut Ledger) {
        for &(slot, _) in self.turn.limits() {
            ledger.set_turn(slot, u32::MAX);
        }
    }

    /// The limits of this turn.
    pub(crate) fn set_limits(&self, ledger: &mut Ledger) {
        for &(slot, processors) in self.turn.limits() {
            ledger.set_turn(slot, processors.max(1));
        }
    }

    /// Asks who runs, and narrows the division to those, with their limits for this turn.
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
        if !goes_on && site.regime.stops() {
            division.parties_mut().end_turn(site);
        }
        self.turn.reset(site.among.order());
        self.until = policy.turns.now(&site.view(), &mut self.turn);
        policy.placement.prefer(self.turn.preferred());
        self.set_limits(&mut site.ledger);
        if site.regime.selects() {
            for &slot in self.turn.running.iter().chain(&self.turn.next) {
                site.ledger.set_placeable(slot, u32::MAX);
            }
        }
        self.holds = site.regime.holds() && goes_on && self.can_hold(site, division);
        let next = if self.holds { &self.turn.next[..] } else { &[] };
        site.among.narrow(&site.ledger, &self.turn.running, next);
        let_go_of_turns(site);
    }

    /// Counts cannot hold if processors have been taken away, or parties may have less than before.
    fn can_hold(&self, site: &Site, division: &mut Division) -> bool {
        let capacity = site.among.capacity();
        let kept = |&slot: &Slot| {
            let app = site.ledger.app(slot);
            (slot, app.allocation.min(app.wanted(capacity)))
        };
        let in_turn = || self.turn.running.iter().chain(&self.turn.next).map(kept);
        in_turn().map(|(_, kept)| kept).sum::<u32>() <= capacity && division.parties_mut().allow(site, in_turn())
    }

    /// What the division leaves behind for policies to see, and when it is to be made again.
    pub(crate) fn close(&mut self, site: &mut Site, shares: &Shares, share: &dyn Share) {
        if !self.holds {
            self.left_over = site.among.capacity().saturating_sub(shares.total());
        }
        for &(slot, search) in shares.searches() {
            site.ledger.set_search(slot, search);
        }
        site.ledger.forget_old_reports();
        // A time that has passed already is one at which it has been asked.
        let again = share.until(&site.view()).filter(|&at| at > site.now);
        self.again = [self.until, again].into_iter().flatten().min();
    }
}

/// Those whose turn it is not have nothing from now on: they are stopped when the heirs of what
/// they had are known. One that cannot be stopped has its grace time.
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
        // A selective placement leaves alone what is not free.
        if site.regime.selects() && can_be_stopped(site, slot) {
            site.ledger.give_up_all(slot, site.now);
        } else {
            site.ledger.lend_all(slot, site.now);
        }
    }
}
