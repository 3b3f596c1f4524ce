//! Tells applications their targets and the homes of their pages, and folds by force those that do
//! not answer.
//!
//! The applications that have to vacate processors are told first. A program of class fold has
//! vacated them when the shell has carried the target out, so they pass on at once. Then all other
//! applications whose target has changed are told.

use crate::account::Phase;
use crate::event::{Action, Class, Nanos};
use crate::ledger::Ledger;
use crate::site::Site;
use crate::vacating::Overdue;
use numaestro_policy::{Policy, Slot};
use numaestro_topology::PuSet;

/// Buffers.
#[derive(Debug, Clone, Default)]
pub(crate) struct Targets {
    /// Applications whose target may have changed.
    slots: Vec<Slot>,
    /// Sets that actions have given back.
    sets: Vec<PuSet>,
}

/// A target that an application should have.
struct Wanted<'a> {
    pus: &'a PuSet,
    /// Threads; as a rule the number of processors.
    count: u32,
    shared: bool,
    lent: bool,
}

impl Targets {
    /// Takes the sets of actions that were carried out.
    pub(crate) fn recycle(&mut self, actions: impl Iterator<Item = Action>) {
        for action in actions {
            if let Action::Target { pus, .. } | Action::Force { pus, .. } = action {
                self.sets.push(pus);
            }
        }
    }

    /// Appends the targets that have changed. `reclaims`: the event takes lent processors back.
    pub(crate) fn tell(&mut self, site: &mut Site, policy: &Policy, reclaims: bool, actions: &mut Vec<Action>) {
        let mut slots = std::mem::take(&mut self.slots);
        site.ledger.take_marked(&mut slots);
        site.ledger.sort(&mut slots);
        let grace = match (policy.share.preempts(), reclaims) {
            (true, _) => 0,
            (false, true) => site.settings.reclaim_ns,
            (false, false) => site.settings.grace_ns,
        };
        let mut next = 0;
        while let Some(&slot) = slots.get(next) {
            self.tell_leaving(site, slot, grace, actions);
            // The next owners of processors that were left at once.
            site.ledger.take_marked(&mut slots);
            next += 1;
        }
        site.ledger.sort(&mut slots);
        for slot in slots.drain(..) {
            if site.ledger.unmark(slot) {
                tell_pages(site, policy, slot, actions);
                self.tell_one(site, slot, actions);
            }
        }
        self.slots = slots;
    }

    /// Tells an application which processors it has to vacate, if it has not been told. If its
    /// class has become fold since then, it has vacated them with its next target.
    fn tell_leaving(&mut self, site: &mut Site, slot: Slot, grace: Nanos, actions: &mut Vec<Action>) {
        let account = site.ledger.account(slot);
        let folds = site.ledger.app(slot).class == Class::Fold;
        if !account.dirty || account.leaving.is_empty() {
            return;
        }
        let knows = site.ledger.knows_to_leave(slot);
        if knows && !folds {
            return;
        }
        self.tell_one(site, slot, actions);
        site.ledger.announced(slot, site.now, grace);
        // An application whose target is the same (as a guest it stays where it was) has carried it
        // out already.
        let (epoch, adopted) = site.ledger.epochs(slot);
        if folds && !knows || adopted >= epoch {
            site.ledger.release_announced(slot, epoch, site.now);
        }
    }

    /// Appends the target of one application, if it differs from its latest.
    fn tell_one(&mut self, site: &mut Site, slot: Slot, actions: &mut Vec<Action>) {
        let Some(wanted) = wanted(&site.ledger, slot) else { return };
        let account = site.ledger.account(slot);
        let (sent, stopped) = (&account.sent, account.activity.stopped);
        let same = sent.pus == *wanted.pus && sent.count == wanted.count;
        if !stopped && sent.epoch > 0 && same && sent.shared == wanted.shared && sent.lent == wanted.lent {
            return;
        }
        let mut pus = self.sets.pop().unwrap_or_else(|| PuSet::with_capacity(site.machine.pu_count()));
        pus.clone_from(wanted.pus);
        let Wanted { count, shared, lent, .. } = wanted;
        let app = site.ledger.app(slot).id;
        let epoch = site.ledger.send_target(slot, &pus, count, (shared, lent));
        actions.push(Action::Target { app, epoch, count, pus, shared, lent });
        if stopped {
            site.ledger.activity_mut(slot).stopped = false;
            actions.push(Action::Continue { app });
        }
    }

