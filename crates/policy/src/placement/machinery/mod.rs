//! Code that several placements are built from: pools, the base priority, and the order in which an
//! application loses processors.

pub mod acquaintance;
pub mod by_bus;
pub mod grants;
pub mod pool_config;
#[cfg(test)]
mod pool_invariants;
pub mod pooled;
pub mod pools;
pub mod surplus;
