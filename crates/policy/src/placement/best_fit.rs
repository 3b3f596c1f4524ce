//! The pool with the fewest free processors, but at least one.
//!
//! **Source**: Brecht 1997, §6.
//!
//! **Terms**: avail(q) = free processors of pool q; jobs(q) = applications in it; pool formation
//! and expansion: see `pooled`.
//!
//! **Algorithm**
//! ```text
//! pool(j) = the q with avail(q) > 0 that has the smallest avail(q); of equals a random one
//! ```
//!
//! **Differs from the paper**: processors come and go as the share part says, not thread by thread
//! on the application's request.
//!
//! **Use when** large pools must stay free for large applications. **Avoid when** applications grow
//! after they have started: the tightest pool has no room for that.

use super::machinery::pooled::{Rule, build};
use super::machinery::pools::PoolLevel;
use crate::answer::Answer;
use crate::part::{Info, Placement};

/// The name of the answer, and the function that makes it.
pub const ANSWER: Answer<dyn Placement> = Answer {
    info: Info { name: "best-fit", summary: "The pool with the fewest free processors", source: "Brecht 1997, §6" },
    build: build::<BestFitRule>,
};

/// The rule; config and state are those of [`Pooled`](super::machinery::pooled::Pooled).
#[derive(Debug, Clone, Default)]
pub struct BestFitRule;

impl Rule for BestFitRule {
    const INFO: Info = ANSWER.info;

    fn rank(pools: &PoolLevel, pool: usize) -> (u32, u32) {
        (pools.free(pool), 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::Case;
    use crate::placement::machinery::pool_config::PoolConfig;
    use crate::placement::machinery::pooled::Pooled;

    #[test]
    fn fills_the_tightest_pool() {
        let mut case = Case::on("l3:2 core:4 pu:1").wants(&[1, 1, 4]);
        case.give(crate::Slot(0), numaestro_topology::PuId(7), 0);
        let mut best_fit = Pooled::<BestFitRule>::new(PoolConfig::lowest(), 0);
        assert_eq!(case.place(&mut best_fit, &[1, 1, 4]), ["7", "4", "0-1,5-6"]);
    }
}
