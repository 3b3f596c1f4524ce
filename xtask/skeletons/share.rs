//! Processors one by one in order of arrival, until all are given. Say your own idea here, in one
//! sentence.
//!
//! **Source**: authors, venue, year, section or number of the algorithm.
//!
//! **Terms**: word of the paper = word of `docs/GLOSSARY.md`.
//!
//! **Algorithm**
//! ```text
//! while processors are left and somebody wants more: one to each, in order of arrival
//! ```
//!
//! **Differs from the paper**: in what, and why.
//!
//! **Use when** … **Avoid when** …

use super::machinery::guarantee::{guarantee, served};
use crate::answer::Answer;
use crate::part::{Info, Share};
use crate::shares::Shares;
use crate::view::{Slot, View};

/// How it is named and made.
pub const ANSWER: Answer<dyn Share> = Answer {
    info: Info {
        name: "skeleton",
        summary: "Processors one by one in order of arrival; people see this sentence in `numaestro policy list`",
        source: "authors year, section",
    },
    build: |_| Ok(Box::new(Skeleton::default())),
};

/// Config: each parameter with unit, range, default and where the default comes from.
/// State: the symbols of the paper, spelled as there.
#[derive(Debug, Clone, Default)]
pub struct Skeleton {
    /// Those whose minimums fit, in order of arrival.
    served: Vec<Slot>,
}

impl Share for Skeleton {
    fn info(&self) -> Info {
        ANSWER.info
    }

    fn conserves_work(&self) -> bool {
        true
    }

    fn divide(&mut self, view: &View<'_>, shares: &mut Shares) {
        served(view, &mut self.served);
        let (mut left, mut given) = (view.capacity, true);
        while left > 0 && given {
            given = false;
            for &slot in &self.served {
                if left > 0 && shares.count(slot) < view.app(slot).cap(view.capacity) {
                    shares.set(slot, shares.count(slot) + 1);
                    left -= 1;
                    given = true;
                }
            }
        }
        guarantee(view, &self.served, shares);
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
        let mut policy = Skeleton::default();
        assert_eq!(Case::new(8).wants(&[6, 1, 3]).divide(&mut policy), [4, 1, 3]);
    }
}
