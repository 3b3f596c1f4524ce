//! Decides which memory nodes a program that is bound to its home may use: its home only, until
//! that is nearly full; then the next nearest node too.

use numaestro_host::numa::NodeMemory;
use numaestro_topology::{CpuSet, Machine};

use crate::senses::machine::node_of_os;

/// A node with less than this part of it free is nearly full: room for the memory that a program
/// can take until the next look.
const MARGIN_DIVISOR: u64 = 8;

/// Nodes for a program at home on `home` that may use `now`: its home, and as many of the next
/// nearest as are needed until one of them has room. They stay while the home does.
pub(super) fn widened(machine: &Machine, home: u32, now: &CpuSet, memory: &[NodeMemory]) -> CpuSet {
    let mut nodes = if now.contains(home) { now.clone() } else { [home].into_iter().collect() };
    let has_room = |node: u32| memory.iter().any(|of| of.node == node && of.free > of.total / MARGIN_DIVISOR);
    let Some(from) = node_of_os(machine, home) else { return CpuSet::default() };
    let mut others: Vec<(u32, u32)> = memory
        .iter()
        .filter(|of| of.total > 0 && !nodes.contains(of.node))
        .filter_map(|of| Some((machine.node_distance(from, node_of_os(machine, of.node)?), of.node)))
        .collect();
    others.sort_unstable();
    for (_, node) in others {
        if nodes.iter().any(has_room) {
            break;
        }
        nodes.insert(node);
    }
    nodes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_nearest_nodes_are_added_until_one_has_room() {
        let machine = numaestro_topology::synthetic::parse("numa:4 pu:2").unwrap();
        let distances = vec![10, 12, 20, 28, 12, 10, 20, 28, 20, 20, 10, 16, 28, 28, 16, 10];
        let machine = machine.with_node_distances(distances).unwrap();
        let check = |free: [u64; 4], home: u32, now: &str, expected: &str| {
            let memory: Vec<NodeMemory> =
                (0..4).map(|node| NodeMemory { node, total: 800, free: free[node as usize], reserve: 0 }).collect();
            let nodes = widened(&machine, home, &now.parse().unwrap(), &memory);
            assert_eq!(nodes.to_string(), expected, "home {home}, {free:?} free");
        };
        check([500, 500, 500, 500], 2, "", "2");
        check([500, 500, 90, 500], 2, "2", "2-3");
        check([500, 500, 90, 90], 2, "2", "0,2-3");
        check([0, 0, 0, 0], 2, "2", "0-3");
        check([500, 500, 700, 500], 2, "2-3", "2-3");
        check([500, 500, 500, 500], 0, "2-3", "0");
    }
}
