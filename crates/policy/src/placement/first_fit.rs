//! The first pool with a free processor.
//!
//! **Source**: Brecht 1997, §6.
//!
//! **Terms**: avail(q) = free processors of pool q; jobs(q) = applications in it; pool formation and expansion: see `pooled`.
//!
//! **Algorithm**
//! ```text
//! pool(j) = the lowest-numbered q with avail(q) > 0
//! ```
//!
//! **Differs from the paper**: processors come and go as the share part says, not thread by thread on the application's request.
//!
//! **Use when** pools must fill one after the other, for example to let the rest of the machine rest. **Avoid when** applications will grow: they end up side by side in one pool.

use super::machinery::pooled::{Pooled, Rule};
use super::machinery::pools::PoolLevel;
use crate::part::Info;

/// The rule; config and state are those of [`Pooled`].
#[derive(Debug, Clone, Default)]
pub struct FirstFitRule;

/// The first pool with a free processor.
pub type FirstFit = Pooled<FirstFitRule>;

impl Rule for FirstFitRule {
    const INFO: Info = crate::catalogue::FIRST_FIT;
    const TOTAL: bool = true;

    fn rank(_pools: &PoolLevel, pool: usize) -> (u32, u32) {
        (pool as u32, 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::{Case, placement_conformance};
    use crate::placement::machinery::pool_config::PoolConfig;
    use numaestro_topology::Formation;

    fn lowest() -> FirstFit {
        FirstFit::new(PoolConfig::lowest(), 0)
    }

    #[test]
    fn never_skips_a_lower_pool_with_room() {
        let mut case = Case::on("l3:3 core:4 pu:1").wants(&[2, 2, 3]);
        assert_eq!(case.place(&mut lowest(), &[2, 2, 3]), ["0-1", "2-3", "4-6"]);
    }

    #[test]
    fn one_pool_and_pools_of_one() {
        let mut case = Case::new(4).wants(&[2, 2]);
        assert_eq!(
            case.place(&mut FirstFit::new(PoolConfig::lowest().formed(vec![Formation::Equal(1)]), 0), &[2, 2]),
            ["0-1", "2-3"]
        );
    }

    #[test]
    fn conforms() {
        placement_conformance(&|_| Box::new(lowest()));
        placement_conformance(&|seed| Box::new(FirstFit::new(PoolConfig::default(), seed)));
    }
}
