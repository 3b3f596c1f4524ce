//! Chooses the processors that a shrinking application loses, for all placements.
//!
//! Source: Martorell et al. 2000 leave the order open. Here idle ones go first. Next are processors
//! that their former owner wants back, the latest first: lent processors go home. Next are those of
//! the node with fewest of the application, there of the cache with fewest, there of the core with
//! fewest: so the rest is compact. Of equals the one that it has had longest goes, then the highest
//! index.

use crate::plan::Plan;
use crate::shares::Shares;
use crate::view::{Slot, View};
use numaestro_topology::{Level, PuId};
use std::cmp::Reverse;

/// The order of loss: the smallest key goes first.
type Key = (bool, Reverse<u64>, u32, Reverse<u32>, u32, Reverse<u32>, u32, Reverse<u32>, u64, Reverse<u32>);

/// Buffers for choosing.
#[derive(Debug, Clone, Default)]
pub struct Surplus {
    counts: GroupCounts,
    candidates: Vec<(Key, PuId)>,
}

impl Surplus {
    /// Takes from every application in `view.order` the processors above its count.
    pub fn release(&mut self, view: &View<'_>, shares: &Shares, plan: &mut Plan) {
        for &slot in view.order {
            let surplus = plan.count(slot).saturating_sub(shares.count(slot));
            if surplus > 0 {
                self.release_from(view, shares, plan, slot, surplus as usize, |_| true);
            }
        }
    }

    /// Takes so many processors from one application, of those that `may_go`.
    pub fn release_from(
        &mut self,
        view: &View<'_>,
        shares: &Shares,
        plan: &mut Plan,
        slot: Slot,
        surplus: usize,
        may_go: impl Fn(PuId) -> bool,
    ) {
        let own = &view.app(slot).own;
        self.counts.count(view, own.iter());
        self.candidates.clear();
        for pu in own.iter().filter(|&pu| plan.next(pu) == Some(slot) && may_go(pu)) {
            let [core, llc, node] = LEVELS.map(|level| view.machine.object(level, pu));
            let wanted_back = view
                .former(pu)
                .is_some_and(|former| former != slot && shares.count(former) > view.app(former).allocation);
            let [in_core, in_llc, in_node] = self.counts.around(view, pu);
            let since = view.pu(pu).since_ns;
            let lent = if wanted_back { since.saturating_add(1) } else { 0 };
            let key = (
                !view.pu(pu).idle,
                Reverse(lent),
                in_node,
                Reverse(node),
                in_llc,
                Reverse(llc),
                in_core,
                Reverse(core),
                since,
                Reverse(pu.0),
            );
            self.candidates.push((key, pu));
        }
        if surplus < self.candidates.len() {
            self.candidates.select_nth_unstable_by_key(surplus, |&(key, _)| key);
            self.candidates.truncate(surplus);
        }
        self.candidates.sort_unstable();
        for &(_, pu) in &self.candidates {
            plan.release(pu);
        }
    }
}

/// The levels that are counted.
const LEVELS: [Level; 3] = [Level::Core, Level::Llc, Level::NumaNode];

/// Members of a set by core, cache and node.
#[derive(Debug, Clone, Default)]
pub struct GroupCounts {
    by_level: [Vec<u32>; 3],
}

impl GroupCounts {
    /// Counts anew.
    pub fn count(&mut self, view: &View<'_>, pus: impl Iterator<Item = PuId>) {
        let sizes = [view.machine.cores().len(), view.machine.llcs().len(), view.machine.numa_nodes().len()];
        for (counts, size) in self.by_level.iter_mut().zip(sizes) {
            counts.clear();
            counts.resize(size, 0);
        }
        for pu in pus {
            self.add(view, pu);
        }
    }

    /// Counts one more.
    pub fn add(&mut self, view: &View<'_>, pu: PuId) {
        for (counts, level) in self.by_level.iter_mut().zip(LEVELS) {
            counts[view.machine.object(level, pu) as usize] += 1;
        }
    }

    /// Number of members in the core, the cache and the node of a PU.
    pub fn around(&self, view: &View<'_>, pu: PuId) -> [u32; 3] {
        let mut out = [0; 3];
        for ((out, counts), level) in out.iter_mut().zip(&self.by_level).zip(LEVELS) {
            *out = counts[view.machine.object(level, pu) as usize];
        }
        out
    }

    /// The counts by core, by cache and by node.
    pub fn by_level(&self) -> &[Vec<u32>; 3] {
        &self.by_level
    }

    /// The counts by node.
    pub fn by_node(&self) -> &[u32] {
        &self.by_level[2]
    }
}
