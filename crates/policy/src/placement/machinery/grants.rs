//! Chooses the processor that a request is granted: the base priority, for all placements that
//! follow it.
//!
//! Source: Koita et al. §2.2 (base priority). They leave two orders open. Of several applications,
//! those without processors are served first here, one processor at a time. Of several
//! before-processors, the one that was given up last comes first. Before-processors are those that
//! the application had at its latest deallocation.
//!
//! ```text
//! 0. one that it has been told to leave and has not left yet
//! of the processors that are free now:
//! 1. a before-processor of the application: the one it had last, then the one that became free last
//! 2. one of the node where it has most processors     (nodes where none is free do not count)
//! 3. one of the node where it has most before-processors; others may have them now
//! 4. one of the node where most are free
//! ```

use crate::plan::Plan;
use crate::random::{Random, Tie};
use crate::shares::Shares;
use crate::view::{PuState, Slot, View};
use numaestro_topology::{NumaNodeId, PuId, PuSet};
use std::cmp::Reverse;

/// The processors that an application may be given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Where {
    /// Any, and if need be also one that its owner has still to leave.
    Anywhere,
    /// Processors of its home first, then those of nodes that are no other application's home.
    HomeFirst,
    /// Processors of its home only.
    HomeOnly,
}

/// Config and buffers.
#[derive(Debug, Clone)]
pub struct Grants {
    tie: Tie,
    seed: u64,
    random: Random,
    /// Processors that no application is on.
    free: PuSet,
    /// Number of them, by node.
    free_in: Vec<u32>,
    /// Number of processors that an application was told to leave, in this plan or before, by
    /// application.
    vacating: Vec<u32>,
    /// The application whose home a node is, as planned, by node.
    reserved_by: Vec<Option<Slot>>,
    /// Processors that may be given to the application that is being served.
    eligible: PuSet,
    /// Number of its processors, by node.
    own_in: Vec<u32>,
    /// Applications that lack processors.
    lacking: Vec<Slot>,
    /// Processors that an application could lose, with their keys.
    losses: Vec<((bool, u32, u64, u32), PuId)>,
}

/// A class for [`Grants::release_surplus`]: idle processors outside the home go first, then used
/// ones outside, then idle ones at home.
pub fn outside_first(view: &View<'_>, slot: Slot, pu: PuId) -> u32 {
    let at_home = view.app(slot).home == Some(view.machine.pu(pu).node);
    2 * u32::from(at_home) + u32::from(!view.pu(pu).idle)
}

impl Grants {
    /// With a rule for ties and the seed of its random stream.
    pub fn new(tie: Tie, seed: u64) -> Self {
        Self {
            tie,
            seed,
            random: Random::new(seed),
            free: PuSet::new(),
            free_in: Vec::new(),
            vacating: Vec::new(),
            reserved_by: Vec::new(),
            eligible: PuSet::new(),
            own_in: Vec::new(),
            lacking: Vec::new(),
            losses: Vec::new(),
        }
    }

    /// The parameter as in policy texts.
    pub fn parameters(&self) -> String {
        if self.tie == Tie::Random { String::new() } else { "tie=lowest".into() }
    }

    /// Takes the processors that each application has above its count: first those that others have
    /// still to leave for it, then the smallest class, of equals those it has had longest.
    pub fn release_surplus(
        &mut self,
        view: &View<'_>,
        shares: &Shares,
        plan: &mut Plan,
        class: impl Fn(Slot, PuId) -> u32,
    ) {
        for &slot in view.order {
            let surplus = plan.count(slot).saturating_sub(shares.count(slot)) as usize;
            if surplus == 0 {
                continue;
            }
            self.losses.clear();
            let own = view.app(slot).own.iter().filter(|&pu| plan.next(pu) == Some(slot));
            let key = |pu: PuId| (view.pu(pu).owner == Some(slot), class(slot, pu), view.pu(pu).since_ns, pu.0);
            self.losses.extend(own.map(|pu| (key(pu), pu)));
            if surplus < self.losses.len() {
                self.losses.select_nth_unstable(surplus);
                self.losses.truncate(surplus);
            }
            self.losses.sort_unstable();
            for &(_, pu) in &self.losses {
                plan.release(pu);
            }
        }
    }

    /// Counts the processors that are free after surplus has been released, and those that
    /// applications have to vacate.
    pub fn look(&mut self, view: &View<'_>, plan: &Plan) {
        self.free.clear();
        self.free_in.clear();
        self.free_in.resize(view.machine.numa_nodes().len(), 0);
        for pu in plan.free() {
            if is_free_now(view, pu) {
                self.free.insert(pu);
                self.free_in[view.machine.pu(pu).node.index()] += 1;
            }
        }
        self.vacating.clear();
        self.vacating.resize(view.apps.len(), 0);
        for (index, pu) in view.pus.iter().enumerate() {
            if let Some(owner) = pu.owner
                && plan.next(PuId(index as u32)) != Some(owner)
                && !self.free.contains(PuId(index as u32))
            {
                self.vacating[owner.index()] += 1;
            }
        }
        self.reserved_by.clear();
        self.reserved_by.resize(view.machine.numa_nodes().len(), None);
        for index in 0..view.apps.len() {
            let slot = Slot(index as u32);
            if let Some(home) = plan.home(slot) {
                let owner = &mut self.reserved_by[home.index()];
                // Another placement may have let several applications be at home in one node: the
                // earliest keeps it.
                if owner.is_none_or(|other| view.app(slot).id < view.app(other).id) {
                    *owner = Some(slot);
                }
            }
        }
    }

