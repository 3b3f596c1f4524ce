//! Chooses the nodes for the pages of an application: the nodes with memory that are nearest to its
//! processors or to its home, and the memory policy that puts new pages there.

use numaestro_engine::PageHome;
use numaestro_host::numa::{MemoryPolicy, Mode};
use numaestro_topology::{CpuSet, Machine, NumaNodeId, PuSet};

use crate::senses::machine::os_of;

/// Nodes with memory.
pub(super) fn memory_nodes(machine: &Machine) -> impl Iterator<Item = NumaNodeId> {
    let has_memory = |(_, node): &(usize, &numaestro_topology::NumaNode)| node.memory_bytes != Some(0);
    machine.numa_nodes().iter().enumerate().filter(has_memory).map(|(at, _)| NumaNodeId(at as u32))
}

/// Nodes of these processors, with the number of processors on each.
pub(super) fn nodes_of(machine: &Machine, pus: &PuSet) -> Vec<(NumaNodeId, u64)> {
    let mut counts = vec![0; machine.numa_nodes().len()];
    for pu in pus {
        counts[machine.pu(pu).node.index()] += 1;
    }
    let nodes = (0..counts.len() as u32).map(NumaNodeId).zip(counts);
    nodes.filter(|(_, count)| *count > 0).collect()
}

/// The nearest node with memory: itself, as a rule.
fn nearest_memory(machine: &Machine, node: NumaNodeId) -> Option<NumaNodeId> {
    memory_nodes(machine).min_by_key(|to| (machine.node_distance(node, *to), to.0))
}

/// OS indices of the nodes where pages of an application on these processors should be.
pub(super) fn places_for(machine: &Machine, wanted: PageHome, pus: &PuSet) -> Vec<u32> {
    let of_processors = || {
        let nodes = nodes_of(machine, pus).into_iter();
        nodes.filter_map(|(node, _)| nearest_memory(machine, node)).collect()
    };
    let mut nodes: Vec<NumaNodeId> = match wanted {
        PageHome::Node(node) => nearest_memory(machine, node).into_iter().collect(),
        PageHome::Interleave | PageHome::FirstTouch => of_processors(),
    };
    nodes.sort_unstable();
    nodes.dedup();
    nodes.into_iter().filter_map(|node| os_of(machine, node)).collect()
}

/// The memory policy that a program is told, so that its new pages go there.
pub(super) fn policy_for(wanted: Option<PageHome>, places: &[u32]) -> Option<MemoryPolicy> {
    let nodes: CpuSet = places.iter().copied().collect();
    let mode = match wanted? {
        _ if nodes.is_empty() => return Some(MemoryPolicy::none()),
        PageHome::FirstTouch => return Some(MemoryPolicy::none()),
        PageHome::Node(_) => Mode::Preferred,
        PageHome::Interleave => Mode::Interleave,
    };
    Some(MemoryPolicy { mode, nodes })
}

/// Says whether the nodes are the same, with any number of processors on each.
pub(super) fn are_same_nodes(before: &[(u32, u64)], now: &[(u32, u64)]) -> bool {
    before.len() == now.len() && before.iter().zip(now).all(|(before, now)| before.0 == now.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_go_where_the_policy_says_and_memory_is() {
        let machine = numaestro_topology::synthetic::parse("numa:4 core:2 pu:1").unwrap();
        let pus: PuSet = [2, 3, 4].into_iter().map(numaestro_topology::PuId).collect();
        assert_eq!(places_for(&machine, PageHome::FirstTouch, &pus), [1, 2]);
        assert_eq!(places_for(&machine, PageHome::Interleave, &pus), [1, 2]);
        assert_eq!(places_for(&machine, PageHome::Node(NumaNodeId(3)), &pus), [3]);
        assert_eq!(nodes_of(&machine, &pus), [(NumaNodeId(1), 2), (NumaNodeId(2), 1)]);
        assert!(places_for(&machine, PageHome::FirstTouch, &PuSet::new()).is_empty());
        let text = |wanted, places: &[u32]| policy_for(wanted, places).map(|policy| policy.to_string());
        assert_eq!(text(None, &[1]), None, "nothing was said, so nothing is");
        assert_eq!(text(Some(PageHome::FirstTouch), &[1]).unwrap(), "default");
        assert_eq!(text(Some(PageHome::Node(NumaNodeId(3))), &[3]).unwrap(), "prefer=static:3");
        assert_eq!(text(Some(PageHome::Interleave), &[1, 2]).unwrap(), "interleave=static:1-2");
        assert_eq!(text(Some(PageHome::Interleave), &[]).unwrap(), "default");
    }

    #[test]
    fn processors_within_the_same_nodes_are_no_reason_to_look() {
        assert!(are_same_nodes(&[(0, 2), (1, 2)], &[(0, 1), (1, 3)]));
        assert!(!are_same_nodes(&[(0, 2)], &[(0, 2), (1, 1)]) && !are_same_nodes(&[(0, 2)], &[(1, 2)]));
    }
}
