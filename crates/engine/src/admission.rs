//! Decides which waiting applications start now, and tells the others their places in the queue. A
//! trial finds whether an application may start: the engine divides processors as if it ran, and
//! places them if the placement is selective.

use crate::account::Phase;
use crate::division::Division;
use crate::event::Action;
use crate::group;
use crate::ledger::Ledger;
use crate::placement::Placement;
use crate::queue::Queue;
use crate::site::Site;
use numaestro_policy::{AppId, Offer, Policy, PuState, Slot, Waiting};

/// The applications that wait.
#[derive(Debug, Clone, Default)]
pub(crate) struct Admission {
    queue: Queue,
    /// By slot: the place in the queue that it was last told, from 1; 0: not told.
    told: Vec<u32>,
    /// The applications that this decision has started.
    fresh: Vec<Waiting>,
}

/// The parts of the engine that a trial divides and places with.
pub(crate) struct Trial<'a> {
    pub site: &'a mut Site,
    pub policy: &'a mut Policy,
    pub division: &'a mut Division,
    pub placement: &'a mut Placement,
    /// The application that the event is about.
    pub subject: Option<Slot>,
    /// Processors that unmanaged load takes.
    pub unmanaged: u32,
}

impl Admission {
    /// The applications that wait, in order of arrival.
    pub(crate) fn waiting(&self) -> &[Waiting] {
        self.queue.waiting()
    }

    /// The slot of an application that waits.
    pub(crate) fn slot(&self, ledger: &Ledger, app: AppId) -> Option<Slot> {
        let at = self.waiting().binary_search_by_key(&app, |waiting| ledger.app(waiting.app).id).ok()?;
        Some(self.waiting()[at].app)
    }

    /// The place of an application in the queue, counted from 0.
    pub(crate) fn place(&self, ledger: &Ledger, slot: Slot) -> Option<usize> {
        let id = ledger.app(slot).id;
        self.queue.position(slot, |other| ledger.app(other).id < id)
    }

    /// The latest arrival waits.
    pub(crate) fn push(&mut self, ledger: &Ledger, slot: Slot) {
        self.told.resize(ledger.apps().len(), 0);
        let app = ledger.app(slot);
        self.queue.push(Waiting { app: slot, processors: app.cap(u32::MAX), estimate_ns: app.estimate_ns });
    }

    /// The wishes of an application have changed.
    pub(crate) fn note_wish(&mut self, ledger: &Ledger, slot: Slot) {
        if let Some(at) = self.place(ledger, slot) {
            self.queue.set_processors(at, ledger.app(slot).cap(u32::MAX));
        }
    }

    /// An application does not wait any more, if it did.
    pub(crate) fn remove(&mut self, ledger: &Ledger, slot: Slot) {
        if let Some(at) = self.place(ledger, slot) {
            self.take_out(at);
        }
    }

    /// The bounds of all wishes have changed. Wrappers run on every processor, and the set of
    /// processors may have changed too.
    pub(crate) fn clamp_wishes(&mut self, site: &mut Site) {
        for index in 0..site.ledger.started().len() {
            let slot = site.ledger.started()[index];
            group::clamp_wish(site, slot);
            if site.ledger.account(slot).phase == Phase::Wrapper {
                site.ledger.mark(slot);
            }
        }
        for at in 0..self.queue.len() {
            let slot = self.waiting()[at].app;
            group::clamp_wish(site, slot);
            self.queue.set_processors(at, site.ledger.app(slot).cap(u32::MAX));
        }
    }

    /// Starts the applications in the queue that may start, and tells the others their place. True
    /// if one was started.
    pub(crate) fn admit(&mut self, trial: &mut Trial<'_>, actions: &mut Vec<Action>) -> bool {
        self.fresh.clear();
        if !self.queue.is_empty() {
            if trial.policy.admission.queues() {
                self.admit_in_turn(trial, actions);
            }
            self.admit_without_turn(trial, actions);
            self.admit_stuck(trial, actions);
        }
        self.tell_places(&trial.site.ledger, trial.site.settings.positions as usize, actions);
        !self.fresh.is_empty()
    }

    /// Starts the applications that the admission part chooses.
    fn admit_in_turn(&mut self, trial: &mut Trial<'_>, actions: &mut Vec<Action>) {
        let capacity = trial.site.among.capacity();
        let kept = |&slot: &Slot| {
            let app = trial.site.ledger.app(slot);
            app.allocation.min(app.wanted(capacity))
        };
        let mut free = capacity.saturating_sub(trial.site.among.order().iter().map(kept).sum());
        let mut from = 0;
        loop {
            let queue = numaestro_policy::Queue { waiting: self.waiting(), started: &self.fresh, free };
            let Some(at) = trial.policy.admission.next(&trial.site.view(), queue, from) else { return };
            let waiting = queue.waiting[at];
            from = at + 1;
            if trial.start(waiting.app, true) {
                self.start_at(at, trial.site, actions);
                free = free.saturating_sub(waiting.need(capacity));
                from = at;
            }
        }
    }

