//! The pool with the fewest free processors, but at least one.
//!
//! **Source**: Brecht 1997, §6.
//!
//! **Terms**: avail(q) = free processors of pool q; jobs(q) = applications in it; pool formation and expansion: see `pooled`.
//!
//! **Algorithm**
//! ```text
//! pool(j) = the q with avail(q) > 0 that has the smallest avail(q); of equals a random one
//! ```
//!
//! **Differs from the paper**: processors come and go as the share part says, not thread by thread on the application's request.
//!
//! **Use when** large pools must stay free for large applications. **Avoid when** applications grow after they have started: the tightest pool has no room for that.

use super::machinery::pooled::{Pooled, Rule};
use super::machinery::pools::PoolLevel;
use crate::part::Info;

/// The rule; config and state are those of [`Pooled`].
#[derive(Debug, Clone, Default)]
pub struct BestFitRule;

/// The pool with the fewest free processors, but at least one.
pub type BestFit = Pooled<BestFitRule>;

impl Rule for BestFitRule {
    const INFO: Info = crate::catalogue::BEST_FIT;

    fn rank(pools: &PoolLevel, pool: usize) -> (u32, u32) {
        (pools.free(pool), 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::{Case, placement_conformance};
    use crate::placement::machinery::pool_config::PoolConfig;

    #[test]
    fn fills_the_tightest_pool() {
        let mut case = Case::on("l3:2 core:4 pu:1").wants(&[1, 1, 4]);
        case.give(crate::Slot(0), numaestro_topology::PuId(7), 0);
        let mut best_fit = BestFit::new(PoolConfig::lowest(), 0);
        assert_eq!(case.place(&mut best_fit, &[1, 1, 4]), ["7", "4", "0-1,5-6"]);
    }

    #[test]
    fn conforms() {
        placement_conformance(&|seed| Box::new(BestFit::new(PoolConfig::default(), seed)));
    }
}
