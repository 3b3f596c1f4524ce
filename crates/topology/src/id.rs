//! The two numbers that name a place in the machine tree.

use serde::{Deserialize, Serialize};
use std::fmt;

/// Logical index of a processing unit (hwloc: `PU L#`): 0..n in hardware order, which is package,
/// NUMA node, LLC, core, PU.
///
/// It is *not* the number Linux gives a CPU; see [`crate::Machine::os_index`] for that.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
pub struct PuId(pub u32);

/// Logical index of a NUMA node: nodes with processors in hardware order, then nodes without, by OS
/// index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
pub struct NumaNodeId(pub u32);

impl PuId {
    /// For indexing arrays that have one entry per PU.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

impl NumaNodeId {
    /// For indexing arrays that have one entry per NUMA node.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

impl From<u32> for PuId {
    fn from(index: u32) -> Self {
        Self(index)
    }
}

impl From<u32> for NumaNodeId {
    fn from(index: u32) -> Self {
        Self(index)
    }
}

impl fmt::Display for PuId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for NumaNodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
