//! Everybody runs all the time. Say your own idea here, in one sentence.
//!
//! **Source**: authors, venue, year, section or number of the algorithm.
//!
//! **Terms**: word of the paper = word of `docs/GLOSSARY.md`.
//!
//! **Algorithm**
//! ```text
//! running = all that have been started
//! ```
//!
//! **Differs from the paper**: in what, and why.
//!
//! **Use when** … **Avoid when** …

use crate::answer::Answer;
use crate::part::{Info, Turns};
use crate::turn::Turn;
use crate::view::View;

/// How it is named and made.
pub const ANSWER: Answer<dyn Turns> = Answer {
    info: Info {
        name: "skeleton",
        summary: "Everybody all the time; people see this sentence in `numaestro policy list`",
        source: "authors year, section",
    },
    build: |_| Ok(Box::new(Skeleton)),
};

/// Config: each parameter with unit, range, default and where the default comes from.
/// State: the symbols of the paper, spelled as there.
#[derive(Debug, Clone, Default)]
pub struct Skeleton;

impl Turns for Skeleton {
    fn info(&self) -> Info {
        ANSWER.info
    }

    fn now(&mut self, view: &View<'_>, turn: &mut Turn) -> Option<u64> {
        // Who does not run now is taken out of `turn.running`, which begins with all of
        // `view.order`. The answer is the end of the turn, nanoseconds; none: nobody waits for one.
        debug_assert_eq!(turn.running, view.order);
        None
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
        let case = Case::new(2).wants(&[1, 1, 1]);
        let (turn, end) = case.turn(&mut Skeleton);
        assert_eq!((turn.running, end), (case.order, None));
    }
}
