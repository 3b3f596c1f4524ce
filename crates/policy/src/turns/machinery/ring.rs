//! The applications as a circular list in order of arrival, and the part of it that fits into one
//! turn.
//!
//! Places in the list are numbers of applications, so a place stays valid when the application
//! there has gone: it means the next one after it.

use crate::part::Needs;
use crate::view::{AppId, Slot, View};

/// The needs of every policy of this family: requests, and stopping of applications that do not
/// run.
pub const NEEDS: Needs = Needs { preemption: true, ..Needs::REQUESTS };

/// The list; a buffer that is used again.
#[derive(Debug, Clone, Default)]
pub struct Ring {
    slots: Vec<Slot>,
}

impl Ring {
    /// Lists all present applications, but those whose minimum is more than the whole machine has
    /// now.
    pub fn sync(&mut self, view: &View<'_>) {
        self.slots.clear();
        self.slots.extend(view.order.iter().copied().filter(|&slot| view.app(slot).min <= view.capacity));
    }

    /// The applications, in order of arrival.
    pub fn slots(&self) -> &[Slot] {
        &self.slots
    }

    /// The application with this number, if it is there.
    pub fn find(&self, view: &View<'_>, app: AppId) -> Option<Slot> {
        let at = self.slots.binary_search_by_key(&app, |&slot| view.app(slot).id).ok()?;
        Some(self.slots[at])
    }

    /// All applications once, from `place` on: the first is the one there, or the next one after
    /// it.
    pub fn from(&self, view: &View<'_>, place: AppId) -> impl Iterator<Item = Slot> {
        let (before, after) = self.slots.split_at(self.slots.partition_point(|&slot| view.app(slot).id < place));
        after.iter().chain(before).copied()
    }
}

/// The place behind an application.
pub fn behind(app: AppId) -> AppId {
    AppId(app.0 + 1)
}

/// r(j): processors it asks for within its own limits, and no more than there are.
pub fn request(view: &View<'_>, slot: Slot) -> u32 {
    view.app(slot).threads().min(view.capacity)
}

/// The room that a window or gang still has.
#[derive(Debug, Clone, Copy)]
pub struct Room {
    requests: u64,
    minimums: u32,
    empty: bool,
}

impl Room {
    /// Requests of up to `k_milli` thousandths of the machine, and minimums of no more than the
    /// machine.
    pub fn new(view: &View<'_>, k_milli: u32) -> Self {
        let requests = u64::from(view.capacity) * u64::from(k_milli) / 1000;
        Self { requests, minimums: view.capacity, empty: true }
    }

    /// Takes an application in if it fits; the first always does.
    pub fn take(&mut self, view: &View<'_>, slot: Slot) -> bool {
        let (requests, min) = (u64::from(request(view, slot)), view.app(slot).min);
        let fits = requests <= self.requests && min <= self.minimums;
        if !fits && !self.empty {
            return false;
        }
        (self.requests, self.minimums) = (self.requests.saturating_sub(requests), self.minimums.saturating_sub(min));
        self.empty = false;
        true
    }

    /// Says whether no other application can be taken in.
    pub fn is_full(&self) -> bool {
        self.requests == 0 || self.minimums == 0
    }
}

/// Default of the factor k, thousandths.
pub const K_MILLI: u32 = 1000;

/// k as a parameter in policy texts, if it is not the default.
pub fn k_parameter(k_milli: u32) -> Option<String> {
    (k_milli != K_MILLI).then(|| format!("k={}", crate::parameters::write_milli(k_milli)))
}