    /// The best home of a new application: the node with most of its processors, then the one with
    /// most free ones, then by tie. A node with neither is none; with `alone` nor is a node that is
    /// another's home. Two decisions about the same application break ties alike.
    pub fn choose_home(&mut self, view: &View<'_>, plan: &Plan, slot: Slot, alone: bool) -> Option<NumaNodeId> {
        if alone && self.reserved_by.iter().all(Option::is_some) {
            return None;
        }
        self.count_own(view, plan, slot);
        let lottery = |node: usize| match self.tie {
            Tie::Lowest => node as u64,
            Tie::Random => Random::new(self.seed ^ (view.app(slot).id.0 << 20) ^ node as u64).draw(),
        };
        let nodes = (0..self.free_in.len()).filter(|&node| !alone || self.reserved_by[node].is_none());
        let roomy = nodes.filter(|&node| self.own_in[node] + self.free_in[node] > 0);
        let best =
            roomy.min_by_key(|&node| (Reverse(self.own_in[node]), Reverse(self.free_in[node]), lottery(node), node));
        best.map(|node| NumaNodeId(node as u32))
    }

    /// Makes a node the application's home, in the plan and for the grants that follow.
    pub fn settle(&mut self, plan: &mut Plan, slot: Slot, home: NumaNodeId) {
        plan.set_home(slot, Some(home));
        self.reserved_by[home.index()] = Some(slot);
    }

    /// The application whose home a node is.
    pub fn home_of(&self, node: NumaNodeId) -> Option<Slot> {
        self.reserved_by[node.index()]
    }

    /// The application whose home the node of a processor is.
    pub fn reserved_by(&self, view: &View<'_>, pu: PuId) -> Option<Slot> {
        self.reserved_by[view.machine.pu(pu).node.index()]
    }

    /// Takes a processor from its owner because it is in another application's home.
    pub fn evict(&mut self, view: &View<'_>, plan: &mut Plan, slot: Slot, pu: PuId) {
        plan.release(pu);
        if is_free_now(view, pu) {
            self.free.insert(pu);
            self.free_in[view.machine.pu(pu).node.index()] += 1;
        } else {
            self.vacating[slot.index()] += 1;
        }
    }

    /// Takes idle processors that only threads on processors to be vacated could use: those threads
    /// end where they are.
    pub fn release_unneeded(&mut self, view: &View<'_>, plan: &mut Plan, may_lose: impl Fn(Slot, PuId) -> bool) {
        for &slot in view.order {
            if self.vacating[slot.index()] == 0 {
                continue;
            }
            for pu in &view.app(slot).own {
                let spare = plan.count(slot) + self.vacating[slot.index()] > useful(view, slot);
                if spare && plan.next(pu) == Some(slot) && view.pu(pu).idle && may_lose(slot, pu) {
                    self.evict(view, plan, slot, pu);
                }
            }
        }
    }

    /// Gives one processor to each that has none, in order of arrival, and then one a turn to each
    /// that has fewer than its count.
    pub fn serve(&mut self, view: &View<'_>, shares: &Shares, plan: &mut Plan, allowed: Where) {
        let mut lacking = std::mem::take(&mut self.lacking);
        lacking.clear();
        lacking.extend(view.order.iter().filter(|&&slot| plan.count(slot) < shares.count(slot)));
        lacking.retain(|&slot| plan.count(slot) > 0 || self.give_one(view, shares, plan, slot, allowed));
        while !lacking.is_empty() {
            lacking.retain(|&slot| self.give_one(view, shares, plan, slot, allowed));
        }
        self.lacking = lacking;
    }

    /// Gives one processor. False if the application has all it should have, or there is none for
    /// it.
    pub fn give_one(&mut self, view: &View<'_>, shares: &Shares, plan: &mut Plan, slot: Slot, allowed: Where) -> bool {
        if plan.count(slot) >= shares.count(slot) {
            return false;
        }
        if self.vacating[slot.index()] > 0 {
            let own = view.pus.iter().enumerate().filter(|(_, pu)| pu.owner == Some(slot));
            let mut leaving = own.map(|(index, _)| PuId(index as u32));
            if let Some(pu) = leaving.find(|&pu| {
                plan.free().contains(pu) && !self.free.contains(pu) && self.may_be(view, plan, slot, pu, allowed)
            }) {
                self.vacating[slot.index()] -= 1;
                plan.give(pu, slot);
                return true;
            }
        }
        // A processor that it has still to leave keeps a thread of it busy meanwhile; another one
        // would be too many.
        if allowed != Where::Anywhere && plan.count(slot) + self.vacating[slot.index()] >= useful(view, slot) {
            return false;
        }
        self.find_eligible(view, plan, slot, allowed);
        if self.eligible.is_empty() {
            return false;
        }
        let pu = self.choose(view, plan, slot);
        plan.give(pu, slot);
        if self.free.remove(pu) {
            self.free_in[view.machine.pu(pu).node.index()] -= 1;
        }
        true
    }

