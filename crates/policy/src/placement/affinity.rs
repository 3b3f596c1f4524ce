//! A processor goes back to an application it ran before, and otherwise to the one it is nearest
//! to.
//!
//! **Source**: two-level affinity, Martorell et al. 2000, §3.4, §5.2; nearness as localized
//! placement, Brecht 1993, §4.
//!
//! **Terms**: two levels = processor to application (here), then to the thread it ran before (in
//! the program); node = NUMA node.
//!
//! **Algorithm**
//! ```text
//! every application keeps what it has up to its count; which it loses: see `surplus`
//! in order of arrival, each that lacks k processors takes, of the free ones, the first k by
//!   1. it has not left them yet            2. it had them before, most recent first
//!   3. same core, cache, node as most of its own; then the nearest node; then the lowest index
//! one that has none starts in the smallest group (core, cache, node, package) with k free, of those in the one with most free
//! with fewer processors to give than there are cores, nobody gets a second processor of a core
//! where the turns part chooses buses, each first gives up what it has too many of on a bus, and takes what it lacks there
//! ```
//!
//! **Differs from the paper**: it says nothing of an application's first processors, nor of SMT.
//!
//! **Use when** caches and memory matter, which is nearly always. **Avoid when** a paper's pools
//! are to be studied.

use super::machinery::acquaintance::acquaintance;
use super::machinery::by_bus::ByBus;
use super::machinery::surplus::{GroupCounts, Surplus};
use crate::answer::Answer;
use crate::part::{Info, Placement};
use crate::plan::Plan;
use crate::random::{Random, Tie};
use crate::shares::Shares;
use crate::view::{Slot, View};
use numaestro_topology::{Level, PuId, PuSet};
use std::cmp::Reverse;

/// The name of the answer, and the function that makes it.
pub const ANSWER: Answer<dyn Placement> = Answer {
    info: Info {
        name: "affinity",
        summary: "Back to the application it ran before, else to the nearest",
        source: "Martorell et al. 2000, §3.4; Brecht 1993, §4",
    },
    build: |given| Ok(Box::new(Affinity::new(given.tie()?.unwrap_or(Tie::Lowest), given.seed()))),
};

/// The order of candidates: the smallest key is taken first.
type Key = (u8, Reverse<u64>, bool, [u32; 4], [u32; 4], u64);

/// Config and state.
#[derive(Debug, Clone)]
pub struct Affinity {
    /// Config: the rule for ties. Default: the lowest index (the paper says nothing).
    tie: Tie,
    random: Random,
    surplus: Surplus,
    by_bus: ByBus,
    /// By core, cache and node: processors of the application that is being served, or free ones if
    /// it has none.
    counts: GroupCounts,
    /// Free processors that may be taken, in hardware order.
    found: Vec<PuId>,
    /// Free processors that matter, with their keys.
    candidates: Vec<(Key, PuId)>,
    /// Distance from the application's nodes, by node.
    distance: Vec<u32>,
}

impl Affinity {
    /// With a rule for ties and the seed of its random stream.
    pub fn new(tie: Tie, seed: u64) -> Self {
        Self {
            tie,
            random: Random::new(seed),
            surplus: Surplus::default(),
            by_bus: ByBus::default(),
            counts: GroupCounts::default(),
            found: Vec::new(),
            candidates: Vec::new(),
            distance: Vec::new(),
        }
    }
}

impl Placement for Affinity {
    fn info(&self) -> Info {
        ANSWER.info
    }

    fn parameters(&self) -> String {
        if self.tie == Tie::Lowest { String::new() } else { "tie=random".into() }
    }

    fn prefer(&mut self, preferred: &[(Slot, u32, u32)]) {
        self.by_bus.prefer(preferred);
    }

