//! All pages of an application go to its home.
//!
//! **Source**: "Con" (concentrated) of Koita et al. §2.3.
//!
//! **Terms**: home-cluster's memory module = the application's home node; where nothing is
//! reserved, the node of its first processor.
//!
//! **Algorithm**
//! ```text
//! home(page of j) = home(j)
//! ```
//!
//! **Differs from the paper**: no. A full module overflows to the next nearest, as the machine does
//! by itself.
//!
//! **Use when** threads that run elsewhere come home soon (`HS-Con`). **Avoid when** an application
//! is wider than a node for long.

use crate::answer::Answer;
use crate::page_home::PageHome;
use crate::part::{Info, Needs, Pages};
use crate::view::{Slot, View};

/// The name of the answer, and the function that makes it.
pub const ANSWER: Answer<dyn Pages> = Answer {
    info: Info {
        name: "home",
        summary: "All pages of an application go to its home",
        source: "Con, Koita et al. §2.3",
    },
    build: |_| Ok(Box::new(Home)),
};

/// Neither config nor state.
#[derive(Debug, Clone, Default)]
pub struct Home;

impl Pages for Home {
    fn info(&self) -> Info {
        ANSWER.info
    }

    fn needs(&self) -> Needs {
        Needs { page_control: true, ..Needs::NONE }
    }

    fn needs_homes(&self) -> bool {
        true
    }

    fn home(&self, view: &View<'_>, app: Slot) -> PageHome {
        view.app(app).home.map_or(PageHome::FirstTouch, PageHome::Node)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::Case;
    use numaestro_topology::NumaNodeId;

    #[test]
    fn follows_the_home() {
        let mut case = Case::on("numa:2 core:2 pu:1").wants(&[1]);
        case.with_view(|view| assert_eq!(Home.home(view, Slot(0)), PageHome::FirstTouch));
        case.apps[0].home = Some(NumaNodeId(1));
        case.with_view(|view| assert_eq!(Home.home(view, Slot(0)), PageHome::Node(NumaNodeId(1))));
        assert!(Home.needs().page_control);
    }
}
