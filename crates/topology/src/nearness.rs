//! Measures how near two PUs are in the tree: the order in which policies look for the next
//! processor.

use crate::id::PuId;
use crate::machine::Machine;
use std::fmt;

/// A level of the tree; smaller = nearer together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// A single PU.
    Pu,
    /// PUs of one core.
    Core,
    /// PUs below one last-level cache.
    Llc,
    /// PUs of one NUMA node.
    NumaNode,
    /// PUs of one package.
    Package,
    /// All PUs.
    Machine,
}

impl Level {
    /// From the smallest to the largest.
    pub const ALL: [Self; 6] = [Self::Pu, Self::Core, Self::Llc, Self::NumaNode, Self::Package, Self::Machine];
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Pu => "pu",
            Self::Core => "core",
            Self::Llc => "llc",
            Self::NumaNode => "numa",
            Self::Package => "package",
            Self::Machine => "machine",
        })
    }
}

/// Nearness of two PUs, smallest first: the level they share, then the distance of their nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Distance {
    /// The smallest level that holds both.
    pub level: Level,
    /// Distance between their NUMA nodes, from the first to the second.
    pub node_distance: u32,
}

impl Machine {
    /// The smallest level that holds both; [`Level::Pu`] for `p == q`.
    ///
    /// # Panics
    /// If one is not of this machine.
    pub fn level(&self, p: PuId, q: PuId) -> Level {
        let (a, b) = (self.pu(p), self.pu(q));
        if p == q {
            Level::Pu
        } else if a.core == b.core {
            Level::Core
        } else if a.llc == b.llc {
            Level::Llc
        } else if a.node == b.node {
            Level::NumaNode
        } else if a.package == b.package {
            Level::Package
        } else {
            Level::Machine
        }
    }

    /// Nearness of two PUs for sorting candidates. Not symmetric where the firmware's node
    /// distances are not.
    ///
    /// # Panics
    /// If one is not of this machine.
    pub fn distance(&self, p: PuId, q: PuId) -> Distance {
        Distance { level: self.level(p, q), node_distance: self.node_distance(self.pu(p).node, self.pu(q).node) }
    }
}
