//! The ground on which programs are arranged: groups of processors, and their distances from each
//! other's memory.

use super::levels::{GROUPS_MAX, PoolLevels};
use crate::rejected::Rejected;
use crate::view::{PuState, View};
use numaestro_topology::{Formation, GroupTree, Machine, NumaNodeId, PuId, PuSet};

/// Cost of one step outwards in the tree of groups, in the firmware's units of distance (10 = the
/// whole way to local memory).
const STEP: u32 = 2;

/// Groups of processors and their distances.
#[derive(Debug, Clone)]
pub struct Ground {
    tree: GroupTree,
    /// The processors they were formed of.
    of: PuSet,
    /// By group: the node that most of its members are in.
    node: Vec<u16>,
    /// By group a processor is in and group that data are in, row-major.
    far: Vec<u16>,
    /// By group that data are in: all groups, nearest first.
    near: Vec<u16>,
    /// By node that data are in and group a processor is in, row-major.
    reach: Vec<u16>,
    /// By node: all nodes, those nearest to its processors first.
    near_nodes: Vec<u16>,
    /// Says whether cores have several processors.
    is_smt: bool,
}

impl Ground {
    /// Groups of these processors. Should the rule not fit, it is one group of all.
    ///
    /// # Panics
    /// If there is no processor.
    pub fn form(machine: &Machine, levels: &PoolLevels, of: PuSet) -> Self {
        let formed = GroupTree::form(machine, &levels.on(machine, &of), &of);
        let tree = formed
            .ok()
            .filter(|tree| tree.leaves().len() <= GROUPS_MAX)
            .or_else(|| GroupTree::form(machine, &[Formation::Unequal(Vec::new())], &of).ok())
            .expect("one group of all can always be formed");
        let groups = tree.leaves().len();
        let node: Vec<u16> = tree.leaves().iter().map(|members| most_common_node(machine, members)).collect();
        let mut far = Vec::with_capacity(groups * groups);
        for at in 0..groups {
            far.extend((0..groups).map(|data| {
                let steps = climb(&tree, at, data) * STEP;
                (extra(machine, node[at], node[data]) + steps).min(u32::from(u16::MAX)) as u16
            }));
        }
        let mut near = Vec::with_capacity(groups * groups);
        for data in 0..groups {
            let begin = near.len();
            near.extend(0..groups as u16);
            near[begin..].sort_by_key(|&at| (far[usize::from(at) * groups + data], usize::from(at) != data, at));
        }
        let nodes = machine.numa_nodes().len() as u16;
        let reach = (0..nodes).flat_map(|data| {
            let node = &node;
            node.iter().map(move |&at| extra(machine, at, data).min(u32::from(u16::MAX)) as u16)
        });
        let reach = reach.collect();
        let mut near_nodes = Vec::new();
        for at in 0..nodes {
            let begin = near_nodes.len();
            near_nodes.extend(0..nodes);
            near_nodes[begin..].sort_by_key(|&data| (extra(machine, at, data), data != at, data));
        }
        Self { tree, of, node, far, near, reach, near_nodes, is_smt: machine.smt_width() > 1 }
    }

    /// Says whether it can be formed.
    ///
    /// # Errors
    /// The reason why not.
    pub fn fits(machine: &Machine, levels: &PoolLevels, usable: &PuSet) -> Result<(), Rejected> {
        let formed = GroupTree::form(machine, &levels.on(machine, usable), usable);
        let tree = formed.map_err(|error| Rejected::new(format!("pools cannot be formed: {error}")))?;
        match tree.leaves().len() {
            0..=GROUPS_MAX => Ok(()),
            many => Err(Rejected::new(format!(
                "{many} pools are too many, because each is compared with every other: at most {GROUPS_MAX}; take larger ones, such as level=node"
            ))),
        }
    }

    /// Says whether it is still made of the processors that are not reserved.
    pub fn is_current(&self, view: &View<'_>) -> bool {
        let mut count = 0;
        let is_member = |(index, pu): (usize, &crate::view::Processor)| {
            let there = pu.state != PuState::Reserved;
            count += usize::from(there);
            !there || self.of.contains(PuId(index as u32))
        };
        view.pus.iter().enumerate().all(is_member) && count == self.of.len()
    }

