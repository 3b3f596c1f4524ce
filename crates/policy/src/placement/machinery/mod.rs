//! What several placements are built from: pools, the base priority, and which processors an application loses. Knows none of them.

pub mod acquaintance;
pub mod by_bus;
pub mod grants;
pub mod pool_config;
#[cfg(test)]
mod pool_invariants;
pub mod pooled;
pub mod pools;
pub mod surplus;
