//! Processors in pools: what the placements of the pool family have in common. Knows none of their rules.
//!
//! Source: Brecht 1997, §2 (pools), §6.1 (expansion), §5.4 (inside a pool a random processor).
//!
//! An application that grows by k processors asks k times:
//! ```text
//! 1. among the pools it is in that have a free processor: the one with fewest threads, then with most of its own, then by tie
//! 2. else the rule's choice among all pools with a free processor
//! in the pool: a free processor by tie
//! ```

use super::surplus::Surplus;
use crate::part::{Info, Placement};
use crate::plan::Plan;
use crate::random::{Random, Tie};
use crate::shares::Shares;
use crate::view::{Slot, View};
use numaestro_topology::{Formation, Groups, Level, PuId};
use std::fmt::Debug;

/// A rule of initial placement: which pool, when all are equally strange to the application.
pub trait Rule: Debug + Send + Default {
    /// For people.
    const INFO: Info;
    /// Smaller is better. The pool has at least one free processor.
    fn rank(pools: &Pools, pool: usize) -> (u32, u32);
    /// Whether the rule's order of pools is total, so that ties go to the lowest.
    const TOTAL: bool = false;
}

/// Pools and what is in them.
#[derive(Debug)]
pub struct Pools {
    groups: Groups,
    /// Free processors, by pool.
    free: Vec<u32>,
    /// Owned processors, by pool: one thread each.
    threads: Vec<u32>,
    /// Distinct applications, by pool.
    jobs: Vec<u32>,
    /// Owned processors of the application that is being served, by pool.
    mine: Vec<u32>,
}

impl Pools {
    /// avail(q): free processors of a pool.
    pub fn free(&self, pool: usize) -> u32 {
        self.free[pool]
    }

    /// Processors of a pool that have an owner.
    pub fn threads(&self, pool: usize) -> u32 {
        self.threads[pool]
    }

    /// jobs(q): distinct applications in a pool.
    pub fn jobs(&self, pool: usize) -> u32 {
        self.jobs[pool]
    }

    fn form(view: &View<'_>, formation: &Formation) -> Self {
        let all = view.machine.all();
        // The text of a policy is checked when it is read: only a size of 0 could fail here.
        let groups =
            Groups::form(view.machine, formation, &all).unwrap_or_else(|_| view.machine.groups(Level::Machine));
        let none = || vec![0; groups.len()];
        Self { free: none(), threads: none(), jobs: none(), mine: none(), groups }
    }

    /// Counts what the plan leaves free and gives to whom. Linear in processors: applications are told apart by stamps.
    fn count(&mut self, view: &View<'_>, plan: &Plan, seen: &mut Vec<u32>) {
        seen.clear();
        seen.resize(view.apps.len(), u32::MAX);
        for pool in 0..self.groups.len() {
            let members = self.groups.members(pool);
            self.free[pool] = members.iter().filter(|&&pu| plan.free().contains(pu)).count() as u32;
            (self.threads[pool], self.jobs[pool]) = (0, 0);
            for slot in members.iter().filter_map(|&pu| plan.next(pu)) {
                self.threads[pool] += 1;
                let stamp = &mut seen[slot.index()];
                self.jobs[pool] += u32::from(*stamp != pool as u32);
                *stamp = pool as u32;
            }
        }
    }

    fn count_mine(&mut self, view: &View<'_>, plan: &Plan, slot: Slot) {
        self.mine.fill(0);
        for pu in view.app(slot).own.iter().filter(|&pu| plan.next(pu) == Some(slot)) {
            if let Some(pool) = self.groups.of(pu) {
                self.mine[pool] += 1;
            }
        }
    }

    fn give(&mut self, pool: usize) {
        self.free[pool] -= 1;
        self.threads[pool] += 1;
        self.jobs[pool] += u32::from(self.mine[pool] == 0);
        self.mine[pool] += 1;
    }
}

