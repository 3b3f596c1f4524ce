//! The answer to "how many": a processor count per application. Knows nothing of which processors.

use crate::view::Slot;

/// Thousandths of a processor.
const MILLI: u64 = 1000;

/// Counts by [`Slot`], all 0 at the start of a decision.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Shares {
    count: Vec<u32>,
    /// The share before rounding, thousandths of a processor; 0 = not given.
    exact_milli: Vec<u64>,
}

impl Shares {
    /// None yet.
    pub const fn new() -> Self {
        Self { count: Vec::new(), exact_milli: Vec::new() }
    }

    /// All counts 0, for `slots` applications.
    pub fn reset(&mut self, slots: usize) {
        self.count.clear();
        self.count.resize(slots, 0);
        self.exact_milli.clear();
        self.exact_milli.resize(slots, 0);
    }

    /// Processors of one application.
    pub fn count(&self, slot: Slot) -> u32 {
        self.count[slot.index()]
    }

    /// Sets the processors of one application.
    pub fn set(&mut self, slot: Slot, count: u32) {
        self.count[slot.index()] = count;
    }

    /// Says what the share was before rounding, as the fraction `numerator / denominator`. The engine then does not move
    /// processors between running applications for rounding alone.
    pub fn set_exact(&mut self, slot: Slot, numerator: u64, denominator: u64) {
        self.exact_milli[slot.index()] = numerator.saturating_mul(MILLI) / denominator.max(1);
    }

    /// Whether `count` is the share before rounding, rounded up or down.
    pub fn is_rounding(&self, slot: Slot, count: u32) -> bool {
        let exact = self.exact_milli[slot.index()];
        exact > 0 && exact.abs_diff(u64::from(count) * MILLI) < MILLI
    }

    /// Sum of all counts.
    pub fn total(&self) -> u32 {
        self.count.iter().sum()
    }

    /// Number of slots.
    pub fn slots(&self) -> usize {
        self.count.len()
    }
}
