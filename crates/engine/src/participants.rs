//! The applications among which processors are divided, and the number of processors for them. A
//! turn narrows the list to the applications that run in it, so the next decision has to list all
//! anew.

use crate::ledger::Ledger;
use numaestro_policy::Slot;

/// The applications that take part in the present division.
#[derive(Debug, Clone)]
pub(crate) struct Participants {
    /// The applications, in order of arrival.
    order: Vec<Slot>,
    /// Number of processors that the applications in `order` may own.
    capacity: u32,
    /// Number of processors that unmanaged load leaves; at least 1.
    available: u32,
    /// Some applications that take part are not in `order`.
    narrowed: bool,
}

impl Participants {
    /// An empty list, until `gather` fills it.
    pub(crate) fn new(available: u32) -> Self {
        Self { order: Vec::new(), capacity: 0, available, narrowed: true }
    }

    /// The applications, in order of arrival.
    pub(crate) fn order(&self) -> &[Slot] {
        &self.order
    }

    /// Number of processors that they may own.
    pub(crate) fn capacity(&self) -> u32 {
        self.capacity
    }

    /// Number of processors that unmanaged load leaves.
    pub(crate) fn available(&self) -> u32 {
        self.available
    }

    /// Some applications that take part are not in the order.
    pub(crate) fn is_narrowed(&self) -> bool {
        self.narrowed
    }

    /// Sets the numbers of processors.
    pub(crate) fn set_processors(&mut self, available: u32, capacity: u32) {
        (self.available, self.capacity) = (available, capacity);
    }

    /// Changes the order for another one.
    pub(crate) fn exchange(&mut self, order: &mut Vec<Slot>) {
        std::mem::swap(&mut self.order, order);
    }

    /// All applications that take part are in the order.
    pub(crate) fn complete(&mut self) {
        self.narrowed = false;
    }

    /// Adds an application.
    pub(crate) fn insert(&mut self, ledger: &Ledger, slot: Slot) {
        self.order.insert(ledger.place_in(&self.order, slot), slot);
    }

    /// Takes an application out again.
    pub(crate) fn remove(&mut self, ledger: &Ledger, slot: Slot) {
        self.order.remove(ledger.place_in(&self.order, slot));
    }

    /// Only `running` and `next` take part now.
    pub(crate) fn narrow(&mut self, ledger: &Ledger, running: &[Slot], next: &[Slot]) {
        let everybody = self.order.len();
        self.order.clear();
        self.order.extend_from_slice(running);
        self.order.extend_from_slice(next);
        ledger.sort(&mut self.order);
        self.narrowed |= self.order.len() != everybody;
    }
}