/// A placement over pools by a [`Rule`].
#[derive(Debug)]
pub struct Pooled<R> {
    /// Config: how pools are formed. Default: one for each last-level cache (§5.4, §8: by architecture).
    formation: Formation,
    /// Config: what decides among equals. Default random (§5.4).
    tie: Tie,
    random: Random,
    pools: Option<Pools>,
    surplus: Surplus,
    seen: Vec<u32>,
    rule: std::marker::PhantomData<R>,
}

impl<R: Rule> Pooled<R> {
    /// The default formation of pools.
    pub const FORMATION: Formation = Formation::ByLevel(Level::Llc);
    /// The default for ties.
    pub const TIE: Tie = Tie::Random;

    /// With pools, a rule for ties and the seed of its random stream.
    pub fn new(formation: Formation, tie: Tie, seed: u64) -> Self {
        Self {
            formation,
            tie,
            random: Random::new(seed),
            pools: None,
            surplus: Surplus::default(),
            seen: Vec::new(),
            rule: std::marker::PhantomData,
        }
    }

    /// Expansion (§6.1): phase 1, else phase 2.
    fn choose_pool(&mut self, pools: &Pools) -> usize {
        let mut best: Option<((bool, u32, u32), usize)> = None;
        let mut equals = 0;
        for pool in (0..pools.free.len()).filter(|&pool| pools.free[pool] > 0) {
            let rank = if pools.mine[pool] > 0 {
                (false, pools.threads[pool], u32::MAX - pools.mine[pool])
            } else {
                let (first, second) = R::rank(pools, pool);
                (true, first, second)
            };
            match &best {
                Some((least, _)) if rank > *least => {}
                Some((least, _)) if rank == *least => {
                    equals += 1;
                    // Every one of n equals is kept with probability 1/n.
                    if self.tie == Tie::Random && !R::TOTAL && self.random.below(equals) == 0 {
                        best = Some((rank, pool));
                    }
                }
                _ => (best, equals) = (Some((rank, pool)), 1),
            }
        }
        best.expect("the counts sum up to no more than there are processors").1
    }

    fn choose_pu(&mut self, pools: &Pools, plan: &Plan, pool: usize) -> PuId {
        let nth = match self.tie {
            Tie::Lowest => 0,
            Tie::Random => self.random.below(pools.free[pool]),
        };
        let mut free = pools.groups.members(pool).iter().filter(|&&pu| plan.free().contains(pu));
        *free.nth(nth as usize).expect("the pool's free processors were counted")
    }
}

impl<R: Rule> Placement for Pooled<R> {
    fn info(&self) -> Info {
        R::INFO
    }

    fn parameters(&self) -> String {
        let mut out = Vec::new();
        match &self.formation {
            same if *same == Self::FORMATION => {}
            Formation::ByLevel(Level::NumaNode) => out.push("level=node".to_owned()),
            Formation::ByLevel(level) => out.push(format!("level={level}")),
            Formation::Equal(k) => out.push(format!("equal={k}")),
            Formation::Unequal(sizes) => out.push(format!("sizes={sizes:?}")),
        }
        if self.tie != Self::TIE {
            out.push("tie=lowest".to_owned());
        }
        out.join(",")
    }

    fn place(&mut self, view: &View<'_>, shares: &Shares, plan: &mut Plan) {
        self.surplus.release(view, shares, plan);
        let mut pools = self.pools.take().unwrap_or_else(|| Pools::form(view, &self.formation));
        pools.count(view, plan, &mut self.seen);
        for &slot in view.order {
            let lacking = shares.count(slot).saturating_sub(plan.count(slot));
            if lacking > 0 {
                pools.count_mine(view, plan, slot);
            }
            for _ in 0..lacking {
                let pool = self.choose_pool(&pools);
                let pu = self.choose_pu(&pools, plan, pool);
                plan.give(pu, slot);
                pools.give(pool);
            }
        }
        self.pools = Some(pools);
    }
}
