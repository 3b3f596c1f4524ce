//! An application's pages go in turn to the nodes of its own processors.
//!
//! **Source**: round robin over only the processors of the application, which Brecht 1993 §6 found
//! missing; interleaving of `set_mempolicy(2)`.
//!
//! **Terms**: its nodes = the NUMA nodes of the processors that are its own.
//!
//! **Algorithm**
//! ```text
//! home(page i of j) = node number (i mod n) of the n nodes of j
//! ```
//!
//! **Differs from the paper**: only over the nodes of the application itself, not over all. When
//! these change, only new pages follow at once; pages on nodes that it has left follow where that
//! is worth it ([`super::worth`]).
//!
//! **Use when** one thread initialises pages that threads on several nodes use, or one node's way
//! to memory is too narrow. **Avoid when** threads use mostly pages that they have initialised
//! themselves.

use crate::answer::Answer;
use crate::page_home::PageHome;
use crate::part::{Info, Needs, Pages};
use crate::view::{Slot, View};

/// The name of the answer, and the function that makes it.
pub const ANSWER: Answer<dyn Pages> = Answer {
    info: Info {
        name: "interleave",
        summary: "Pages go in turn to the nodes of the application's own processors",
        source: "asked for in Brecht 1993, §6",
    },
    build: |_| Ok(Box::new(Interleave)),
};

/// Neither config nor state.
#[derive(Debug, Clone, Default)]
pub struct Interleave;

impl Pages for Interleave {
    fn info(&self) -> Info {
        ANSWER.info
    }

    fn needs(&self) -> Needs {
        Needs { page_control: true, ..Needs::NONE }
    }

    fn home(&self, _view: &View<'_>, _app: Slot) -> PageHome {
        PageHome::Interleave
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::Case;

    #[test]
    fn is_the_same_wherever_it_runs_and_needs_control() {
        let mut case = Case::on("numa:2 core:2 pu:1").wants(&[1, 3]);
        case.with_view(|view| assert_eq!(Interleave.home(view, Slot(0)), PageHome::Interleave));
        case.apps[1].home = Some(numaestro_topology::NumaNodeId(1));
        case.with_view(|view| assert_eq!(Interleave.home(view, Slot(1)), PageHome::Interleave));
        assert!(Interleave.needs().page_control && !Interleave.needs_homes());
    }
}
