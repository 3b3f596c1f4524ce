//! Each application has a node to itself, and spills over into nodes that are no application's
//! home.
//!
//! **Source**: the home-cluster schemes of Koita et al. §2.1, §2.2.2: basic home with
//! `share=demand(idle=home)`, slide with `share=demand(idle=slide)`.
//!
//! **Terms**: home-cluster = home = a NUMA node that is reserved for one application; free =
//! nobody's; foreign = in somebody else's home.
//!
//! **Algorithm**
//! ```text
//! one whose home (from another placement) is also an earlier one's has none
//! one that has no home: of the nodes that are nobody's home and have a free processor, the one with most free, of equals a random one,
//!                       becomes its home; none ⇒ it gets nothing (with admission=fifo it waits)
//! each gives up foreign ones, and what it has above its count: outside its home first, there idle ones first, those it has had longest
//! while one lacks processors, one a turn, those that have none first:
//!   a free one in its home, by base priority; else a free one that is in nobody's home, by base priority
//! ```
//!
//! **Differs from the paper**: it is silent on how a home is chosen, on foreign threads that run
//! there already (here they end what they are at and then leave, and nothing takes their place
//! before) and on more applications than nodes (here they wait). A foreign thread moves at once if
//! its application has an idle processor at home.
//!
//! **Use when** memory is far from other nodes and there are no more programs than nodes. **Avoid
//! when** programs use less than a node each: the rest of it is idle.

use super::machinery::grants::{Grants, Where, outside_first};
use crate::answer::Answer;
use crate::part::{Info, Placement};
use crate::plan::Plan;
use crate::random::Tie;
use crate::shares::Shares;
use crate::view::{Slot, View};
use numaestro_topology::PuId;

/// The name of the answer, and the function that makes it.
pub const ANSWER: Answer<dyn Placement> = Answer {
    info: Info {
        name: "home",
        summary: "A node to itself, and beyond it only nodes that are nobody's home",
        source: "Koita et al. §2.1, §2.2.2",
    },
    build: |given| Ok(Box::new(Home::new(given.tie()?.unwrap_or(Tie::Random), given.seed()))),
};

/// Config and state.
#[derive(Debug, Clone)]
pub struct Home {
    grants: Grants,
    /// Foreign processors of one application.
    foreign: Vec<PuId>,
}

impl Home {
    /// With a rule for ties (default random) and the seed of its random stream.
    pub fn new(tie: Tie, seed: u64) -> Self {
        Self { grants: Grants::new(tie, seed), foreign: Vec::new() }
    }

    /// A home for each application without one. Another placement may have named one node the home
    /// of several: then only the first keeps it, so that the others are not sent away and come
    /// back.
    fn settle(&mut self, view: &View<'_>, shares: &Shares, plan: &mut Plan) {
        for &slot in view.order {
            if plan.home(slot).is_some_and(|home| self.grants.home_of(home) != Some(slot)) {
                plan.set_home(slot, None);
            }
            if plan.home(slot).is_some() || shares.count(slot) == 0 {
                continue;
            }
            if let Some(home) = self.grants.choose_home(view, plan, slot, true) {
                self.grants.settle(plan, slot, home);
            }
        }
    }

    /// Sends each application away from the homes of others.
    fn evict(&mut self, view: &View<'_>, plan: &mut Plan) {
        for &slot in view.order {
            let grants = &self.grants;
            let is_foreign = |pu: &PuId| {
                plan.next(*pu) == Some(slot) && grants.reserved_by(view, *pu).is_some_and(|other| other != slot)
            };
            self.foreign.clear();
            self.foreign.extend(view.app(slot).own.iter().filter(is_foreign));
            for &pu in &self.foreign {
                self.grants.evict(view, plan, slot, pu);
            }
        }
    }
}

impl Placement for Home {
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
        let outside = |slot: Slot, pu: PuId| view.app(slot).home != Some(view.machine.pu(pu).node);
        self.grants.release_unneeded(view, plan, outside);
        self.settle(view, shares, plan);
        self.evict(view, plan);
        self.grants.release_unneeded(view, plan, outside);
        self.grants.serve(view, shares, plan, Where::HomeFirst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::Case;
    use numaestro_topology::NumaNodeId;

    fn lowest() -> Home {
        Home::new(Tie::Lowest, 0)
    }

    /// Four nodes of 4 processors, applications at home in the first ones.
    fn at_home(requests: &[u32]) -> Case {
        let mut case = Case::on("numa:4 core:4 pu:1").wants(requests);
        for slot in 0..requests.len() {
            case.apps[slot].home = Some(NumaNodeId(slot as u32));
        }
        case
    }

    #[test]
    fn each_gets_a_node_of_its_own() {
        let mut case = Case::on("numa:4 core:4 pu:1").wants(&[4, 2, 1]);
        assert_eq!(case.place(&mut lowest(), &[4, 2, 1]), ["0-3", "4-5", "8"]);
    }

    #[test]
    fn spills_over_into_nobodys_node_only() {
        let mut case = at_home(&[9, 1, 1]);
        assert_eq!(case.place(&mut lowest(), &[9, 1, 1]), ["0-3,12-15", "4", "8"]);
    }

    #[test]
    fn waits_when_every_node_is_somebodys_home() {
        let mut case = at_home(&[1, 1, 1, 1]).wants(&[3]);
        assert_eq!(case.place(&mut lowest(), &[1, 1, 1, 1, 3])[4], "");
    }

    #[test]
    fn foreign_ones_leave_and_nothing_takes_their_place_before() {
        // The first application runs in nodes 0 and 1; node 2 and 3 are taken, so node 1 becomes
        // the home of the last.
        let mut case = at_home(&[7, 4, 4]).wants(&[4]);
        case.apps[1].home = Some(NumaNodeId(2));
        case.apps[2].home = Some(NumaNodeId(3));
        for pu in [0, 1, 2, 4, 5] {
            case.give(Slot(0), PuId(pu), 0);
        }
        let counts = [7, 4, 4, 4];
        // It gets one more at home for the processor it lacked; 4 and 5 are given up but count
        // until they are left.
        assert_eq!(case.place(&mut lowest(), &counts), ["0-3", "8-11", "12-15", "6-7"]);
    }

    #[test]
    fn outside_goes_before_home_even_if_home_is_idle() {
        let mut case = at_home(&[5]);
        for pu in [0, 1, 2, 3, 8, 12] {
            case.give(Slot(0), PuId(pu), u64::from(20 - pu));
        }
        case.pus[1].idle = true;
        // 12 has been outside longer than 8: it was given earlier.
        assert_eq!(case.place(&mut lowest(), &[5]), ["0-3,8"]);
    }

    #[test]
    fn an_application_that_runs_already_is_at_home_where_most_of_it_is() {
        let mut case = Case::on("numa:2 core:4 pu:1").wants(&[4, 4]);
        for pu in [0, 4, 5] {
            case.give(Slot(0), PuId(pu), 0);
        }
        assert_eq!(case.place(&mut lowest(), &[4, 4]), ["4-6", "1-3"], "what has still to be left counts");
    }
}
