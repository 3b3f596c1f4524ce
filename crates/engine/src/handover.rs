//! Hands the decision over to the ledger: processors change hands, and applications that have none
//! are stopped or become guests on processors of others.
//!
//! The processors of a stopped application go to their next owners at once: none of its threads
//! runs, so nothing has to be vacated.

use crate::account::Phase;
use crate::event::Action;
use crate::group::{is_next, stops_without};
use crate::guests::Guests;
use crate::site::Site;
use numaestro_policy::{Plan, Shares, Slot};

/// Buffers.
#[derive(Debug, Clone, Default)]
pub(crate) struct Handover {
    guests: Guests,
    /// All running applications, in order of arrival, whether they take part in the division or
    /// not.
    hosted: Vec<Slot>,
}

impl Handover {
    /// Carries a plan out. `confined`: parties bound applications. The actions of this step begin
    /// at `first`.
    pub(crate) fn carry_out(
        &mut self,
        site: &mut Site,
        plan: &Plan,
        confined: bool,
        first: usize,
        actions: &mut Vec<Action>,
    ) {
        site.ledger.carry_out(plan, site.now);
        if site.regime.stops() {
            // These stops go before the other actions of this step; but no application is stopped
            // before its start.
            let stopped = stop(site, confined, true, actions);
            actions[first..].rotate_right(stopped);
            stop(site, confined, false, actions);
        }
        self.list_hosted(site, confined);
        self.guests.spread(&site.machine, &mut site.ledger, &self.hosted, confined);
    }

    /// Exchanges the participants with the list of all running applications, which share where
    /// processors have no owners. A second call puts the participants back.
    pub(crate) fn exchange_hosted(&mut self, site: &mut Site) {
        site.among.exchange(&mut self.hosted);
    }

    /// Lists, in order of arrival, all applications that run or are to run. The ones without
    /// processors of their own are guests.
    pub(crate) fn list_hosted(&mut self, site: &Site, confined: bool) {
        self.hosted.clear();
        let mut at = 0;
        for &slot in site.ledger.started() {
            let its_turn = is_next(site.among.order(), &mut at, slot);
            let account = site.ledger.account(slot);
            let stays_stopped = account.activity.stopped && stops_without(site, slot, its_turn, confined);
            if account.phase == Phase::Running && !account.pinned && !stays_stopped {
                self.hosted.push(slot);
            }
        }
    }
}

/// Makes every application a guest on every processor, with as many threads as the share part says.
/// Nothing has an owner.
pub(crate) fn share_everything(site: &mut Site, shares: &Shares) {
    for &slot in site.among.order() {
        site.ledger.lend_all(slot, site.now);
        let team = shares.count(slot);
        if std::mem::replace(&mut site.ledger.activity_mut(slot).team, team) != team {
            site.ledger.mark(slot);
        }
    }
    site.ledger.add_guests_everywhere(site.among.order());
}

/// Stops the applications that have no processors after the decision: those that have had a target
/// if `told`, else those that have had none. The processors they were vacating pass on. Returns the
/// number of stopped applications.
fn stop(site: &mut Site, confined: bool, told: bool, actions: &mut Vec<Action>) -> usize {
    let (mut at, before) = (0, actions.len());
    for index in 0..site.ledger.started().len() {
        let slot = site.ledger.started()[index];
        let its_turn = is_next(site.among.order(), &mut at, slot);
        let (app, account) = (site.ledger.app(slot), site.ledger.account(slot));
        let runs = app.allocation == 0 && !account.activity.stopped && told == (account.sent.epoch > 0);
        if runs && stops_without(site, slot, its_turn, confined) {
            actions.push(Action::Stop { app: app.id });
            site.ledger.stop(slot, site.now);
        }
    }
    actions.len() - before
}
