//! First come, first served: an application starts when it can have processors of its own.
//!
//! **Source**: "waits FIFO" of Brecht 1997 (§6) and Koita et al.; the batch queue of Martorell et
//! al. 2000.
//!
//! **Terms**: of its own = owned, not as a guest; enough = its minimum, at least 1.
//!
//! **Algorithm**
//! ```text
//! the first in the queue starts when the share part would give it enough and leave no running application without
//! ```
//!
//! **Differs from the paper**: no backfill; see `easy`.
//!
//! **Use when** programs end: the mean turnaround of short ones falls. **Avoid when** one may run
//! forever on all processors it needs.

use crate::answer::Answer;
use crate::part::{Admission, Info};

/// The name of the answer, and the function that makes it.
pub const ANSWER: Answer<dyn Admission> = Answer {
    info: Info {
        name: "fifo",
        summary: "An application starts when it can have processors of its own; the queue is visible",
        source: "Brecht 1997, §6; Koita et al.",
    },
    build: |_| Ok(Box::new(Fifo)),
};

/// Neither config nor state.
#[derive(Debug, Clone, Default)]
pub struct Fifo;

impl Admission for Fifo {
    fn info(&self) -> Info {
        ANSWER.info
    }

    fn queues(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::Case;
    use crate::part::Offer;
    use crate::view::Slot;

    #[test]
    fn needs_processors_of_its_own_and_none_left_without() {
        let case = Case::new(4).wants(&[4, 4]).limits(1, 2, 4);
        case.with_view(|view| {
            let starts = |count, others_served| Fifo.starts(view, Slot(1), Offer { count, others_served });
            assert!(starts(2, true));
            assert!(!starts(1, true), "fewer than its minimum");
            assert!(!starts(2, false), "somebody would be left without");
        });
    }
}
