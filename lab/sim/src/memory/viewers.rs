//! Memory as each processor sees it: for each processor and node the class of its references and
//! the channels they use.

use crate::machine::{Model, Over};
use numaestro_topology::{NumaNodeId, PuId};

/// The way from some processors to a node's memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Route {
    class: u8,
    /// Index into `Viewers::channels`.
    from: u32,
    to: u32,
}

/// All ways. Processors with equal ways are kept once.
#[derive(Debug)]
pub struct Viewers {
    nodes: usize,
    of: Vec<u32>,
    /// `nodes` routes for each viewer.
    routes: Vec<Route>,
    channels: Vec<u16>,
}

impl Viewers {
    /// The ways of a machine.
    pub fn new(model: &Model) -> Self {
        let nodes = model.topology.numa_nodes().len();
        let mut viewers = Self { nodes, of: Vec::new(), routes: Vec::new(), channels: Vec::new() };
        for pu in model.topology.pus() {
            let row: Vec<(u8, Vec<u16>)> = (0..nodes as u32)
                .map(|node| (model.class(pu.id, NumaNodeId(node)) as u8, channels(model, pu.id, NumaNodeId(node))))
                .collect();
            // Processors with equal ways are nearly always neighbours.
            let last = viewers.of.last().copied().filter(|&viewer| viewers.sees(viewer, &row));
            let viewer = last.unwrap_or_else(|| viewers.add(row));
            viewers.of.push(viewer);
        }
        viewers
    }

    fn sees(&self, viewer: u32, row: &[(u8, Vec<u16>)]) -> bool {
        let routes = &self.routes[viewer as usize * self.nodes..][..self.nodes];
        let same = |(route, seen): (&Route, &(u8, Vec<u16>))| {
            route.class == seen.0 && self.channels[route.from as usize..route.to as usize] == seen.1
        };
        routes.iter().zip(row).all(same)
    }

    fn add(&mut self, row: Vec<(u8, Vec<u16>)>) -> u32 {
        for (class, channels) in row {
            let from = self.channels.len() as u32;
            self.channels.extend(channels);
            self.routes.push(Route { class, from, to: self.channels.len() as u32 });
        }
        (self.routes.len() / self.nodes) as u32 - 1
    }

    /// The class of `node`'s memory as seen from `pu`, and the channels on the way.
    pub fn route(&self, pu: PuId, node: usize) -> (usize, &[u16]) {
        let route = self.routes[self.of[pu.index()] as usize * self.nodes + node];
        (usize::from(route.class), &self.channels[route.from as usize..route.to as usize])
    }
}

/// The channels that a reference from a processor to a node's memory uses.
pub fn channels(model: &Model, pu: PuId, node: NumaNodeId) -> Vec<u16> {
    let home = model.node_of(pu);
    let is_on_the_way = |over: &Over| match over {
        Over::Bus(pus) => pus.contains(pu),
        Over::Controller(at) => *at == node,
        Over::Link(at) => *at == home && node != home,
        Over::Between(groups) => {
            let of_memory =
                groups.iter().position(|group| group.intersects(&model.topology.numa_nodes()[node.index()].pus));
            groups.iter().position(|group| group.contains(pu)) != of_memory
        }
    };
    let used = model.channels.iter().enumerate().filter(|(_, channel)| is_on_the_way(&channel.over));
    used.map(|(index, _)| index as u16).collect()
}
