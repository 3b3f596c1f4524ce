//! Says what an application would have if it came now. A copy of the engine gives the answer, so it
//! is exact and nothing changes.
//!
//! The copy is told of the arrival, and that each application carries its targets out at once, the
//! earliest arrival first. The time that they really take changes nothing. Their order changes the
//! answer where a placement is selective or breaks ties at random, or where turns are taken. Where
//! turns are taken, the copy goes on from turn to turn until the newcomer has had one. The answer
//! does not say which processors others would lose.

use crate::engine::Engine;
use crate::event::{Event, Nanos, Wish};
use crate::rehearsal::Rehearsal;
use numaestro_policy::{PageHome, PuState, Rejected, Slot};
use numaestro_topology::{Machine, NumaNodeId, PuId, PuSet};
use std::cmp::Reverse;
use std::fmt::Write;

/// The processors, turn and memory that an application would have if it came now.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Advice {
    /// Processors of its own, once others have made room; 0: it would wait, or share.
    pub count: u32,
    /// Threads it would be told to run with; 0: it would wait.
    pub threads: u32,
    /// Processors it would run on: its own, or those it would share. Empty while it waits.
    pub pus: PuSet,
    /// Processors of `pus` that no application owns or runs on now, and that unmanaged load leaves
    /// alone.
    pub free: PuSet,
    /// Others would run on some of them.
    pub shared: bool,
    /// Place in the queue where it would wait; 1 is next.
    pub position: Option<u32>,
    /// Nanoseconds until its first turn; 0 where it runs at once.
    pub turn_in: Nanos,
    /// Nodes of `pus`.
    pub nodes: Vec<NumaNodeId>,
    /// Nodes for its memory, best first: the policy's home for it, or the nodes it runs on, and as
    /// many of the next nearest as the memory it needs makes necessary.
    pub memory_nodes: Vec<NumaNodeId>,
    /// Bytes that are free there, if the shell has said so.
    pub memory_free: Option<u64>,
    /// The reason, one sentence.
    pub why: String,
}

impl Engine {
    /// Says what an application with this wish would have if it came now. `free_memory`: bytes by
    /// NUMA node as the shell has just read them; empty: the bytes that it has told the engine.
    /// Allocates; not for the hot path.
    ///
    /// # Errors
    /// The reason for which the engine would refuse it.
    ///
    /// # Panics
    /// If an invariant is broken, as [`Self::step`]. This engine has not changed even then.
    pub fn advise(&self, now: Nanos, wish: &Wish, free_memory: &[u64]) -> Result<Advice, Rejected> {
        let mut copy = Rehearsal::of(self, now);
        if !free_memory.is_empty() {
            copy.engine.set_free_memory(free_memory);
        }
        // Some placements draw by the number.
        let app = self.next_number();
        copy.step(&Event::Arrive { app, wish: Wish { claim: None, home: None, ..wish.clone() } })?;
        let Some(slot) = copy.engine.slot(app) else {
            return Err(Rejected::new("the application would be gone at once"));
        };
        copy.settle()?;
        let begin = copy.engine.site().now;
        copy.await_turn(slot)?;
        Ok(self.read(&copy.engine, slot, begin))
    }

    /// Reads the answer off the copy.
    fn read(&self, copy: &Self, slot: Slot, begin: Nanos) -> Advice {
        let site = copy.site();
        let (app, seen) = (site.ledger.app(slot), copy.shown().app(slot));
        let now = |pu: &PuId| self.site().ledger.pu(*pu);
        let free = |pu: &PuId| now(pu).state == PuState::Free && now(pu).guests == 0;
        let nodes = nodes_of(&site.machine, &seen.pus);
        let memory_nodes = match copy.policy().pages.home(&site.view(), slot) {
            _ if seen.pus.is_empty() => Vec::new(),
            PageHome::Node(home) => vec![home],
            PageHome::FirstTouch | PageHome::Interleave => nodes.clone(),
        };
        let memory_nodes = large_enough(&site.machine, memory_nodes, app.needs_memory, &site.free_memory);
        let memory_free = (!site.free_memory.is_empty() && !memory_nodes.is_empty())
            .then(|| free_on(&site.free_memory, &memory_nodes));
        let turn_in = site.now - begin;
        let mut why = seen.why;
        if turn_in > 0 && seen.count > 0 {
            let _ = write!(why, "; its first turn is in {} ms", turn_in.div_ceil(1_000_000));
        }
        if let Some(free) = memory_free.filter(|&free| free < app.needs_memory) {
            let (free, needed) = (free >> 20, app.needs_memory >> 20);
            let _ = write!(why, "; all nodes together have {free} MiB of memory left, not {needed}");
        }
        Advice {
            count: app.allocation,
            threads: seen.count,
            free: seen.pus.iter().filter(free).collect(),
            shared: seen.shared || app.allocation == 0 && !seen.pus.is_empty(),
            position: (seen.position > 0).then_some(seen.position),
            turn_in: if seen.count > 0 { turn_in } else { 0 },
            pus: seen.pus,
            nodes: sorted(nodes),
            memory_nodes,
            memory_free,
            why,
        }
    }
}

/// Nodes of these processors, those with most of them first.
fn nodes_of(machine: &Machine, pus: &PuSet) -> Vec<NumaNodeId> {
    let mut on = vec![0_u32; machine.numa_nodes().len()];
    pus.iter().for_each(|pu| on[machine.pu(pu).node.index()] += 1);
    let mut nodes: Vec<NumaNodeId> = (0..on.len() as u32).map(NumaNodeId).collect();
    nodes.retain(|node| on[node.index()] > 0);
    nodes.sort_by_key(|node| (Reverse(on[node.index()]), *node));
    nodes
}

fn sorted(mut nodes: Vec<NumaNodeId>) -> Vec<NumaNodeId> {
    nodes.sort_unstable();
    nodes
}

fn free_on(free: &[u64], nodes: &[NumaNodeId]) -> u64 {
    nodes.iter().map(|node| free.get(node.index()).copied().unwrap_or(0)).fold(0, u64::saturating_add)
}

/// `nodes`, and after them as many of the others as it takes until so many bytes are free: the
/// nearest first, of equally near ones the one with most free memory first. Nodes without free
/// memory are left out.
fn large_enough(machine: &Machine, mut nodes: Vec<NumaNodeId>, needed: u64, free: &[u64]) -> Vec<NumaNodeId> {
    if nodes.is_empty() || free.is_empty() || needed == 0 {
        return nodes;
    }
    let from = nodes.clone();
    let far = |to: NumaNodeId| from.iter().map(|&node| machine.node_distance(node, to)).min().unwrap_or(0);
    let left = |node: NumaNodeId| free.get(node.index()).copied().unwrap_or(0);
    let mut others: Vec<NumaNodeId> = (0..machine.numa_nodes().len() as u32).map(NumaNodeId).collect();
    others.retain(|node| !from.contains(node) && left(*node) > 0);
    others.sort_by_key(|&node| (far(node), Reverse(left(node)), node));
    let mut others = others.into_iter();
    while free_on(free, &nodes) < needed
        && let Some(next) = others.next()
    {
        nodes.push(next);
    }
    nodes
}
