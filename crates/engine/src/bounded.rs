//! Places the applications that may have some processors only, before the placement part places the
//! others around them.
//!
//! **Algorithm**
//! ```text
//! each gives up processors that it may not have, and what it has above its count: idle ones first
//! in order of arrival, while one lacks a processor: the nearest that can be had, of its own or by a chain
//!   (it takes one from another bounded application, which takes one in its place, and so on)
//!   at the end of a chain: one that it has not left yet, a free one, one that its owner has too many of,
//!   one of any other unbounded application; of equals the one whose core is least used
//! none can be had: it has as many as it has, and the share part divides again
//! ```
//!
//! A chain takes nothing from a bounded application without giving another processor, so those that
//! came first keep their counts. Under a selective placement no chain ends at a processor that its
//! owner still needs.

use crate::site::Site;
use numaestro_policy::{Plan, Shares, Slot, View};
use numaestro_topology::{PuId, PuSet};

/// Buffers.
#[derive(Debug, Clone, Default)]
pub(crate) struct Bounded {
    /// The applications with bounds that take part, in order of arrival.
    kept: Vec<Slot>,
    /// All others that take part, in order of arrival.
    others: Vec<Slot>,
    /// Processors that losers are chosen from.
    losses: Vec<PuId>,
    /// Processors at the present end of the chains.
    ends: Vec<PuId>,
    /// Processors that some chain has reached.
    reached: PuSet,
    /// By processor: the one that its owner takes in its place.
    instead: Vec<Option<PuId>>,
}

impl Bounded {
    /// The applications that are not bounded.
    pub(crate) fn others(&self) -> &[Slot] {
        &self.others
    }

    /// Places the bounded applications.
    pub(crate) fn place(&mut self, site: &Site, shares: &Shares, plan: &mut Plan) {
        let view = site.view();
        self.kept.clear();
        self.others.clear();
        for &slot in view.order {
            let list = if site.ledger.within(slot).is_some() { &mut self.kept } else { &mut self.others };
            list.push(slot);
        }
        let bounded = std::mem::take(&mut self.kept);
        for &slot in &bounded {
            self.release(site, &view, slot, shares.count(slot), plan);
        }
        for &slot in &bounded {
            while plan.count(slot) < shares.count(slot) && self.take_one(site, &view, slot, shares, plan) {}
        }
        self.kept = bounded;
    }

    /// Gives up what it may not have, and what it has above its count.
    fn release(&mut self, site: &Site, view: &View<'_>, slot: Slot, count: u32, plan: &mut Plan) {
        let Some(within) = site.ledger.within(slot) else { return };
        self.losses.clear();
        self.losses.extend(view.app(slot).own.iter().filter(|&pu| plan.next(pu) == Some(slot)));
        self.losses.sort_by_key(|&pu| (within.contains(pu), !view.pu(pu).idle, std::cmp::Reverse(pu)));
        for &pu in &self.losses {
            if within.contains(pu) && plan.count(slot) <= count {
                return;
            }
            plan.release(pu);
        }
    }

    /// One more processor by the shortest chain. False if there is none.
    fn take_one(&mut self, site: &Site, view: &View<'_>, slot: Slot, shares: &Shares, plan: &mut Plan) -> bool {
        self.reached.clear();
        self.instead.clear();
        self.instead.resize(view.pus.len(), None);
        self.ends.clear();
        self.reach(site, slot, plan, None);
        while !self.ends.is_empty() {
            let ends = std::mem::take(&mut self.ends);
            let rank = |pu: PuId| self.rank(site, view, slot, pu, shares, plan);
            if let Some((_, best)) = ends.iter().filter_map(|&pu| Some((rank(pu)?, pu))).min() {
                self.pull(slot, best, plan);
                return true;
            }
            for pu in ends {
                if let Some(owner) = plan.next(pu).filter(|&owner| site.ledger.within(owner).is_some()) {
                    self.reach(site, owner, plan, Some(pu));
                }
            }
        }
        false
    }

    /// Chains go on to the processors that an application may have and does not have. `from`: the
    /// one that it would lose.
    fn reach(&mut self, site: &Site, slot: Slot, plan: &Plan, from: Option<PuId>) {
        for pu in site.ledger.within(slot).into_iter().flatten() {
            if plan.next(pu) != Some(slot) && self.reached.insert(pu) {
                self.instead[pu.index()] = from;
                self.ends.push(pu);
            }
        }
    }

    /// How well a chain ends at this processor, the smallest first. `None`: it cannot end there.
    fn rank(
        &self,
        site: &Site,
        view: &View<'_>,
        slot: Slot,
        pu: PuId,
        shares: &Shares,
        plan: &Plan,
    ) -> Option<(u8, usize)> {
        let entry = view.pu(pu);
        let class = match plan.next(pu) {
            _ if plan.free().contains(pu) => match entry.owner {
                Some(owner) if owner == slot => 0,
                None => 1,
                Some(_) => 2,
            },
            Some(owner) if self.others.contains(&owner) => {
                let has_too_many = plan.count(owner) > shares.count(owner);
                if !has_too_many && site.regime.selects() {
                    return None;
                }
                if has_too_many { 3 } else { 4 }
            }
            _ => return None,
        };
        let siblings = view.machine.smt_siblings(pu).iter();
        Some((class, siblings.filter(|&sibling| plan.next(sibling).is_some()).count()))
    }

    /// Everybody along the chain takes its processor; the last one is `slot`.
    fn pull(&self, slot: Slot, end: PuId, plan: &mut Plan) {
        if plan.next(end).is_some() {
            plan.release(end);
        }
        let mut free = end;
        while let Some(lost) = self.instead[free.index()] {
            let Some(owner) = plan.next(lost) else { break };
            plan.release(lost);
            plan.give(free, owner);
            free = lost;
        }
        plan.give(free, slot);
    }
}
