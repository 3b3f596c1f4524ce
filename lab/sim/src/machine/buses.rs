//! The machine's buses as policies of bandwidth see them: the processors that share one way to
//! memory, and its capacity.

use super::model::{Channel, Model, Over};
use numaestro_engine::Bus;
use numaestro_topology::{NumaNodeId, PuSet};

impl Model {
    /// The channels of this machine that every processor has exactly one of: its buses if there are
    /// such channels, else the memory controllers of nodes with processors. None if neither covers
    /// every processor.
    pub fn buses(&self) -> Vec<Bus> {
        let bus = |channel: &Channel| match &channel.over {
            Over::Bus(pus) => Some((pus.clone(), channel.per_ms)),
            _ => None,
        };
        let controller = |channel: &Channel| match &channel.over {
            Over::Controller(node) => Some((self.pus_of(*node), channel.per_ms)),
            _ => None,
        };
        let mut buses = self.covering(bus);
        if buses.is_empty() {
            buses = self.covering(controller);
        }
        buses
    }

    fn pus_of(&self, node: NumaNodeId) -> PuSet {
        self.topology.numa_nodes()[node.index()].pus.clone()
    }

    /// The first channels in the order of the file that cover every processor once; channels that
    /// overlap earlier ones are left out.
    fn covering(&self, of: impl Fn(&Channel) -> Option<(PuSet, u64)>) -> Vec<Bus> {
        let mut covered = PuSet::new();
        let mut buses = Vec::new();
        for (pus, per_ms) in self.channels.iter().filter_map(of) {
            if !pus.is_empty() && !pus.intersects(&covered) {
                covered.or_with(&pus);
                buses.push(Bus { pus, saturation: u32::try_from(per_ms).unwrap_or(u32::MAX) });
            }
        }
        if covered == self.topology.all() { buses } else { Vec::new() }
    }
}

#[cfg(test)]
mod tests {
    use crate::machine::named;

    #[test]
    fn one_front_side_bus() {
        let buses = named("xeon-4", 0).unwrap().buses();
        assert_eq!(buses.len(), 1);
        assert_eq!((buses[0].pus.len(), buses[0].saturation), (4, 29_400));
    }

    #[test]
    fn a_controller_for_each_node() {
        let buses = named("origin2000-64", 0).unwrap().buses();
        assert_eq!(buses.len(), 32);
        assert!(buses.iter().all(|bus| bus.pus.len() == 2 && bus.saturation == 6094));
    }

    #[test]
    fn none_where_nothing_is_limited() {
        assert!(named("k64", 0).unwrap().buses().is_empty());
    }
}
