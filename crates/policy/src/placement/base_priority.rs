//! A processor that the application had before, else one of the node with most of its own, else one
//! of the node with most free ones.
//!
//! **Source**: the cluster-free schemes (release, hold, partial hold) of Koita et al. §2.2.1 with
//! their base priority (§2.2).
//!
//! **Terms**: cluster = NUMA node; free = nobody's; before-processor = one that the application had
//! at its latest deallocation, the latest moment in which it lost processors; home = here only a
//! name for the node of its first processor: nothing is reserved.
//!
//! **Algorithm**
//! ```text
//! each gives up what it has above its count: idle ones first, those outside its home first, those it has had longest
//! while one lacks processors, one a turn, those that have none first:
//!   1. a before-processor, most recent first        2. a free one in the node with most of its own
//!   3. in the node with most of its before-processors    4. in the node with most free ones;   of equals a random one
//! home(j) = node of the first processor it was given
//! ```
//!
//! **Differs from the paper**: there a before-processor must be free, so that rule 3 never matters.
//! Here rule 3 also counts before-processors that others have now. A processor that its owner has
//! not left yet is promised only when no other is free.
//!
//! **Use when** programs come back to processors often and caches keep their data. **Avoid when**
//! memory is far: `home`.

use super::machinery::grants::{Grants, Where};
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
        name: "base-priority",
        summary: "Where it has been before, else where most of it is, else where most is free",
        source: "Koita et al. §2.2",
    },
    build: |given| Ok(Box::new(BasePriority::new(given.tie()?.unwrap_or(Tie::Random), given.seed()))),
};

/// Config and state are those of the grants.
#[derive(Debug, Clone)]
pub struct BasePriority {
    grants: Grants,
}

impl BasePriority {
    /// With a rule for ties (default random) and the seed of its random stream.
    pub fn new(tie: Tie, seed: u64) -> Self {
        Self { grants: Grants::new(tie, seed) }
    }
}

impl Placement for BasePriority {
    fn info(&self) -> Info {
        ANSWER.info
    }

    fn parameters(&self) -> String {
        self.grants.parameters()
    }

    fn gives_homes(&self) -> bool {
        true
    }

    fn place(&mut self, view: &View<'_>, shares: &Shares, plan: &mut Plan) {
        let class = |slot: Slot, pu: PuId| {
            let at_home = view.app(slot).home == Some(view.machine.pu(pu).node);
            2 * u32::from(!view.pu(pu).idle) + u32::from(at_home)
        };
        self.grants.release_surplus(view, shares, plan, class);
        self.grants.look(view, plan);
        self.grants.serve(view, shares, plan, Where::Anywhere);
        name_homes(view, plan);
    }
}