    /// Starts the applications that do not wish to wait. Where admission does not queue,
    /// applications that wish to wait start in order, when they get their minimum.
    fn admit_without_turn(&mut self, trial: &mut Trial<'_>, actions: &mut Vec<Action>) {
        let queues = trial.policy.admission.queues();
        let (mut at, mut blocked) = (if queues { self.queue.len().saturating_sub(1) } else { 0 }, false);
        while let Some(waiting) = self.waiting().get(at).copied() {
            let wait = trial.site.ledger.activity(waiting.app).limits.wait.unwrap_or(queues);
            if !wait || !queues && !blocked && trial.start(waiting.app, true) {
                if !wait {
                    trial.start(waiting.app, false);
                }
                self.start_at(at, trial.site, actions);
            } else {
                (at, blocked) = (at + 1, true);
            }
        }
    }

    /// Where nothing runs and every processor is there, waiting longer helps nobody: the first
    /// application starts with as many processors as it gets. Otherwise a minimum that the policy
    /// never gives would hold up the whole queue for ever.
    fn admit_stuck(&mut self, trial: &mut Trial<'_>, actions: &mut Vec<Action>) {
        let ledger = &trial.site.ledger;
        let runs = |&slot: &Slot| ledger.account(slot).phase == Phase::Running;
        let all_there = trial.unmanaged == 0 && ledger.pus().iter().all(|pu| pu.state != PuState::Offline);
        if !all_there || ledger.started().iter().any(runs) {
            return;
        }
        if let Some(first) = self.waiting().first().copied() {
            trial.start(first.app, false);
            self.start_at(0, trial.site, actions);
        }
    }

    /// Moves an application from the queue to the running ones.
    fn start_at(&mut self, at: usize, site: &mut Site, actions: &mut Vec<Action>) {
        let waiting = self.take_out(at);
        site.ledger.start(waiting.app, Phase::Running, site.now);
        self.fresh.push(waiting);
        actions.push(Action::Start { app: site.ledger.app(waiting.app).id });
    }

    fn take_out(&mut self, at: usize) -> Waiting {
        let waiting = self.queue.remove(at);
        self.told[waiting.app.index()] = 0;
        waiting
    }

    /// Tells a new place to the applications among the first `positions` whose place has changed,
    /// and to every application that has just come.
    fn tell_places(&mut self, ledger: &Ledger, positions: usize, actions: &mut Vec<Action>) {
        let moved = self.queue.take_moved();
        let len = self.queue.len();
        let known = positions.min(len);
        for at in moved..known {
            self.tell_place(at, ledger, actions);
        }
        let mut new = len;
        while new > moved.max(known) && self.told[self.waiting()[new - 1].app.index()] == 0 {
            new -= 1;
        }
        for at in new..len {
            self.tell_place(at, ledger, actions);
        }
    }

    fn tell_place(&mut self, at: usize, ledger: &Ledger, actions: &mut Vec<Action>) {
        let slot = self.waiting()[at].app;
        let position = at as u32 + 1;
        if std::mem::replace(&mut self.told[slot.index()], position) != position {
            actions.push(Action::Wait { app: ledger.app(slot).id, position });
        }
    }
}

impl Trial<'_> {
    /// Adds an application to the participants, if it may start; unless `asked`, it may.
    fn start(&mut self, slot: Slot, asked: bool) -> bool {
        self.site.among.insert(&self.site.ledger, slot);
        let starts = !asked || self.may_start(slot);
        if !starts {
            self.site.among.remove(&self.site.ledger, slot);
        }
        starts
    }

    /// Asks how many processors the share part would give the application, and how many of them the
    /// placement finds.
    fn may_start(&mut self, slot: Slot) -> bool {
        let placed = self.site.places_anew() && self.site.regime.owns();
        if placed {
            self.placement.place(self.site, self.division, self.policy, None, self.subject);
        } else {
            self.division.divide(self.site, &mut *self.policy.share, None);
        }
        // Processors that a selective placement has not found are not offered.
        let count = |slot| if placed { self.placement.count(slot) } else { self.division.shares().count(slot) };
        let served = |&other: &Slot| other == slot || count(other) >= self.site.ledger.app(other).min;
        let offer = Offer { count: count(slot), others_served: self.site.among.order().iter().all(served) };
        if !self.policy.admission.queues() {
            return offer.suffices(self.site.ledger.app(slot).min);
        }
        self.policy.admission.starts(&self.site.view(), slot, offer)
    }
}
