//! The pool with the most free processors.
//!
//! **Source**: Brecht 1997, §6.2 (by processors).
//!
//! **Terms**: avail(q) = free processors of pool q; jobs(q) = applications in it; pool formation
//! and expansion: see `pooled`.
//!
//! **Algorithm**
//! ```text
//! pool(j) = the q with the largest avail(q); of equals a random one
//! ```
//!
//! **Differs from the paper**: processors come and go as the share part says, not thread by thread
//! on the application's request.
//!
//! **Use when** applications grow after they have started, each then has room beside itself.
//! **Avoid when** a large application will come that needs a whole pool.

use super::machinery::pooled::{Rule, build};
use super::machinery::pools::PoolLevel;
use crate::answer::Answer;
use crate::part::{Info, Placement};

/// The name of the answer, and the function that makes it.
pub const ANSWER: Answer<dyn Placement> = Answer {
    info: Info { name: "worst-fit", summary: "The pool with the most free processors", source: "Brecht 1997, §6.2" },
    build: build::<WorstFitRule>,
};

/// The rule; config and state are those of [`Pooled`](super::machinery::pooled::Pooled).
#[derive(Debug, Clone, Default)]
pub struct WorstFitRule;

impl Rule for WorstFitRule {
    const INFO: Info = ANSWER.info;

    fn rank(pools: &PoolLevel, pool: usize) -> (u32, u32) {
        (u32::MAX - pools.free(pool), 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::Case;
    use crate::placement::machinery::pool_config::PoolConfig;
    use crate::placement::machinery::pooled::Pooled;
    use numaestro_topology::{Formation, Level};

    fn lowest() -> Pooled<WorstFitRule> {
        Pooled::<WorstFitRule>::new(PoolConfig::lowest(), 0)
    }

    #[test]
    fn each_application_in_a_pool_of_its_own() {
        // I5: parallelism at most the size of a pool and a pool for each ⇒ nobody spans two, nobody
        // shares one (§5.4).
        let mut case = Case::on("l3:3 core:4 pu:1").wants(&[4, 4, 4]);
        case.place(&mut lowest(), &[1, 1, 1]);
        case.place(&mut lowest(), &[3, 2, 2]);
        assert_eq!(case.place(&mut lowest(), &[4, 4, 4]), ["0-3", "4-7", "8-11"]);
    }

    #[test]
    fn a_full_pool_leads_to_the_emptiest_other() {
        let mut case = Case::on("l3:3 core:4 pu:1").wants(&[6, 2]);
        assert_eq!(case.place(&mut lowest(), &[6, 2]), ["0-5", "8-9"]);
    }

    #[test]
    fn pools_by_node_and_asymmetric_nodes() {
        let mut case = Case::on("numa:2 l3:2 core:2 pu:1").wants(&[3, 3]);
        case.pus[0].state = crate::PuState::Offline;
        let mut by_node =
            Pooled::<WorstFitRule>::new(PoolConfig::lowest().formed(vec![Formation::ByLevel(Level::NumaNode)]), 0);
        assert_eq!(case.place(&mut by_node, &[3, 3]), ["4-6", "1-3"]);
    }

    #[test]
    fn ties_are_random_and_the_seed_decides() {
        let place = |seed| {
            let mut case = Case::on("core:16 pu:1").wants(&[1]);
            case.place(
                &mut Pooled::<WorstFitRule>::new(PoolConfig::default().formed(vec![Formation::Equal(1)]), seed),
                &[1],
            )
        };
        assert_eq!(place(1), place(1));
        let different: std::collections::BTreeSet<_> = (0..64).map(place).collect();
        assert!(different.len() > 8, "{different:?}");
    }
}
