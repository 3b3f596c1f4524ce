//! Moves pages after their application to another node.

use super::pages::{AppMemory, Pages, Spread};
use crate::machine::Model;
use crate::program::PagePlace;
use numaestro_topology::NumaNodeId;

/// The pages that could be moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Away {
    /// All bytes of the application.
    pub bytes: u64,
    /// Bytes elsewhere that its policy may move: a program's own wish for a place is respected.
    pub moves: u64,
    /// Sum over `moves` of bytes × distance beyond local.
    pub excess: u64,
}

impl Spread {
    /// Moves at most `most` pages from one node to another; returns their number.
    fn shift(&mut self, from: usize, to: usize, most: u64) -> u64 {
        let Some(at) = self.by_node.iter().position(|&(node, _)| usize::from(node) == from) else { return 0 };
        let moved = most.min(self.by_node[at].1);
        if moved > 0 {
            self.by_node[at].1 -= moved;
            if self.by_node[at].1 == 0 {
                self.by_node.remove(at);
            }
            self.total -= moved;
            self.add(to, moved);
        }
        moved
    }
}

impl Pages {
    /// See [`super::Memory::bytes_of`].
    pub fn add_bytes(&self, app: AppMemory, page_bytes: u64, by_node: &mut [u64]) {
        for &(node, pages) in self.of(app).0.iter().flat_map(|placed| &placed.all.by_node) {
            by_node[usize::from(node)] += pages * page_bytes;
        }
    }

    /// See [`super::Memory::away`].
    pub fn away(&self, model: &Model, app: AppMemory, home: NumaNodeId) -> Away {
        let mut away = Away::default();
        let local = model.topology.node_distance(home, home);
        for placed in &self.of(app).0 {
            for &(node, pages) in &placed.all.by_node {
                let bytes = pages * u64::from(model.page_bytes);
                away.bytes += bytes;
                if placed.place == PagePlace::Policy && u32::from(node) != home.0 {
                    let distance = model.topology.node_distance(home, NumaNodeId(u32::from(node)));
                    away.moves += bytes;
                    away.excess += bytes * u64::from(distance.saturating_sub(local));
                }
            }
        }
        away
    }

    /// See [`super::Memory::move_pages`].
    pub fn move_to(&mut self, app: AppMemory, home: NumaNodeId, most: u64) -> u64 {
        let to = home.index();
        let room = self.nodes.capacity.saturating_sub(self.nodes.used[to]);
        let mut left = most.min(room);
        let begun = left;
        let Some(pages) = self.apps[app.0 as usize].as_mut() else { return 0 };
        for placed in pages.0.iter_mut().filter(|placed| placed.place == PagePlace::Policy) {
            for part in placed.parts.iter_mut().flatten() {
                while left > 0
                    && let Some(&(from, _)) = part.by_node.iter().find(|&&(node, _)| usize::from(node) != to)
                {
                    let from = usize::from(from);
                    let moved = part.shift(from, to, left);
                    placed.all.shift(from, to, moved);
                    self.nodes.used[from] -= moved;
                    self.nodes.used[to] += moved;
                    left -= moved;
                }
            }
        }
        begun - left
    }
}
