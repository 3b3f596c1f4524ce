//! Meetings that are recalled.

use loom::sync::atomic::Ordering;

use super::mistake::Mistake;
use super::team::{Carrier, Flow, Team};

/// `RECALL_GENERATIONS`.
const GENERATIONS: u32 = 2;

impl Team {
    /// `nm_fold_recall`.
    pub fn recall(&self) {
        let next = self.generation.load(Ordering::Relaxed) + GENERATIONS;
        if self.has(Mistake::RecalledLate) {
            self.open_turn(next);
            self.recalled.store(next, Ordering::SeqCst);
        } else {
            self.recalled.store(next, Ordering::SeqCst);
            self.open_turn(next);
        }
    }

    /// `meet`, as far as the context comes to a meeting that will be recalled, or has been: then
    /// there is no generation to take back.
    pub fn comes_in_vain(&self, carrier: &mut Carrier, me: usize) -> (Flow, Option<u32>) {
        let order = if self.has(Mistake::GenerationWithoutOrder) { Ordering::Relaxed } else { Ordering::Acquire };
        let generation = self.generation.load(order);
        if self.recalled.load(Ordering::Relaxed) == generation {
            return (Flow::GoesOn, None);
        }
        self.contexts[me].turn.store(generation + 1, Ordering::Relaxed);
        let arrived = self.arrived.fetch_add(1, Ordering::AcqRel) + 1;
        assert!((arrived as usize) < self.members(), "a meeting took place without the one that recalls it");
        (self.suspend(carrier, me), Some(generation))
    }

    /// The rest of `meet`.
    pub fn takes_back(&self, generation: u32) {
        assert_eq!(self.recalled.load(Ordering::Relaxed), generation + GENERATIONS, "nobody recalled the meeting");
        if !self.has(Mistake::NotTakenBack) {
            self.arrived.fetch_sub(1, Ordering::Relaxed);
        }
    }
}