    fn place(&mut self, view: &View<'_>, shares: &Shares, plan: &mut Plan) {
        self.by_bus.release(view, shares, plan);
        self.surplus.release(view, shares, plan);
        let wanted: u32 = view.order.iter().map(|&slot| shares.count(slot)).sum();
        let spread = wanted as usize <= view.machine.cores().len() && view.machine.smt_width() > 1;
        for wish in 0..self.by_bus.len() {
            let (slot, bus, lacking) = self.by_bus.lacking(wish, view, shares, plan);
            if lacking > 0 {
                self.serve(view, plan, slot, lacking, spread, Some(&view.buses[bus].pus));
            }
        }
        for &slot in view.order {
            let lacking = shares.count(slot).saturating_sub(plan.count(slot));
            if lacking > 0 {
                self.serve(view, plan, slot, lacking, spread, None);
            }
        }
    }
}

impl Affinity {
    /// Gives one application the best of the free processors; with `within` only of those.
    fn serve(
        &mut self,
        view: &View<'_>,
        plan: &mut Plan,
        slot: Slot,
        lacking: u32,
        spread: bool,
        within: Option<&PuSet>,
    ) {
        self.find_candidates(plan, view, spread, lacking as usize, within);
        if view.app(slot).allocation > 0 {
            self.key_by_own(view, slot);
        } else {
            self.key_by_room(view, slot, lacking);
        }
        self.take(plan, slot, lacking as usize);
    }

    /// Finds the free processors; with `spread` only one of each empty core, if those are enough.
    fn find_candidates(&mut self, plan: &Plan, view: &View<'_>, spread: bool, lacking: usize, within: Option<&PuSet>) {
        let free = || within.unwrap_or(plan.free()).iter().filter(|&pu| plan.free().contains(pu));
        self.found.clear();
        if spread {
            let alone = |&pu: &PuId| {
                let mut siblings = view.machine.smt_siblings(pu).iter();
                siblings
                    .all(|sibling| plan.next(sibling).is_none() && (sibling >= pu || !plan.free().contains(sibling)))
            };
            self.found.extend(free().filter(alone));
        }
        if self.found.len() < lacking {
            self.found.clear();
            self.found.extend(free());
        }
    }

    fn tie(&mut self, pu: PuId) -> u64 {
        match self.tie {
            Tie::Lowest => u64::from(pu.0),
            Tie::Random => self.random.draw(),
        }
    }

    /// Rule 3 for an application that has processors.
    fn key_by_own(&mut self, view: &View<'_>, slot: Slot) {
        self.counts.count(view, view.app(slot).own.iter());
        self.measure_distance(view);
        self.candidates.clear();
        for index in 0..self.found.len() {
            let pu = self.found[index];
            let (rule, recent) = acquaintance(view, slot, pu);
            let [core, llc, node] = self.counts.around(view, pu).map(|count| u32::MAX - count);
            let far = self.distance[view.machine.pu(pu).node.index()];
            let tie = self.tie(pu);
            self.candidates.push(((rule, recent, false, [core, llc, node, far], [0; 4], tie), pu));
        }
    }

    /// Distance of every node from the nearest one that the application has processors of.
    fn measure_distance(&mut self, view: &View<'_>) {
        let nodes = view.machine.numa_nodes().len() as u32;
        self.distance.clear();
        let own = self.counts.by_node();
        self.distance.extend((0..nodes).map(|to| {
            let at = (0..nodes).filter(|&from| own[from as usize] > 0);
            let distance = |from| {
                view.machine.node_distance(numaestro_topology::NumaNodeId(from), numaestro_topology::NumaNodeId(to))
            };
            at.map(distance).min().unwrap_or(0)
        }));
    }

    /// Rule 3 for an application without processors: the smallest group with room, and inside it
    /// the parts with most room first.
    fn key_by_room(&mut self, view: &View<'_>, slot: Slot, lacking: u32) {
        self.counts.count(view, self.found.iter().copied());
        let home = self.group_with_room(view, lacking);
        if let Some((level, object)) = home
            && self.tie == Tie::Lowest
        {
            // There are enough of these, and they come before all others, so the others need no
            // keys.
            let matters = |&pu: &PuId| {
                view.machine.object(level, pu) == object
                    || view.former(pu) == Some(slot)
                    || view.pu(pu).owner == Some(slot)
            };
            self.found.retain(matters);
        }
        self.candidates.clear();
        for index in 0..self.found.len() {
            let pu = self.found[index];
            let (rule, recent) = acquaintance(view, slot, pu);
            let outside = home.is_some_and(|(level, object)| view.machine.object(level, pu) != object);
            let [core, llc, node] = self.counts.around(view, pu).map(|count| u32::MAX - count);
            let place = view.machine.pu(pu);
            let tie = self.tie(pu);
            let key = (rule, recent, outside, [node, place.node.0, llc, place.llc], [core, place.core, 0, 0], tie);
            self.candidates.push((key, pu));
        }
    }

