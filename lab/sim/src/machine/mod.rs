//! A modelled machine: its topology, the cost of a memory reference from each processor to each
//! memory, its caches, channels and operating system.
//!
//! Machines are files (`lab/machines/*.toml` of the repository, embedded by name) or any synthetic
//! string or hwloc XML plus a latency table.

mod access;
mod buses;
mod catalogue;
mod channels;
mod describe;
mod file;
mod model;

pub use catalogue::{named, names};
pub use channels::CHANNELS_MAX;
pub use describe::describe;
pub use file::{read, read_with_delay};
pub use model::{Access, AccessClass, Cache, Channel, Costs, Irix, Model, Op, Over, Picos, Replacement, System};
