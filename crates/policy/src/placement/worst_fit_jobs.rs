//! The pool with the fewest applications.
//!
//! **Source**: Brecht 1997, abstract and §8 (by jobs), §6.2 (behaved as by processors).
//!
//! **Terms**: avail(q) = free processors of pool q; jobs(q) = applications in it; pool formation
//! and expansion: see `pooled`.
//!
//! **Algorithm**
//! ```text
//! pool(j) = the q with avail(q) > 0 and the smallest jobs(q); of equals the larger avail(q), then a random one
//! ```
//!
//! **Differs from the paper**: processors come and go as the share part says, not thread by thread
//! on the application's request.
//!
//! **Use when** applications disturb each other in caches and on buses. **Avoid when** applications
//! differ much in size.

use super::machinery::pooled::{Rule, build};
use super::machinery::pools::PoolLevel;
use crate::answer::Answer;
use crate::part::{Info, Placement};

/// The name of the answer, and the function that makes it.
pub const ANSWER: Answer<dyn Placement> = Answer {
    info: Info { name: "worst-fit-jobs", summary: "The pool with the fewest applications", source: "Brecht 1997, §8" },
    build: build::<WorstFitJobsRule>,
};

/// The rule; config and state are those of [`Pooled`](super::machinery::pooled::Pooled).
#[derive(Debug, Clone, Default)]
pub struct WorstFitJobsRule;

impl Rule for WorstFitJobsRule {
    const INFO: Info = ANSWER.info;

    fn rank(pools: &PoolLevel, pool: usize) -> (u32, u32) {
        (pools.jobs(pool), u32::MAX - pools.free(pool))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::Case;
    use crate::placement::machinery::pool_config::PoolConfig;
    use crate::placement::machinery::pooled::Pooled;

    #[test]
    fn fewest_applications_before_most_room() {
        let mut case = Case::on("l3:2 core:4 pu:1").wants(&[3, 1, 1, 1]);
        for (slot, pu) in [(0, 0), (0, 1), (0, 2), (1, 4), (2, 5)] {
            case.give(crate::Slot(slot), numaestro_topology::PuId(pu), 0);
        }
        let mut by_jobs = Pooled::<WorstFitJobsRule>::new(PoolConfig::lowest(), 0);
        assert_eq!(case.place(&mut by_jobs, &[3, 1, 1, 1])[3], "3");
    }
}
