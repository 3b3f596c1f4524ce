//! An empty pool; an application waits until there is one.
//!
//! **Source**: Brecht 1997, §6.2 (named as a possible strategy, not evaluated).
//!
//! **Terms**: avail(q) = free processors of pool q; jobs(q) = applications in it; pool formation
//! and expansion: see `pooled`.
//!
//! **Algorithm**
//! ```text
//! j has no processor:   pool(j) = a q with jobs(q) = 0, of those the largest, of equals a random one; none ⇒ j waits
//! j outgrows its pools: the q with the largest avail(q), or no more with overflow=deny
//! ```
//!
//! **Differs from the paper**: it gives no rule for an application that outgrows its pool; both
//! ways are there.
//!
//! **Use when** nobody may disturb anybody, and waiting is cheap. **Avoid when** processors must
//! not lie idle: an application of one processor keeps a whole pool for itself. With
//! `admission=fifo`; otherwise those that find no pool run as guests.

use super::machinery::pooled::{Rule, build};
use super::machinery::pools::PoolLevel;
use crate::answer::Answer;
use crate::part::{Info, Placement};

/// The name of the answer, and the function that makes it.
pub const ANSWER: Answer<dyn Placement> = Answer {
    info: Info { name: "empty-pool", summary: "A pool that nobody is in, or wait", source: "Brecht 1997, §6.2" },
    build: build::<EmptyPoolRule>,
};

/// The rule; config and state are those of [`Pooled`](super::machinery::pooled::Pooled).
#[derive(Debug, Clone, Default)]
pub struct EmptyPoolRule;

impl Rule for EmptyPoolRule {
    const INFO: Info = ANSWER.info;
    const SELECTIVE: bool = true;

    fn starts_in(pools: &PoolLevel, pool: usize) -> bool {
        pools.jobs(pool) == 0
    }

    fn rank(pools: &PoolLevel, pool: usize) -> (u32, u32) {
        (u32::MAX - pools.free(pool), 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::Case;
    use crate::placement::machinery::pool_config::{Overflow, PoolConfig};
    use crate::placement::machinery::pooled::Pooled;

    fn lowest() -> Pooled<EmptyPoolRule> {
        Pooled::<EmptyPoolRule>::new(PoolConfig::lowest(), 0)
    }

    #[test]
    fn starts_where_nobody_is_or_not_at_all() {
        // I4: at arrival jobs(q) = 0.
        let mut case = Case::on("l3:2 core:4 pu:1").wants(&[1, 1, 1]);
        assert_eq!(case.place(&mut lowest(), &[1, 1, 1]), ["0", "4", ""]);
    }

    #[test]
    fn the_larger_of_two_empty_pools() {
        let mut case = Case::on("l3:2 core:4 pu:1").wants(&[2]);
        case.pus[0].state = crate::PuState::Offline;
        assert_eq!(case.place(&mut lowest(), &[2]), ["4-5"]);
    }

    #[test]
    fn outgrows_its_pool_or_not() {
        let case = Case::on("l3:3 core:4 pu:1").wants(&[6, 2]);
        assert_eq!(case.clone().place(&mut lowest(), &[6, 2]), ["0-5", "8-9"]);
        let mut denied =
            Pooled::<EmptyPoolRule>::new(PoolConfig { overflow: Overflow::Deny, ..PoolConfig::lowest() }, 0);
        assert_eq!(case.clone().place(&mut denied, &[6, 2]), ["0-3", "4-5"]);
    }
}
