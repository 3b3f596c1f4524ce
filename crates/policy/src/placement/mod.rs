//! Which processors each application gets. One answer a file; knows nothing of how many.

mod affinity;
mod base_priority;
mod best_fit;
mod by_bus;
mod empty_pool;
mod first_fit;
mod fixed;
mod grants;
mod home;
mod limited;
mod localized;
mod lowest;
mod pool_config;
#[cfg(test)]
mod pool_invariants;
mod pooled;
mod pools;
pub mod repartition;
mod surplus;
mod worst_fit;
mod worst_fit_jobs;

pub use affinity::Affinity;
pub use base_priority::BasePriority;
pub use best_fit::{BestFit, BestFitRule};
pub use empty_pool::{EmptyPool, EmptyPoolRule};
pub use first_fit::{FirstFit, FirstFitRule};
pub use fixed::Fixed;
pub use home::Home;
pub use limited::Limited;
pub use localized::Localized;
pub use lowest::Lowest;
pub use pool_config::{InPool, Overflow, PoolConfig};
pub use pooled::{Pooled, Rule};
pub use pools::{PoolLevel, Pools};
pub use repartition::Repartition;
pub use surplus::Surplus;
pub use worst_fit::{WorstFit, WorstFitRule};
pub use worst_fit_jobs::{WorstFitJobs, WorstFitJobsRule};
