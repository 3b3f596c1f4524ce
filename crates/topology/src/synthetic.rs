//! Reads and writes hwloc's synthetic descriptions (`pack:2 numa:2 l3:4 core:8 pu:2`) of other
//! machines than this one.
//!
//! Grammar: levels from the largest to the PUs, each `type:count` and `(attributes)` after it if
//! wanted. A NUMA node is a level (`numa:2`) or attached to the level before it
//! (`pack:2 [numa(memory=64GiB)] core:8 pu:1`). Attributes are `memory=` (nodes), `size=` (caches)
//! and `indexes=` (nodes, PUs: OS indices in order, separated by commas, or hwloc's loops). Words
//! are read in either case: `pack` `package` `socket`, `numa` `node` `numanode`, `l1`…`l5` (with
//! `d`, `i` or `u`), `core`, `pu`, and `group`, `die`, `cluster`, `tile`, `book`, `drawer`,
//! `module`, which only multiply. As in hwloc a machine without a node gets one, and a node without
//! `memory=` has 1 GiB, or nothing if it is attached.

mod expansion;
mod export;
mod syntax;

use crate::error::TopologyError;
use crate::machine::Machine;

/// Reads a synthetic description.
///
/// ```
/// let machine = numaestro_topology::synthetic::parse("pack:2 numa:2 l3:4 core:8 pu:2").unwrap();
/// assert_eq!(machine.pu_count(), 256);
/// assert_eq!(machine.llcs().len(), 16);
/// assert_eq!(machine.to_synthetic().unwrap(), "pack:2 numa:2 l3:4 core:8 pu:2");
/// ```
///
/// # Errors
/// [`TopologyError::Synthetic`] with the column and the text expected there;
/// [`TopologyError::TooLarge`] beyond [`crate::PUS_MAX`] PUs.
pub fn parse(text: &str) -> Result<Machine, TopologyError> {
    expansion::raw(&syntax::read(text)?)?.assemble("synthetic description")
}
