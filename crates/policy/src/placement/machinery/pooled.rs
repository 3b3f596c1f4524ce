//! Placement over pools by a rule: the algorithm that the pool family has in common.
//!
//! Source: Brecht 1997, §6.1 (expansion), §5.4 (inside a pool a random processor). The paper has
//! one level of pools; of pools of pools it gives no algorithm. It expands into "the pool
//! containing the fewest processes", read as processes of any application. Its pools are of equal
//! size, so this is the one with most room. Among pools of unequal size it can be a small one that
//! is nearly full.
//!
//! An application that grows by k processors asks k times:
//! ```text
//! 1. among the pools it is in that have a free processor: the one with fewest threads, then with most of its own, then by tie
//!    with pools of pools: if all those are full, the same among the pools around them, level by level outwards
//! 2. else the rule's choice among all pools with a free processor
//! with pools of pools: from the pool so found inwards, at each level by the rule
//! in the pool: a free processor by `in-pool`
//! ```

use super::acquaintance::acquaintance;
use super::pool_config::{InPool, Overflow, PoolConfig};
use super::pools::{PoolLevel, Pools};
use super::surplus::Surplus;
use crate::parameters::Parameters;
use crate::part::{Info, Placement};
use crate::plan::Plan;
use crate::random::{Random, Tie};
use crate::rejected::Rejected;
use crate::shares::Shares;
use crate::view::{Slot, View};
use numaestro_topology::{Machine, PuId, PuSet};
use std::cmp::Reverse;
use std::fmt::Debug;

/// A rule of initial placement: it chooses the pool when the application has been in none of them.
pub trait Rule: Debug + Clone + Send + Default + 'static {
    /// For people.
    const INFO: Info;
    /// Says whether the rule's order of pools is total, so that there are no ties.
    const TOTAL: bool = false;
    /// Says whether an application may find no pool although processors are free.
    const SELECTIVE: bool = false;

    /// Smaller is better. The pool has at least one free processor.
    fn rank(pools: &PoolLevel, pool: usize) -> (u32, u32);

    /// Says whether an application may start here at all.
    fn starts_in(pools: &PoolLevel, pool: usize) -> bool {
        let _ = (pools, pool);
        true
    }
}

/// A placement over pools by a [`Rule`].
#[derive(Debug, Clone)]
pub struct Pooled<R> {
    /// Rules for forming and filling pools.
    config: PoolConfig,
    random: Random,
    pools: Option<Pools>,
    surplus: Surplus,
    seen: Vec<u32>,
    rule: std::marker::PhantomData<R>,
}

impl<R: Rule> Placement for Pooled<R> {
    fn info(&self) -> Info {
        R::INFO
    }

    fn parameters(&self) -> String {
        self.config.write()
    }

    fn fits(&self, machine: &Machine, usable: &PuSet) -> Result<(), Rejected> {
        self.config.fits(machine, usable)
    }

    fn selective(&self) -> bool {
        R::SELECTIVE
    }

    fn place(&mut self, view: &View<'_>, shares: &Shares, plan: &mut Plan) {
        self.surplus.release(view, shares, plan);
        let formed = self.pools.take().filter(|pools| pools.is_current(view));
        let mut pools = formed.unwrap_or_else(|| Pools::form(view, &self.config));
        pools.count(view, plan, &mut self.seen);
        for &slot in view.order {
            let lacking = shares.count(slot).saturating_sub(plan.count(slot));
            if lacking > 0 {
                pools.count_mine(view, plan, slot);
            }
            for _ in 0..lacking {
                let Some(leaf) = self.choose_leaf(&pools, plan.count(slot) == 0) else {
                    assert!(R::SELECTIVE, "the counts sum up to no more than there are processors");
                    break;
                };
                let pu = self.choose_pu(&pools, plan, view, slot, leaf);
                plan.give(pu, slot);
                pools.give(leaf);
            }
        }
        self.pools = Some(pools);
    }
}

/// Makes a placement from the policy's text.
pub fn build<R: Rule>(given: &mut Parameters) -> Result<Box<dyn Placement>, Rejected> {
    Ok(Box::new(Pooled::<R>::new(PoolConfig::read(given, R::SELECTIVE)?, given.seed())))
}

impl<R: Rule> Pooled<R> {
    /// With pools and the seed of its random stream.
    pub fn new(config: PoolConfig, seed: u64) -> Self {
        let (random, surplus) = (Random::new(seed), Surplus::default());
        Self { config, random, pools: None, surplus, seen: Vec::new(), rule: std::marker::PhantomData }
    }

    /// Expansion (§6.1): phase 1, else phase 2; initial placement is phase 2 alone.
    fn choose_leaf(&mut self, pools: &Pools, starts: bool) -> Option<usize> {
        for number in (0..pools.depth()).rev() {
            let level = pools.level(number);
            let known = (0..pools.count_at(number)).filter(|&pool| level.free(pool) > 0 && level.mine(pool) > 0);
            let ranked = known.map(|pool| ((level.threads(pool), Reverse(level.mine(pool))), pool));
            if let Some(pool) = self.least(ranked, self.config.tie) {
                return self.descend(pools, number, pool);
            }
        }
        if !starts && R::SELECTIVE && self.config.overflow == Overflow::Deny {
            return None;
        }
        let level = pools.level(0);
        let open = (0..pools.count_at(0)).filter(|&pool| !starts || R::starts_in(level, pool));
        let pool = self.by_rule(level, open)?;
        self.descend(pools, 0, pool)
    }

    /// From a pool inwards to one of the last level.
    fn descend(&mut self, pools: &Pools, from: usize, mut pool: usize) -> Option<usize> {
        for number in from..pools.depth() - 1 {
            pool = self.by_rule(pools.level(number + 1), pools.children(number, pool))?;
        }
        Some(pool)
    }

    fn by_rule(&mut self, level: &PoolLevel, pools: impl Iterator<Item = usize>) -> Option<usize> {
        let ranked = pools.filter(|&pool| level.free(pool) > 0).map(|pool| (R::rank(level, pool), pool));
        self.least(ranked, if R::TOTAL { Tie::Lowest } else { self.config.tie })
    }

    fn choose_pu(&mut self, pools: &Pools, plan: &Plan, view: &View<'_>, slot: Slot, leaf: usize) -> PuId {
        let mut free = pools.free_in(plan, leaf);
        let chosen = match self.config.in_pool {
            InPool::Lowest => free.next(),
            InPool::Random => free.nth(self.random.below(pools.level(pools.depth() - 1).free(leaf)) as usize),
            InPool::Affinity => self.least(free.map(|pu| (acquaintance(view, slot, pu), pu)), self.config.tie),
        };
        chosen.expect("the pool's free processors were counted")
    }

    /// The item with the smallest key; of equals the first, or any one with the same probability.
    fn least<K: Ord, T>(&mut self, ranked: impl Iterator<Item = (K, T)>, tie: Tie) -> Option<T> {
        let mut best: Option<(K, T)> = None;
        let mut equals = 0;
        for (key, candidate) in ranked {
            match best.as_ref().map(|(least, _)| key.cmp(least)) {
                Some(std::cmp::Ordering::Greater) => {}
                Some(std::cmp::Ordering::Equal) => {
                    equals += 1;
                    // Every one of n equals is kept with probability 1/n.
                    if tie == Tie::Random && self.random.below(equals) == 0 {
                        best = Some((key, candidate));
                    }
                }
                _ => (best, equals) = (Some((key, candidate)), 1),
            }
        }
        best.map(|(_, candidate)| candidate)
    }
}
