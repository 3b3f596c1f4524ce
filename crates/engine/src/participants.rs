//! Among whom processors are divided, and how many there are for them. A turn narrows the list to
//! those that run in it, so the next decision has to list everybody anew.

use crate::ledger::Ledger;
use numaestro_policy::Slot;

/// Those that take part in the present division.
#[derive(Debug, Clone)]
pub(crate) struct Participants {
    /// In order of arrival.
    order: Vec<Slot>,
    /// Processors that those in `order` may own.
    capacity: u32,
    /// Processors that are not taken by load that is not managed; at least 1.
    available: u32,
    /// Not everybody that takes part is in `order`.
    narrowed: bool,
}

impl Participants {
    /// Nobody, until they are listed.
    pub(crate) fn new(available: u32) -> Self {
        Self { order: Vec::new(), capacity: 0, available, narrowed: true }
    }

    /// In order of arrival.
    pub(crate) fn order(&self) -> &[Slot] {
        &self.order
    }

    /// Processors that they may own.
    pub(crate) fn capacity(&self) -> u32 {
        self.capacity
    }

    /// Processors that are not taken by load that is not managed.
    pub(crate) fn available(&self) -> u32 {
        self.available
    }

    /// Not everybody that takes part is in the order.
    pub(crate) fn is_narrowed(&self) -> bool {
        self.narrowed
    }

    /// There are so many processors.
    pub(crate) fn set_processors(&mut self, available: u32, capacity: u32) {
        (self.available, self.capacity) = (available, capacity);
    }

    /// Changes the order for another one.
    pub(crate) fn exchange(&mut self, order: &mut Vec<Slot>) {
        std::mem::swap(&mut self.order, order);
    }

    /// Everybody that takes part is in the order.
    pub(crate) fn complete(&mut self) {
        self.narrowed = false;
    }

    /// One more takes part.
    pub(crate) fn insert(&mut self, ledger: &Ledger, slot: Slot) {
        self.order.insert(ledger.place_in(&self.order, slot), slot);
    }

    /// It does not after all.
    pub(crate) fn remove(&mut self, ledger: &Ledger, slot: Slot) {
        self.order.remove(ledger.place_in(&self.order, slot));
    }

    /// Only these take part now.
    pub(crate) fn narrow(&mut self, ledger: &Ledger, running: &[Slot], next: &[Slot]) {
        let everybody = self.order.len();
        self.order.clear();
        self.order.extend_from_slice(running);
        self.order.extend_from_slice(next);
        ledger.sort(&mut self.order);
        self.narrowed |= self.order.len() != everybody;
    }
}
