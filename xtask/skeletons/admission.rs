//! An application starts when it can have processors of its own. Say your own idea here, in one
//! sentence.
//!
//! **Source**: authors, venue, year, section or number of the algorithm.
//!
//! **Terms**: word of the paper = word of `docs/GLOSSARY.md`.
//!
//! **Algorithm**
//! ```text
//! the first in the queue starts when it would have its minimum and nobody else less than that
//! ```
//!
//! **Differs from the paper**: in what, and why.
//!
//! **Use when** … **Avoid when** …

use crate::answer::Answer;
use crate::part::{Admission, Info, Offer};
use crate::view::{Slot, View};

/// How it is named and made.
pub const ANSWER: Answer<dyn Admission> = Answer {
    info: Info {
        name: "skeleton",
        summary: "Who can have processors of its own; people see this sentence in `numaestro policy list`",
        source: "authors year, section",
    },
    build: |_| Ok(Box::new(Skeleton)),
};

/// Config: each parameter with unit, range, default and where the default comes from.
/// State: the symbols of the paper, spelled as there.
#[derive(Debug, Clone, Default)]
pub struct Skeleton;

impl Admission for Skeleton {
    fn info(&self) -> Info {
        ANSWER.info
    }

    fn queues(&self) -> bool {
        true
    }

    fn starts(&mut self, view: &View<'_>, app: Slot, offer: Offer) -> bool {
        offer.suffices(view.app(app).min)
    }
}

// Helpers follow here, each marked with its equation or with the lines of the algorithm. An order
// of candidates is one tuple that ends in an id: a total order.

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::Case;

    #[test]
    fn the_example_of_the_paper() {
        let case = Case::new(4).wants(&[4, 4]).limits(1, 2, 4);
        case.with_view(|view| {
            let starts = |count| Skeleton.starts(view, Slot(1), Offer { count, others_served: true });
            assert!(starts(2) && !starts(1));
        });
    }
}