    /// The smallest core, cache or node with `lacking` candidates; of equals the one with most,
    /// then the lowest.
    fn group_with_room(&self, view: &View<'_>, lacking: u32) -> Option<(Level, u32)> {
        [Level::Core, Level::Llc, Level::NumaNode].into_iter().zip(self.counts.by_level()).find_map(
            |(level, counts)| {
                let most = counts.iter().copied().max().filter(|&most| most >= lacking)?;
                let object = |pu: PuId| view.machine.object(level, pu);
                // The candidates are in hardware order.
                let first = self.found.iter().find(|&&pu| counts[object(pu) as usize] == most)?;
                Some((level, object(*first)))
            },
        )
    }

    fn take(&mut self, plan: &mut Plan, slot: Slot, lacking: usize) {
        if lacking < self.candidates.len() {
            self.candidates.select_nth_unstable(lacking);
            self.candidates.truncate(lacking);
        }
        for &(_, pu) in &self.candidates {
            plan.give(pu, slot);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::Case;

    fn affinity() -> Affinity {
        Affinity::new(Tie::Lowest, 0)
    }

    #[test]
    fn a_second_application_gets_a_node_of_its_own() {
        let mut case = Case::on("numa:2 core:4 pu:1").wants(&[8, 8]).holds(&[8]);
        assert_eq!(case.place(&mut affinity(), &[4, 4]), ["0-3", "4-7"]);
    }

    #[test]
    fn grows_where_it_is() {
        let mut case = Case::on("numa:2 core:4 pu:1").wants(&[8, 8]);
        case.give(Slot(0), PuId(5), 0);
        assert_eq!(case.place(&mut affinity(), &[3, 0]), ["4-6", ""]);
    }

    #[test]
    fn what_ran_it_before_comes_first() {
        // N5: free processors that last ran j are taken before other free ones.
        let mut case = Case::on("numa:2 core:4 pu:1").wants(&[8, 8]).holds(&[8]);
        case.place(&mut affinity(), &[4, 4]);
        case.place(&mut affinity(), &[4, 0]);
        assert_eq!(case.place(&mut affinity(), &[4, 2]), ["0-3", "4-5"]);
        assert_eq!(case.place(&mut affinity(), &[4, 4]), ["0-3", "4-7"]);
    }

    #[test]
    fn lent_processors_go_home() {
        let mut case = Case::on("core:6 pu:1").wants(&[6, 6]).holds(&[3, 3]);
        assert_eq!(case.place(&mut affinity(), &[1, 5]), ["0", "1-5"]);
        assert_eq!(case.place(&mut affinity(), &[3, 3]), ["0-2", "3-5"]);
    }

    #[test]
    fn one_of_each_core_while_there_are_enough() {
        let mut case = Case::on("core:4 pu:2").wants(&[4]);
        assert_eq!(case.place(&mut affinity(), &[4]), ["0,2,4,6"]);
        let mut case = Case::on("core:4 pu:2").wants(&[8, 8]);
        assert_eq!(case.place(&mut affinity(), &[4, 4]), ["0-3", "4-7"]);
    }

    #[test]
    fn starts_in_the_smallest_group_with_room() {
        let mut case = Case::on("numa:2 l3:2 core:4 pu:1").wants(&[2, 4, 8]).holds(&[2]);
        assert_eq!(case.place(&mut affinity(), &[2, 4, 8])[1..], ["4-7", "8-15"]);
    }

    #[test]
    fn asymmetric_nodes() {
        let mut case = Case::on("pack:2 core:4 pu:1").wants(&[4, 4]);
        case.pus[0].state = crate::PuState::Offline;
        assert_eq!(case.place(&mut affinity(), &[4, 3]), ["4-7", "1-3"]);
    }
}
