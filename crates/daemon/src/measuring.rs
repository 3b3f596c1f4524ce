//! Whether programs are asked to measure themselves: while the policy in force wants speedups, or their pace because nothing counts what they move.
//! Measuring costs a little, so nobody does it unasked. It must not know what is measured.

use numaestro_host::monotonic_ns;
use tracing::warn;

use crate::manager::Manager;

impl Manager {
    /// Whether the policy in force wants programs to measure themselves.
    pub(crate) fn wants_measurements(&self) -> bool {
        self.brain.needs().speedup || self.bandwidth.needs_pace()
    }

    /// Tells every program with a page what is wanted now, if that has changed.
    pub(crate) fn consider_measuring(&mut self) {
        let wanted = self.wants_measurements();
        for entry in self.apps.values_mut().filter(|entry| entry.measures != wanted) {
            entry.measures = wanted;
            let (Some(page), Some(target)) = (&entry.page, &entry.target) else { continue };
            // A program looks at its flags when the number of the decision changes.
            entry.epoch_base = entry.epoch_base.wrapping_add(1);
            if let Err(cause) = page.publish(&entry.decision(target, monotonic_ns())) {
                warn!(app = entry.number, "cannot wake it: {cause}");
            }
        }
    }
}