    /// Says whether cores have several processors.
    pub fn is_smt(&self) -> bool {
        self.is_smt
    }

    /// Number of groups.
    pub fn groups(&self) -> usize {
        self.node.len()
    }

    /// Its processors in hardware order.
    pub fn members(&self, group: usize) -> &[PuId] {
        self.tree.leaves().members(group)
    }

    /// Its processors as a set.
    pub fn set(&self, group: usize) -> &PuSet {
        self.tree.leaves().set(group)
    }

    /// The group of a processor; none for one that is reserved.
    pub fn of(&self, pu: PuId) -> Option<usize> {
        self.tree.leaves().of(pu)
    }

    /// The node of a group.
    pub fn node(&self, group: usize) -> NumaNodeId {
        NumaNodeId(u32::from(self.node[group]))
    }

    /// Distance by which a processor of `at` is farther from data in the group `data` than from
    /// data in its own.
    #[inline]
    pub fn far(&self, at: usize, data: usize) -> u32 {
        u32::from(self.far[at * self.groups() + data])
    }

    /// All groups, those nearest to data of `data` first.
    #[inline]
    pub fn near(&self, data: usize) -> &[u16] {
        &self.near[data * self.groups()..][..self.groups()]
    }

    /// Distances by which the processors of all groups are farther from a node's memory than from
    /// their own.
    pub fn reach(&self, node: NumaNodeId) -> &[u16] {
        &self.reach[node.index() * self.groups()..][..self.groups()]
    }

    /// All nodes of the machine, those whose memory is nearest to the processors of a group first.
    pub fn near_nodes(&self, group: usize) -> &[u16] {
        let nodes = self.near_nodes.len().isqrt();
        &self.near_nodes[usize::from(self.node[group]) * nodes..][..nodes]
    }

    /// The room in the groups of groups around a group, the outermost first, as one number to
    /// compare.
    pub fn room_around(&self, room: &[u16], group: usize) -> u64 {
        let (mut weight, mut at) = (0, group);
        for (shift, level) in (0..self.tree.depth()).rev().enumerate().take(4) {
            let sum: u64 = self.leaves_below(level, at).map(|leaf| u64::from(room[leaf])).sum();
            weight |= sum.min(0xFFFF) << (16 * shift);
            let Some(parent) = self.tree.parent(level, at) else { break };
            at = parent;
        }
        weight
    }

    /// The leaves of a group of groups.
    fn leaves_below(&self, level: usize, group: usize) -> std::ops::Range<usize> {
        let mut range = group..group + 1;
        for inner in level..self.tree.depth() - 1 {
            let (first, last) = (self.tree.children(inner, range.start), self.tree.children(inner, range.end - 1));
            range = first.start..last.end;
        }
        range
    }
}

/// Distance by which the way from one node's processors to another's memory is longer than to their
/// own.
fn extra(machine: &Machine, at: u16, data: u16) -> u32 {
    let (at, data) = (NumaNodeId(u32::from(at)), NumaNodeId(u32::from(data)));
    machine.node_distance(at, data).saturating_sub(machine.node_distance(at, at))
}

fn most_common_node(machine: &Machine, members: &[PuId]) -> u16 {
    let node = |pu: &PuId| machine.pu(*pu).node;
    let count = |wanted: NumaNodeId| members.iter().filter(|pu| node(pu) == wanted).count();
    let best = members.iter().map(node).max_by_key(|&node| (count(node), std::cmp::Reverse(node)));
    best.map_or(0, |node| node.0 as u16)
}

/// Steps outwards from two leaves until one group of groups holds both; beyond the outermost level
/// is the machine.
fn climb(tree: &GroupTree, a: usize, b: usize) -> u32 {
    let (mut a, mut b, mut steps) = (a, b, 0);
    for level in (0..tree.depth()).rev() {
        if a == b {
            return steps;
        }
        steps += 1;
        match (tree.parent(level, a), tree.parent(level, b)) {
            (Some(above_a), Some(above_b)) => (a, b) = (above_a, above_b),
            _ => return steps,
        }
    }
    steps
}
