//! The free processors with the lowest numbers. Say your own idea here, in one sentence.
//!
//! **Source**: authors, venue, year, section or number of the algorithm.
//!
//! **Terms**: word of the paper = word of `docs/GLOSSARY.md`.
//!
//! **Algorithm**
//! ```text
//! each gives up what it has above its count
//! in order of arrival, each that lacks k processors takes the first k free ones
//! ```
//!
//! **Differs from the paper**: in what, and why.
//!
//! **Use when** … **Avoid when** …

use super::machinery::surplus::Surplus;
use crate::answer::Answer;
use crate::part::{Info, Placement};
use crate::plan::Plan;
use crate::shares::Shares;
use crate::view::View;
use numaestro_topology::PuId;

/// How it is named and made.
pub const ANSWER: Answer<dyn Placement> = Answer {
    info: Info {
        name: "skeleton",
        summary: "The lowest free numbers; people see this sentence in `numaestro policy list`",
        source: "authors year, section",
    },
    build: |_| Ok(Box::new(Skeleton::default())),
};

/// Config: each parameter with unit, range, default and where the default comes from.
/// State: the symbols of the paper, spelled as there.
#[derive(Debug, Clone, Default)]
pub struct Skeleton {
    surplus: Surplus,
    /// Those that one application takes.
    taken: Vec<PuId>,
}

impl Placement for Skeleton {
    fn info(&self) -> Info {
        ANSWER.info
    }

    fn place(&mut self, view: &View<'_>, shares: &Shares, plan: &mut Plan) {
        self.surplus.release(view, shares, plan);
        for &slot in view.order {
            let lacking = shares.count(slot).saturating_sub(plan.count(slot));
            self.taken.clear();
            self.taken.extend(plan.free().iter().take(lacking as usize));
            for &pu in &self.taken {
                plan.give(pu, slot);
            }
        }
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
        let mut case = Case::on("numa:2 core:4 pu:1").wants(&[2, 3]);
        let mut policy = Skeleton::default();
        assert_eq!(case.place(&mut policy, &[2, 3]), ["0-1", "2-4"]);
    }
}
