//! Each application stays inside one node for life; nodes are shared.
//!
//! **Source**: LIM (cluster-limited) as Koita et al. §3.2 compare against: Ohishi, Saisho, Fukuda
//! 1997.
//!
//! **Terms**: cluster = NUMA node; home = the node an application is confined to; free = nobody's.
//!
//! **Algorithm**
//! ```text
//! one that has no node: of the nodes with a free processor, the one with most free, of equals a random one; none ⇒ it waits
//! each gives up what it has outside its node, and what it has above its count: idle ones first, those it has had longest
//! while one lacks processors, one a turn, those that have none first: a free one in its node, by base priority
//! ```
//!
//! **Differs from the paper**: Koita et al. name it only; Ohishi et al. is known from its abstract.
//! The choice of the node is this project's.
//!
//! **Use when** programs are no wider than a node and memory is far. **Avoid when** programs are
//! wider, or few: other nodes stay idle.

use super::machinery::grants::{Grants, Where, outside_first};
use crate::answer::Answer;
use crate::part::{Info, Placement};
use crate::plan::Plan;
use crate::random::Tie;
use crate::shares::Shares;
use crate::view::View;
use numaestro_topology::PuId;

/// The name of the answer, and the function that makes it.
pub const ANSWER: Answer<dyn Placement> = Answer {
    info: Info {
        name: "limited",
        summary: "Inside one node for life; nodes are shared",
        source: "Ohishi, Saisho, Fukuda 1997; LIM of Koita et al. §3.2",
    },
    build: |given| Ok(Box::new(Limited::new(given.tie()?.unwrap_or(Tie::Random), given.seed()))),
};

/// Config and state.
#[derive(Debug, Clone)]
pub struct Limited {
    grants: Grants,
    /// Processors of one application outside its node.
    outside: Vec<PuId>,
}

impl Limited {
    /// With a rule for ties (default random) and the seed of its random stream.
    pub fn new(tie: Tie, seed: u64) -> Self {
        Self { grants: Grants::new(tie, seed), outside: Vec::new() }
    }
}

impl Placement for Limited {
    fn info(&self) -> Info {
        ANSWER.info
    }

    fn parameters(&self) -> String {
        self.grants.parameters()
    }

    fn selective(&self) -> bool {
        true
    }

    fn gives_homes(&self) -> bool {
        true
    }

    fn place(&mut self, view: &View<'_>, shares: &Shares, plan: &mut Plan) {
        self.grants.release_surplus(view, shares, plan, |slot, pu| outside_first(view, slot, pu));
        self.grants.look(view, plan);
        for &slot in view.order {
            if plan.home(slot).is_none()
                && shares.count(slot) > 0
                && let Some(home) = self.grants.choose_home(view, plan, slot, false)
            {
                plan.set_home(slot, Some(home));
            }
            self.outside.clear();
            let outside =
                |pu: &PuId| plan.next(*pu) == Some(slot) && plan.home(slot) != Some(view.machine.pu(*pu).node);
            self.outside.extend(view.app(slot).own.iter().filter(outside));
            for &pu in &self.outside {
                self.grants.evict(view, plan, slot, pu);
            }
            if plan.count(slot) == 0 {
                // At once, so that the next application sees the rest.
                self.grants.give_one(view, shares, plan, slot, Where::HomeOnly);
            }
        }
        self.grants.serve(view, shares, plan, Where::HomeOnly);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::Case;

    fn lowest() -> Limited {
        Limited::new(Tie::Lowest, 0)
    }

    #[test]
    fn each_in_the_node_with_most_free_and_never_outside() {
        let mut case = Case::on("numa:2 core:4 pu:1").wants(&[8, 3]);
        assert_eq!(case.place(&mut lowest(), &[5, 3]), ["0-3", "4-6"]);
    }

    #[test]
    fn nodes_are_shared_and_one_may_wait_while_others_are_free() {
        let mut case = Case::on("numa:2 core:2 pu:1").wants(&[2, 1, 2]);
        case.apps[0].home = Some(numaestro_topology::NumaNodeId(0));
        case.apps[2].home = Some(numaestro_topology::NumaNodeId(0));
        assert_eq!(case.place(&mut lowest(), &[2, 1, 1]), ["0", "2", "1"]);
    }

    #[test]
    fn what_is_outside_is_given_up() {
        let mut case = Case::on("numa:2 core:4 pu:1").wants(&[6]).holds(&[6]);
        assert_eq!(case.place(&mut lowest(), &[6]), ["0-3"]);
    }
}