    fn may_be(&self, view: &View<'_>, plan: &Plan, slot: Slot, pu: PuId, allowed: Where) -> bool {
        match allowed {
            Where::Anywhere => true,
            Where::HomeFirst => self.reserved_by(view, pu).is_none_or(|other| other == slot),
            Where::HomeOnly => plan.home(slot) == Some(view.machine.pu(pu).node),
        }
    }

    fn find_eligible(&mut self, view: &View<'_>, plan: &Plan, slot: Slot, allowed: Where) {
        let home = plan.home(slot).map(|home| &view.machine.numa_nodes()[home.index()].pus);
        self.eligible.clone_from(&self.free);
        match (allowed, home) {
            (Where::Anywhere, _) if self.eligible.is_empty() => self.eligible.clone_from(plan.free()),
            (Where::Anywhere, _) => {}
            (Where::HomeFirst | Where::HomeOnly, None) => self.eligible.clear(),
            (Where::HomeFirst, Some(home)) if !home.intersects(&self.free) => {
                for (node, owner) in view.machine.numa_nodes().iter().zip(&self.reserved_by) {
                    if owner.is_some() {
                        self.eligible.subtract(&node.pus);
                    }
                }
            }
            (Where::HomeFirst | Where::HomeOnly, Some(home)) => self.eligible.and_with(home),
        }
    }

    /// Chooses by rules 1 to 4.
    fn choose(&mut self, view: &View<'_>, plan: &Plan, slot: Slot) -> PuId {
        if let Some(pu) = self.before_processor(view, slot) {
            return pu;
        }
        let node = self.best_node(view, plan, slot);
        let members = &view.machine.numa_nodes()[node].pus;
        let nth = match self.tie {
            Tie::Lowest => 0,
            Tie::Random => self.random.below(self.eligible.common(members) as u32),
        };
        let mut there = self.eligible.iter().filter(|&pu| members.contains(pu));
        there.nth(nth as usize).expect("a node is only chosen if one of its processors is eligible")
    }

    /// The best processor by rule 1.
    fn before_processor(&self, view: &View<'_>, slot: Slot) -> Option<PuId> {
        let held = &view.app(slot).held;
        if !held.intersects(&self.eligible) {
            return None;
        }
        let before = held.iter().filter(|&pu| self.eligible.contains(pu));
        before.max_by_key(|&pu| (view.former(pu) == Some(slot), view.pu(pu).since_ns, Reverse(pu)))
    }

    /// The best node by rules 2 to 4, of equals by tie.
    fn best_node(&mut self, view: &View<'_>, plan: &Plan, slot: Slot) -> usize {
        self.count_own(view, plan, slot);
        let held = &view.app(slot).held;
        let (mut best, mut equals) = (None, 0);
        for (number, node) in view.machine.numa_nodes().iter().enumerate() {
            let free = self.eligible.common(&node.pus) as u32;
            if free == 0 {
                continue;
            }
            let own = self.own_in[number];
            let rank = if own > 0 {
                (3, own)
            } else {
                match held.common(&node.pus) as u32 {
                    0 => (1, free),
                    had => (2, had),
                }
            };
            match best {
                Some((most, _)) if rank < most => {}
                Some((most, _)) if rank == most => {
                    equals += 1;
                    // Every one of n equals is kept with probability 1/n.
                    if self.tie == Tie::Random && self.random.below(equals) == 0 {
                        best = Some((rank, number));
                    }
                }
                _ => (best, equals) = (Some((rank, number)), 1),
            }
        }
        best.expect("some processor is eligible").1
    }

    fn count_own(&mut self, view: &View<'_>, plan: &Plan, slot: Slot) {
        self.own_in.clear();
        self.own_in.resize(self.free_in.len(), 0);
        if plan.count(slot) == 0 {
            return;
        }
        let untouched = view.app(slot).own.iter().filter(|&pu| plan.next(pu) == Some(slot));
        let given = plan.touched().iter().copied().filter(|pu| !view.app(slot).own.contains(*pu));
        for pu in untouched.chain(given.filter(|&pu| plan.next(pu) == Some(slot))) {
            self.own_in[view.machine.pu(pu).node.index()] += 1;
        }
    }
}

/// Says whether no application is on it, or only an owner that has nothing to run there.
fn is_free_now(view: &View<'_>, pu: PuId) -> bool {
    let entry = view.pu(pu);
    entry.owner.is_none() || entry.state == PuState::Owned && entry.idle
}

/// Number of processors that it has threads for, within its own limits.
fn useful(view: &View<'_>, slot: Slot) -> u32 {
    let app = view.app(slot);
    app.request.clamp(app.min, app.max.max(app.min))
}
