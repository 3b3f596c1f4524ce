//! The machine: packages, NUMA nodes, last-level caches, cores and processing units, and the
//! distances between them.
//!
//! Pure: it reads texts that its callers bring ([`Tree`] for sysfs, strings for synthetic
//! descriptions and XML), and uses no files, clock, environment or processes. The words are hwloc's
//! (Broquedis et al. 2010).
//!
//! Two numberings never mix: [`CpuSet`] holds the numbers Linux uses, [`PuSet`] and [`PuId`] the
//! logical ones, which are in hardware order, so that neighbours in number are neighbours in the
//! machine.

mod assembly;
mod bitmap;
mod drawing;
mod error;
mod group_tree;
mod groups;
mod id;
pub mod list;
mod machine;
mod nearness;
mod set;
pub mod synthetic;
pub mod sysfs;
mod tree;
pub mod xml;

pub use error::TopologyError;
pub use group_tree::GroupTree;
pub use groups::{Formation, FormationError, Groups};
pub use id::{NumaNodeId, PuId};
pub use machine::{Core, CoreKind, Llc, Machine, NUMA_NODES_MAX, NumaNode, PUS_MAX, Package, Pu};
pub use nearness::{Distance, Level};
pub use set::{CpuSet, CpuSetIter, PuSet, PuSetIter};
pub use tree::{MemTree, RecordError, Tree};
