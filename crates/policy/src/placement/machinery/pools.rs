//! Pools, their applications and their free processors: the state that the placements of the pool
//! family decide on.
//!
//! Source: Brecht 1997, §2 (pools), §5 (how they are formed). Reserved processors are in no pool;
//! ones that are offline or taken by unmanaged load keep their place in theirs, without being free.

use super::pool_config::PoolConfig;
use crate::plan::Plan;
use crate::view::{PuState, Slot, View};
use numaestro_topology::{Formation, GroupTree, PuId, PuSet};

/// The counts of the pools of one level.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PoolLevel {
    free: Vec<u32>,
    threads: Vec<u32>,
    jobs: Vec<u32>,
    mine: Vec<u32>,
}

impl PoolLevel {
    /// avail(q): free processors of a pool.
    pub fn free(&self, pool: usize) -> u32 {
        self.free[pool]
    }

    /// Processors of a pool that have an owner: one thread each.
    pub fn threads(&self, pool: usize) -> u32 {
        self.threads[pool]
    }

    /// jobs(q): distinct applications in a pool.
    pub fn jobs(&self, pool: usize) -> u32 {
        self.jobs[pool]
    }

    /// cnt(j,q): processors of a pool that belong to the application being served.
    pub fn mine(&self, pool: usize) -> u32 {
        self.mine[pool]
    }

    fn new(pools: usize) -> Self {
        let none = || vec![0; pools];
        Self { free: none(), threads: none(), jobs: none(), mine: none() }
    }

    fn give(&mut self, pool: usize) {
        self.free[pool] -= 1;
        self.threads[pool] += 1;
        self.jobs[pool] += u32::from(self.mine[pool] == 0);
        self.mine[pool] += 1;
    }
}

/// Pools, pools of pools, and the counts of each.
#[derive(Debug, Clone)]
pub struct Pools {
    tree: GroupTree,
    /// The processors they were formed of.
    of: PuSet,
    levels: Vec<PoolLevel>,
}

impl Pools {
    /// Pools of the processors that are not reserved.
    pub fn form(view: &View<'_>, config: &PoolConfig) -> Self {
        let of: PuSet = all_not_reserved(view).collect();
        // The rule fitted the machine when the policy was set. If it does not any more, all
        // processors are one pool.
        let tree = GroupTree::form(view.machine, &config.levels, &of)
            .or_else(|_| GroupTree::form(view.machine, &[Formation::Unequal(Vec::new())], &of))
            .expect("one group of all can always be formed");
        let levels = (0..tree.depth()).map(|level| PoolLevel::new(tree.level(level).len())).collect();
        Self { tree, of, levels }
    }

    /// Says whether they are still made of the processors that are not reserved. (One outside the
    /// allowed ones may come in later.)
    pub fn is_current(&self, view: &View<'_>) -> bool {
        let mut count = 0;
        all_not_reserved(view).inspect(|_| count += 1).all(|pu| self.of.contains(pu)) && count == self.of.len()
    }

    /// Number of levels; at least 1.
    pub fn depth(&self) -> usize {
        self.levels.len()
    }

    /// The counts of the pools of a level; 0 = the outermost.
    pub fn level(&self, level: usize) -> &PoolLevel {
        &self.levels[level]
    }

    /// Pools of a level.
    pub fn count_at(&self, level: usize) -> usize {
        self.levels[level].free.len()
    }

    /// Pools of the next level that a pool consists of.
    pub fn children(&self, level: usize, pool: usize) -> std::ops::Range<usize> {
        self.tree.children(level, pool)
    }

    /// Free processors of a pool of the last level, in hardware order.
    pub fn free_in<'a>(&'a self, plan: &'a Plan, leaf: usize) -> impl Iterator<Item = PuId> + 'a {
        self.tree.leaves().members(leaf).iter().copied().filter(|&pu| plan.free().contains(pu))
    }

    /// Counts, by pool, the processors that the plan leaves free and those that it gives to
    /// applications. Linear in processors and levels: applications are told apart by stamps.
    pub fn count(&mut self, view: &View<'_>, plan: &Plan, seen: &mut Vec<u32>) {
        for (number, level) in self.levels.iter_mut().enumerate() {
            seen.clear();
            seen.resize(view.apps.len(), u32::MAX);
            let groups = self.tree.level(number);
            for pool in 0..groups.len() {
                let members = groups.members(pool);
                level.free[pool] = members.iter().filter(|&&pu| plan.free().contains(pu)).count() as u32;
                (level.threads[pool], level.jobs[pool]) = (0, 0);
                for slot in members.iter().filter_map(|&pu| plan.next(pu)) {
                    level.threads[pool] += 1;
                    let stamp = &mut seen[slot.index()];
                    level.jobs[pool] += u32::from(*stamp != pool as u32);
                    *stamp = pool as u32;
                }
            }
        }
    }

    /// Counts the processors that the plan leaves to the application that is served next.
    pub fn count_mine(&mut self, view: &View<'_>, plan: &Plan, slot: Slot) {
        for (number, level) in self.levels.iter_mut().enumerate() {
            level.mine.fill(0);
            for pu in view.app(slot).own.iter().filter(|&pu| plan.next(pu) == Some(slot)) {
                if let Some(pool) = self.tree.level(number).of(pu) {
                    level.mine[pool] += 1;
                }
            }
        }
    }

    /// The application that is being served has one more, in this pool of the last level.
    pub fn give(&mut self, leaf: usize) {
        let mut pool = leaf;
        for level in (0..self.levels.len()).rev() {
            self.levels[level].give(pool);
            pool = self.tree.parent(level, pool).unwrap_or(0);
        }
    }
}

fn all_not_reserved<'a>(view: &'a View<'_>) -> impl Iterator<Item = PuId> + 'a {
    let there = view.pus.iter().enumerate().filter(|(_, pu)| pu.state != PuState::Reserved);
    there.map(|(index, _)| PuId(index as u32))
}