    /// Forces the applications whose grace time is over, and takes processors from those that the
    /// shell could not force either. True if processors were taken.
    pub(crate) fn end_graces(&mut self, site: &mut Site, actions: &mut Vec<Action>) -> bool {
        let (now, grace) = (site.now, site.settings.grace_ns);
        let mut taken = false;
        for index in 0..site.ledger.vacating().listed().len() {
            let slot = site.ledger.vacating().listed()[index];
            match site.ledger.vacating().overdue(slot, now, grace) {
                Some(Overdue::Take(epoch)) => {
                    site.ledger.release_announced(slot, epoch, now);
                    taken = true;
                }
                Some(Overdue::Force) => {
                    site.ledger.forced(slot, now);
                    let sent = &site.ledger.account(slot).sent;
                    let mut pus = self.sets.pop().unwrap_or_default();
                    pus.clone_from(&sent.pus);
                    actions.push(Action::Force { app: site.ledger.app(slot).id, epoch: sent.epoch, pus });
                }
                None => {}
            }
        }
        taken
    }

    /// Drops the forces of stopped applications: a grace time may end in the same step as a turn,
    /// and the shell does not move a program that it stops. The actions of this step begin at
    /// `first`.
    pub(crate) fn spare_stopped(&mut self, ledger: &Ledger, first: usize, actions: &mut Vec<Action>) {
        let is_stopped = |app| ledger.slot(app).is_some_and(|slot| ledger.activity(slot).stopped);
        let forces_stopped = |action: &mut Action| matches!(action, Action::Force { app, .. } if is_stopped(*app));
        self.recycle(actions.extract_if(first.., forces_stopped));
    }
}

/// Appends the home of an application's pages, if it has changed.
fn tell_pages(site: &mut Site, policy: &Policy, slot: Slot, actions: &mut Vec<Action>) {
    if site.ledger.account(slot).phase != Phase::Running {
        return;
    }
    let home = policy.pages.home(&site.view(), slot);
    if site.ledger.send_pages(slot, home) {
        actions.push(Action::Pages { app: site.ledger.app(slot).id, home });
    }
}

/// The target an application should have now. `None` while it waits, and before its first target
/// while others have still to vacate all its processors.
fn wanted(ledger: &Ledger, slot: Slot) -> Option<Wanted<'_>> {
    let (account, app) = (ledger.account(slot), ledger.app(slot));
    let activity = &account.activity;
    let on = |pus: &'_ PuSet| pus.len() as u32;
    let lent = activity.sequential && app.allocation < activity.parallel_count;
    match account.phase {
        Phase::Wrapper => {
            let pus = ledger.within(slot).unwrap_or(ledger.usable());
            Some(Wanted { pus, count: on(pus), shared: true, lent: false })
        }
        Phase::Running if !account.owned.is_empty() => {
            let shared = account.owned.iter().any(|pu| ledger.runs_a_guest(pu));
            Some(Wanted { pus: &account.owned, count: on(&account.owned), shared, lent })
        }
        // A guest alone on its processors may still have to make room at any time, without being
        // asked first.
        Phase::Running if !account.guest_of.is_empty() => {
            let count = if activity.team > 0 { activity.team } else { on(&account.guest_of) };
            Some(Wanted { pus: &account.guest_of, count, shared: true, lent })
        }
        // It is stopped until it has processors.
        Phase::Running if activity.stopped => None,
        // It has lost all its processors. Until others have vacated its next ones, it runs there
        // beside them.
        Phase::Running if account.sent.epoch > 0 && !app.own.is_empty() => {
            Some(Wanted { pus: &app.own, count: on(&app.own), shared: true, lent })
        }
        Phase::Gone | Phase::Waiting | Phase::Running => None,
    }
}