/// The home of an application is the node of its first processor; where it has several at once, of
/// the lowest.
fn name_homes(view: &View<'_>, plan: &mut Plan) {
    for &slot in view.order {
        if view.app(slot).home.is_some() || plan.count(slot) == 0 {
            continue;
        }
        let given = plan.touched().iter().copied().find(|&pu| plan.next(pu) == Some(slot));
        let first = given.or_else(|| view.app(slot).own.iter().find(|&pu| plan.next(pu) == Some(slot)));
        if let Some(pu) = first {
            plan.set_home(slot, Some(view.machine.pu(pu).node));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::Case;
    use crate::view::{Former, Processor};
    use numaestro_topology::PuSet;

    fn lowest() -> BasePriority {
        BasePriority::new(Tie::Lowest, 0)
    }

    fn had(case: &mut Case, slot: usize, pu: u32, since_ns: u64) {
        let app = case.apps[slot].id;
        case.apps[slot].held.insert(PuId(pu));
        let last = Some(Former { slot: Slot(slot as u32), app });
        case.pus[pu as usize] = Processor { last, since_ns, ..case.pus[pu as usize] };
    }

    #[test]
    fn before_processors_come_first_the_latest_first() {
        let mut case = Case::on("numa:3 core:4 pu:1").wants(&[3]).holds(&[1]);
        had(&mut case, 0, 5, 10);
        had(&mut case, 0, 9, 20);
        assert_eq!(case.place(&mut lowest(), &[2]), ["0,9"]);
        assert_eq!(case.place(&mut lowest(), &[3]), ["0,5,9"]);
        assert_eq!(case.place(&mut lowest(), &[4]), ["0-1,5,9"]);
    }

    #[test]
    fn then_where_most_of_it_is() {
        let mut case = Case::on("numa:2 core:4 pu:1").wants(&[4]);
        for pu in [0, 4, 5] {
            case.give(Slot(0), PuId(pu), 0);
        }
        assert_eq!(case.place(&mut lowest(), &[5]), ["0,4-7"]);
    }

    #[test]
    fn then_where_most_of_it_was_whoever_is_there_now() {
        // The application has had 4 and 5, which another has now; it has no processors.
        let mut case = Case::on("numa:3 core:4 pu:1").wants(&[1, 2]);
        case.give(Slot(1), PuId(4), 0);
        case.give(Slot(1), PuId(5), 0);
        case.apps[0].held = PuSet::from_iter([PuId(4), PuId(5)]);
        assert_eq!(case.place(&mut lowest(), &[1, 2])[0], "6");
    }

    #[test]
    fn then_where_most_is_free() {
        let mut case = Case::on("numa:3 core:4 pu:1").wants(&[5, 2]).holds(&[5]);
        assert_eq!(case.place(&mut lowest(), &[5, 2])[1], "8-9");
    }

    #[test]
    fn audit_no_grant_while_a_better_class_was_eligible() {
        // K8, on random situations: each processor that was given is of the best class there was.
        let mut random = crate::Random::new(8);
        for round in 0..2000u64 {
            let mut case = Case::on("numa:4 core:4 pu:1").wants(&[16, 16]);
            for pu in 0..16 {
                match random.below(5) {
                    0 => case.give(Slot(0), PuId(pu), 0),
                    1 => case.give(Slot(1), PuId(pu), 0),
                    2 => had(&mut case, 0, pu, u64::from(random.below(50))),
                    3 => {
                        case.apps[0].held.insert(PuId(pu));
                    }
                    _ => {}
                }
            }
            let before = case.clone();
            let free: Vec<u32> = (0..16).filter(|&pu| before.pus[pu as usize].next.is_none()).collect();
            if free.is_empty() {
                continue;
            }
            let counts = [before.apps[0].allocation + 1, before.apps[1].allocation];
            case.place(&mut BasePriority::new(Tie::Random, round), &counts);
            let given = free.iter().copied().find(|&pu| case.pus[pu as usize].next == Some(Slot(0))).expect("one");
            let app = &before.apps[0];
            let in_node = |set: &PuSet, pu: u32| set.iter().filter(|other| other.0 / 4 == pu / 4).count();
            let class = |pu: u32| {
                let free_there = free.iter().filter(|&&other| other / 4 == pu / 4).count();
                if app.held.contains(PuId(pu)) {
                    (4, 0)
                } else if in_node(&app.own, pu) > 0 {
                    (3, in_node(&app.own, pu))
                } else if in_node(&app.held, pu) > 0 {
                    (2, in_node(&app.held, pu))
                } else {
                    (1, free_there)
                }
            };
            let best = free.iter().map(|&pu| class(pu)).max();
            assert_eq!(Some(class(given)), best, "round {round}: {given} of {free:?}");
        }
    }

    #[test]
    fn idle_ones_go_first_then_those_outside_home() {
        let mut case = Case::on("numa:2 core:4 pu:1").wants(&[8]).holds(&[6]);
        case.apps[0].home = Some(numaestro_topology::NumaNodeId(0));
        case.pus[1].idle = true;
        case.pus[5].idle = true;
        assert_eq!(case.clone().place(&mut lowest(), &[5]), ["0-4"]);
        assert_eq!(case.clone().place(&mut lowest(), &[4]), ["0,2-4"]);
        assert_eq!(case.place(&mut lowest(), &[3]), ["0,2-3"]);
    }
}
