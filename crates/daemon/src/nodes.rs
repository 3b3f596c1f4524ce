//! Memory that programs are bound to (`memory.strict`): those in a cgroup of ours with a home may have memory of their home only, until that is nearly full; then
//! of the next nearest node too, because a program whose memory is used up is killed. Looked at only while there are such programs. It must not know who
//! gives homes, nor how pages are moved (the kernel moves those that lie elsewhere when the nodes change).

use numaestro_host::monotonic_ns;
use numaestro_host::numa::{NodeMemory, node_memory};
use numaestro_topology::{CpuSet, Machine};
use tracing::{info, warn};

use crate::manager::Manager;
use crate::timers::Due;

/// How often is looked.
const LOOK_NS: u64 = 250_000_000;
/// A node with less than this part of it free is nearly full: room for what a program can take until the next look.
const MARGIN_DIVISOR: u64 = 8;

/// Nodes for a program at home on `home` that may use `now`: its home, and as many of the next nearest as are needed until one of them has room. They stay
/// while the home does.
fn widened(machine: &Machine, home: u32, now: &CpuSet, memory: &[NodeMemory]) -> CpuSet {
    let mut nodes = if now.contains(home) { now.clone() } else { [home].into_iter().collect() };
    let has_room = |node: u32| memory.iter().any(|of| of.node == node && of.free > of.total / MARGIN_DIVISOR);
    let Some(from) = crate::pages::node_of_os(machine, home) else { return CpuSet::default() };
    let mut others: Vec<(u32, u32)> = memory
        .iter()
        .filter(|of| of.total > 0 && !nodes.contains(of.node))
        .filter_map(|of| Some((machine.node_distance(from, crate::pages::node_of_os(machine, of.node)?), of.node)))
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

impl Manager {
    /// Binds programs to their homes, and widens what is nearly full.
    pub(crate) fn consider_memory_nodes(&mut self) {
        if self.cpusets.subtree.is_none() {
            return;
        }
        // Where the configuration does not ask for it any more, those that are bound are let loose.
        let strict = self.config.memory.strict;
        let bound = |entry: &crate::app::App| strict && entry.cpuset.is_some() && entry.memory.home_os.is_some();
        let anybody = self.apps.values().any(bound);
        let memory = if anybody { node_memory().unwrap_or_default() } else { Vec::new() };
        for entry in self.apps.values_mut() {
            let Some(confined) = &mut entry.cpuset else { continue };
            // Without a home, or where nothing can be seen, it may have memory everywhere.
            let nodes = match entry.memory.home_os.filter(|_| strict && !memory.is_empty()) {
                Some(home) => widened(&self.machine, home, &confined.mems, &memory),
                None => CpuSet::default(),
            };
            if nodes == confined.mems {
                confined.mems_refused = None;
                continue;
            }
            match confined.group.set_mems(&nodes) {
                Ok(()) if nodes.len() > 1 => {
                    info!(app = entry.number, %nodes, "its home is nearly full; it may have memory of these nodes");
                }
                Ok(()) if nodes.is_empty() => info!(app = entry.number, "may have memory of all nodes"),
                Ok(()) => info!(app = entry.number, %nodes, "may have memory of these nodes only"),
                Err(cause) => {
                    // Tried again at every look, because the node may come back, and said once.
                    if confined.mems_refused.as_ref() != Some(&nodes) {
                        warn!(app = entry.number, %nodes, "its memory cannot be bound: {cause}");
                    }
                    confined.mems_refused = Some(nodes);
                    continue;
                }
            }
            (confined.mems, confined.mems_refused) = (nodes, None);
        }
        if anybody {
            self.timers.set(Due::Nodes, monotonic_ns() + LOOK_NS);
        } else {
            self.timers.clear(Due::Nodes);
        }
    }
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
