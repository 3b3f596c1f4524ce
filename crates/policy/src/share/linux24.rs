//! No manager: every application runs everywhere, with every thread that it asks for.
//!
//! **Source**: an operating system without a manager, named after the one in Antonopoulos et al.
//! 2004, §5. The name `native` means the same.
//!
//! **Terms**: count = number of threads, not of processors.
//!
//! **Algorithm**
//! ```text
//! a(j) = what j asks for, even if the machine has fewer processors; every thread may run on every processor
//! ```
//!
//! **Differs from the paper**: the operating system decides which thread runs when, also in the
//! simulator.
//!
//! **Use when** you compare a manager with none. **Avoid when** programs synchronise: their threads
//! wait for others that do not run.

use crate::answer::Answer;
use crate::part::{Info, Needs, Share};
use crate::shares::Shares;
use crate::view::View;

/// The name of the answer, and the function that makes it.
pub const ANSWER: Answer<dyn Share> = Answer {
    info: Info {
        name: "linux24",
        summary: "As without a manager: everybody everywhere with all its threads (also called `native`)",
        source: "Antonopoulos et al. 2004, §5",
    },
    build: |_| Ok(Box::new(Linux24)),
};

/// Neither config nor state.
#[derive(Debug, Clone, Default)]
pub struct Linux24;

impl Share for Linux24 {
    fn info(&self) -> Info {
        ANSWER.info
    }

    fn needs(&self) -> Needs {
        Needs::NONE
    }

    fn conserves_work(&self) -> bool {
        false
    }

    fn space_shares(&self) -> bool {
        false
    }

    fn divide(&mut self, view: &View<'_>, shares: &mut Shares) {
        for &slot in view.order {
            shares.set(slot, view.app(slot).threads());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::Case;

    #[test]
    fn all_it_asks_for_whatever_there_is() {
        let case = Case::new(4).wants(&[16, 3, 1]).limits(0, 1, 12).limits(2, 2, 2);
        assert_eq!(case.divide(&mut Linux24), [12, 3, 2]);
    }
}
