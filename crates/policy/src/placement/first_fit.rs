//! The first pool with a free processor.
//!
//! **Source**: Brecht 1997, §6.
//!
//! **Terms**: avail(q) = free processors of pool q; jobs(q) = applications in it; pool formation
//! and expansion: see `pooled`.
//!
//! **Algorithm**
//! ```text
//! pool(j) = the lowest-numbered q with avail(q) > 0
//! ```
//!
//! **Differs from the paper**: processors come and go as the share part says, not thread by thread
//! on the application's request.
//!
//! **Use when** pools must fill one after the other, for example to let the rest of the machine
//! rest. **Avoid when** applications will grow: they end up side by side in one pool.

use super::machinery::pooled::{Rule, build};
use super::machinery::pools::PoolLevel;
use crate::answer::Answer;
use crate::part::{Info, Placement};

/// The name of the answer, and the function that makes it.
pub const ANSWER: Answer<dyn Placement> = Answer {
    info: Info { name: "first-fit", summary: "The first pool with a free processor", source: "Brecht 1997, §6" },
    build: build::<FirstFitRule>,
};

/// The rule; config and state are those of [`Pooled`](super::machinery::pooled::Pooled).
#[derive(Debug, Clone, Default)]
pub struct FirstFitRule;

impl Rule for FirstFitRule {
    const INFO: Info = ANSWER.info;
    const TOTAL: bool = true;

    fn rank(_pools: &PoolLevel, pool: usize) -> (u32, u32) {
        (pool as u32, 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::Case;
    use crate::placement::machinery::pool_config::PoolConfig;
    use crate::placement::machinery::pooled::Pooled;
    use numaestro_topology::Formation;

    fn lowest() -> Pooled<FirstFitRule> {
        Pooled::<FirstFitRule>::new(PoolConfig::lowest(), 0)
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
            case.place(
                &mut Pooled::<FirstFitRule>::new(PoolConfig::lowest().formed(vec![Formation::Equal(1)]), 0),
                &[2, 2]
            ),
            ["0-1", "2-3"]
        );
    }
}
