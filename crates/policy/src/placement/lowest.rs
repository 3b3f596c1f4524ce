//! The free processors with the lowest numbers, wherever they are.
//!
//! **Source**: the usual allocation of job logs' simulators, where processors are all alike.
//!
//! **Terms**: number = logical index, in hardware order.
//!
//! **Algorithm**
//! ```text
//! in order of arrival, each that lacks k processors takes the first k free ones
//! ```
//!
//! **Differs from the paper**: none describes it.
//!
//! **Use when** only counts matter, as for logs of rigid jobs: it is the cheapest. **Avoid when**
//! caches and memory matter.

use super::machinery::surplus::Surplus;
use crate::answer::Answer;
use crate::part::{Info, Placement};
use crate::plan::Plan;
use crate::shares::Shares;
use crate::view::View;
use numaestro_topology::PuId;

/// The name of the answer, and the function that makes it.
pub const ANSWER: Answer<dyn Placement> = Answer {
    info: Info {
        name: "lowest",
        summary: "The free processors with the lowest numbers, wherever they are",
        source: "the usual allocation of job logs' simulators",
    },
    build: |_| Ok(Box::new(Lowest::default())),
};

/// Config: none. State: buffers.
#[derive(Debug, Clone, Default)]
pub struct Lowest {
    surplus: Surplus,
    taken: Vec<PuId>,
}

impl Placement for Lowest {
    fn info(&self) -> Info {
        ANSWER.info
    }

    fn place(&mut self, view: &View<'_>, shares: &Shares, plan: &mut Plan) {
        self.surplus.release(view, shares, plan);
        for &slot in view.order {
            let lacking = shares.count(slot).saturating_sub(plan.count(slot));
            if lacking > 0 {
                self.taken.clear();
                self.taken.extend(plan.free().iter().take(lacking as usize));
                for &pu in &self.taken {
                    plan.give(pu, slot);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::Case;

    #[test]
    fn fills_gaps_from_below() {
        let mut case = Case::on("numa:2 core:4 pu:1").wants(&[2, 2, 3]);
        assert_eq!(case.place(&mut Lowest::default(), &[2, 2, 0]), ["0-1", "2-3", ""]);
        assert_eq!(case.place(&mut Lowest::default(), &[0, 2, 3]), ["", "2-3", "0-1,4"]);
    }
}
