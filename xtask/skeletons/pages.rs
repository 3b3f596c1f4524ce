//! A page goes to the node of the processor that touches it first. Say your own idea here, in one
//! sentence.
//!
//! **Source**: authors, venue, year, section or number of the algorithm.
//!
//! **Terms**: word of the paper = word of `docs/GLOSSARY.md`.
//!
//! **Algorithm**
//! ```text
//! home(page) = node of the processor that touches it first
//! ```
//!
//! **Differs from the paper**: in what, and why.
//!
//! **Use when** … **Avoid when** …

use crate::answer::Answer;
use crate::page_home::PageHome;
use crate::part::{Info, Pages};
use crate::view::{Slot, View};

/// How it is named and made.
pub const ANSWER: Answer<dyn Pages> = Answer {
    info: Info {
        name: "skeleton",
        summary: "Where a page is touched first; people see this sentence in `numaestro policy list`",
        source: "authors year, section",
    },
    build: |_| Ok(Box::new(Skeleton)),
};

/// Config: each parameter with unit, range, default and where the default comes from.
#[derive(Debug, Clone, Default)]
pub struct Skeleton;

impl Pages for Skeleton {
    fn info(&self) -> Info {
        ANSWER.info
    }

    // Any other answer than the first touch needs control of pages: see `needs` in `home.rs`.
    fn home(&self, _view: &View<'_>, _app: Slot) -> PageHome {
        PageHome::FirstTouch
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
        let case = Case::new(2).wants(&[1]);
        case.with_view(|view| assert_eq!(Skeleton.home(view, Slot(0)), PageHome::FirstTouch));
    }
}
