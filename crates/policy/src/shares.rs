//! The counts that a share part gives: processors for each application.

use crate::view::{Search, Slot};

/// Thousandths of a processor.
const MILLI: u64 = 1000;

/// Counts by [`Slot`], all 0 at the start of a decision.
#[derive(Debug, Clone, Default)]
pub struct Shares {
    count: Vec<u32>,
    /// The share before rounding, thousandths of a processor; 0 = not given.
    exact_milli: Vec<u64>,
    /// Applications whose count may not be 0; one may be listed several times.
    written: Vec<Slot>,
    total: u32,
    searches: Vec<(Slot, Search)>,
}

impl Shares {
    /// No counts yet.
    pub const fn new() -> Self {
        Self { count: Vec::new(), exact_milli: Vec::new(), written: Vec::new(), total: 0, searches: Vec::new() }
    }

    /// Sets all counts to 0, for `slots` applications. The cost goes with the counts written, not
    /// with `slots`.
    pub fn reset(&mut self, slots: usize) {
        for slot in self.written.drain(..) {
            (self.count[slot.index()], self.exact_milli[slot.index()]) = (0, 0);
        }
        self.total = 0;
        self.searches.clear();
        self.count.resize(slots, 0);
        self.exact_milli.resize(slots, 0);
    }

    /// Processors of one application.
    pub fn count(&self, slot: Slot) -> u32 {
        self.count[slot.index()]
    }

    /// Sets the processors of one application.
    pub fn set(&mut self, slot: Slot, count: u32) {
        let before = std::mem::replace(&mut self.count[slot.index()], count);
        if before == 0 {
            self.written.push(slot);
        }
        self.total = self.total - before + count;
    }

    /// Sets the share before rounding, the fraction `numerator / denominator`. The engine then does
    /// not move processors between running applications for rounding alone.
    pub fn set_exact(&mut self, slot: Slot, numerator: u64, denominator: u64) {
        let exact = numerator.saturating_mul(MILLI) / denominator.max(1);
        if std::mem::replace(&mut self.exact_milli[slot.index()], exact) == 0 {
            self.written.push(slot);
        }
    }

    /// The share before rounding, thousandths of a processor; the count, if the share part gave no
    /// other.
    pub fn exact_milli(&self, slot: Slot) -> u64 {
        match self.exact_milli[slot.index()] {
            0 => u64::from(self.count(slot)) * MILLI,
            exact => exact,
        }
    }

    /// Sets the state of the search for an application's number of processors: the admission part
    /// sees it from the next decision on.
    pub fn set_search(&mut self, slot: Slot, search: Search) {
        self.searches.push((slot, search));
    }

    /// The states of searches that were set; of several for one application the last one holds.
    pub fn searches(&self) -> &[(Slot, Search)] {
        &self.searches
    }

    /// Says whether `count` is the share before rounding, rounded up or down.
    pub fn is_rounding(&self, slot: Slot, count: u32) -> bool {
        let exact = self.exact_milli[slot.index()];
        exact > 0 && exact.abs_diff(u64::from(count) * MILLI) < MILLI
    }

    /// Sum of all counts.
    pub fn total(&self) -> u32 {
        self.total
    }

    /// Number of slots.
    pub fn slots(&self) -> usize {
        self.count.len()
    }
}
