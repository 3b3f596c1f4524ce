//! Applications enter the ledger, are started, keep the processors they arrived with for a while,
//! hold none while their children run, and leave.

use super::Ledger;
use crate::account::{Account, Limits, Phase};
use crate::event::{Class, Nanos};
use numaestro_policy::{App, AppId, Slot};
use numaestro_topology::PuSet;

/// Most threads of one application where processors have no owners, so that sums stay far from
/// overflow.
const THREADS_MAX: u32 = 1 << 16;

impl Ledger {
    /// Gives the latest arrival a slot: it waits, and has no processors.
    pub(crate) fn enter(&mut self, id: AppId, class: Class, limits: Limits) -> Slot {
        let slot = self.vacant.pop().unwrap_or_else(|| self.add_slot(id));
        let app = &mut self.apps[slot.index()];
        app.held.clear();
        app.memory.clear();
        app.speedup.clear();
        *app = App {
            class,
            own: std::mem::take(&mut app.own),
            held: std::mem::take(&mut app.held),
            memory: std::mem::take(&mut app.memory),
            speedup: std::mem::take(&mut app.speedup),
            ..App::new(id, 0)
        };
        let account = &mut self.accounts[slot.index()];
        (account.phase, account.activity.limits) = (Phase::Waiting, limits);
        slot
    }

    fn add_slot(&mut self, id: AppId) -> Slot {
        let pus = self.pus.len();
        let set = || PuSet::with_capacity(pus);
        self.accounts.push(Account::vacant(pus));
        self.apps.push(App { own: set(), held: set(), ..App::new(id, 0) });
        self.vacating.add_slot();
        Slot(self.apps.len() as u32 - 1)
    }

    /// An application takes part from now on, or is a wrapper.
    pub(crate) fn start(&mut self, slot: Slot, phase: Phase, now: Nanos) {
        let at = self.place_in(&self.started, slot);
        self.started.insert(at, slot);
        self.apps[slot.index()].started_ns = now;
        self.set_phase(slot, phase);
    }

    /// An application that has been started takes part from now on, or is a wrapper.
    pub(crate) fn set_phase(&mut self, slot: Slot, phase: Phase) {
        self.accounts[slot.index()].phase = phase;
        self.mark(slot);
        self.changed(slot);
    }

    /// An application keeps the processors it has, or does so no longer.
    pub(crate) fn pin(&mut self, slot: Slot, pinned: bool) {
        let before = std::mem::replace(&mut self.accounts[slot.index()].pinned, pinned);
        self.special.pinned = self.special.pinned - u32::from(before) + u32::from(pinned);
    }

    /// No application keeps its processors any longer.
    pub(crate) fn unpin_all(&mut self) {
        for index in 0..self.started.len() {
            self.pin(self.started[index], false);
        }
    }

    /// Number of processors that pinned applications keep, if there are such applications. An
    /// application that has lost all its processors is pinned no longer.
    pub(crate) fn keep_pinned(&mut self) -> Option<u32> {
        if !self.pins() {
            return None;
        }
        let mut kept = 0;
        for index in 0..self.started.len() {
            let slot = self.started[index];
            if self.account(slot).pinned {
                let allocation = self.app(slot).allocation;
                self.pin(slot, allocation > 0);
                kept += allocation;
            }
        }
        Some(kept)
    }

    /// An application is stopped: it has no processors, not even as a guest.
    pub(crate) fn stop(&mut self, slot: Slot, now: Nanos) {
        self.remove_guests(slot);
        self.give_up_all(slot, now);
        self.activity_mut(slot).stopped = true;
        self.changed(slot);
    }

    /// Clamps the wishes of one application, as policies see them. `owns`: processors have owners.
    pub(crate) fn clamp_wish(&mut self, slot: Slot, owns: bool, most_of_party: u32) {
        let usable = self.usable.len() as u32;
        let within = self.within(slot).map_or(u32::MAX, |within| within.len() as u32);
        let activity = &mut self.accounts[slot.index()].activity;
        let app = &mut self.apps[slot.index()];
        let limits = activity.limits;
        let lowered = activity.sequential && owns;
        activity.team = if owns { 0 } else { activity.team };
        (app.placeable, app.estimate_ns) = (u32::MAX, limits.estimate_ns);
        app.entitled = if owns { most_of_party } else { u32::MAX };
        // Where processors have no owners, counts are threads, of which there may be more than
        // processors.
        let most = if owns { usable } else { THREADS_MAX };
        app.request = if lowered { 1 } else { limits.request.clamp(1, most) };
        let bound = if owns { within } else { u32::MAX };
        app.min = if lowered { 1 } else { limits.min.min(bound) };
        app.max = limits.max.min(bound).max(app.min);
        app.weight_milli = limits.weight_milli;
    }

    /// The application is gone. Its processors go to their next owners, or are free; its slot is
    /// vacant.
    pub(crate) fn leave(&mut self, slot: Slot, now: Nanos) {
        self.remove_guests(slot);
        self.give_up_all(slot, now);
        let at = self.place_in(&self.started, slot);
        if self.started.get(at) == Some(&slot) {
            self.started.remove(at);
        }
        self.pin(slot, false);
        self.set_home(slot, None);
        self.unbound(slot);
        self.accounts[slot.index()].vacate();
        self.vacant.push(slot);
    }
}
