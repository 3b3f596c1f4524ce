//! A page goes to the node of the processor that touches it first.
//!
//! **Source**: "Dist" of Koita et al. §2.3; Linux's default.
//!
//! **Terms**: cluster's memory module = NUMA node.
//!
//! **Algorithm**
//! ```text
//! home(page) = node of the faulting processor
//! ```
//!
//! **Differs from the paper**: no.
//!
//! **Use when** threads stay near the pages they initialised. **Avoid when** one thread
//! initialises pages that all use.

use crate::answer::Answer;
use crate::page_home::PageHome;
use crate::part::{Info, Pages};
use crate::view::{Slot, View};

/// The name of the answer, and the function that makes it.
pub const ANSWER: Answer<dyn Pages> = Answer {
    info: Info {
        name: "first-touch",
        summary: "A page goes to the node of the processor that touches it first",
        source: "Dist, Koita et al. §2.3",
    },
    build: |_| Ok(Box::new(FirstTouch)),
};

/// Neither config nor state.
#[derive(Debug, Clone, Default)]
pub struct FirstTouch;

impl Pages for FirstTouch {
    fn info(&self) -> Info {
        ANSWER.info
    }

    fn home(&self, _view: &View<'_>, _app: Slot) -> PageHome {
        PageHome::FirstTouch
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::Case;

    #[test]
    fn asks_for_nothing_special() {
        let case = Case::new(2).wants(&[1]);
        case.with_view(|view| assert_eq!(FirstTouch.home(view, Slot(0)), PageHome::FirstTouch));
        assert_eq!(FirstTouch.needs(), crate::Needs::NONE);
    }
}
