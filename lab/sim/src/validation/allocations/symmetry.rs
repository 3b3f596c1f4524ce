//! Whether the nodes of two machines can be mapped onto each other so that everything known of them
//! is the same.
//!
//! The mapping is found by trying: node by node, each onto a node of the same size with the same
//! numbers, as far as the distances to the nodes mapped before allow it. Most nodes have numbers of
//! their own, so few mappings are tried.

use numaestro_topology::{Machine, NumaNodeId};

/// The nodes of a machine, each with its numbers.
#[derive(Debug, Clone)]
pub struct Nodes<'m> {
    machine: &'m Machine,
    /// By node: whatever must be the same on the node that it is mapped onto.
    numbers: Vec<Vec<usize>>,
}

impl<'m> Nodes<'m> {
    /// The nodes of a machine; `numbers` gives those of a node.
    pub fn new(machine: &'m Machine, numbers: impl Fn(NumaNodeId) -> Vec<usize>) -> Self {
        let count = machine.numa_nodes().len() as u32;
        Self { machine, numbers: (0..count).map(|node| numbers(NumaNodeId(node))).collect() }
    }

    /// Whether some mapping of the nodes keeps sizes, distances and numbers.
    pub fn are_alike(&self, other: &Self) -> bool {
        self.numbers.len() == other.numbers.len() && self.maps(other, &mut Vec::new())
    }

    /// Whether a mapping of the first nodes can be continued.
    fn maps(&self, other: &Self, mapped: &mut Vec<NumaNodeId>) -> bool {
        if mapped.len() == self.numbers.len() {
            return true;
        }
        let node = NumaNodeId(mapped.len() as u32);
        for to in (0..other.numbers.len() as u32).map(NumaNodeId) {
            if mapped.contains(&to) || !self.fits(other, node, to, mapped) {
                continue;
            }
            mapped.push(to);
            if self.maps(other, mapped) {
                return true;
            }
            mapped.pop();
        }
        false
    }

    fn fits(&self, other: &Self, node: NumaNodeId, to: NumaNodeId, mapped: &[NumaNodeId]) -> bool {
        let size = |machine: &Machine, node: NumaNodeId| machine.numa_nodes()[node.index()].pus.len();
        let distances = |machine: &Machine, a, b| (machine.node_distance(a, b), machine.node_distance(b, a));
        let mut before = (0..).map(NumaNodeId).zip(mapped);
        self.numbers[node.index()] == other.numbers[to.index()]
            && size(self.machine, node) == size(other.machine, to)
            && before.all(|(a, b)| distances(self.machine, a, node) == distances(other.machine, *b, to))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use numaestro_topology::synthetic;

    /// Two pairs of near nodes, of which only the first can be exchanged.
    fn four() -> Machine {
        let distances = vec![10, 12, 20, 28, 12, 10, 20, 28, 20, 20, 10, 16, 28, 28, 16, 10];
        let machine = synthetic::parse("numa:4 core:2 pu:1").expect("a machine");
        machine.with_node_distances(distances).expect("distances")
    }

    fn alike(machine: &Machine, one: [usize; 4], other: [usize; 4]) -> bool {
        let nodes = |numbers: [usize; 4]| Nodes::new(machine, move |node| vec![numbers[node.index()]]);
        nodes(one).are_alike(&nodes(other))
    }

    #[test]
    fn only_symmetries_of_the_machine_are_allowed() {
        let machine = four();
        assert!(alike(&machine, [2, 0, 1, 0], [0, 2, 1, 0]), "nodes 0 and 1 are alike");
        assert!(!alike(&machine, [2, 0, 1, 0], [2, 0, 0, 1]), "nodes 2 and 3 are not");
        assert!(!alike(&machine, [2, 0, 0, 0], [0, 0, 2, 0]));
        let regular = synthetic::parse("numa:4 core:2 pu:1").expect("a machine");
        assert!(alike(&regular, [2, 0, 1, 0], [0, 1, 0, 2]));
        assert!(!alike(&regular, [2, 0, 1, 0], [1, 1, 0, 1]));
    }

    #[test]
    fn nodes_of_other_sizes_or_numbers_are_not_alike() {
        let nothing = |_| Vec::new();
        let of = |text: &str| synthetic::parse(text).expect("a machine");
        let (two, three, wide) = (of("numa:2 core:2 pu:1"), of("numa:3 core:2 pu:1"), of("numa:2 core:3 pu:1"));
        assert!(!Nodes::new(&two, nothing).are_alike(&Nodes::new(&three, nothing)));
        assert!(!Nodes::new(&two, nothing).are_alike(&Nodes::new(&wide, nothing)));
    }
}
