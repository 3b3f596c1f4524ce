//! Which processors each application gets. One answer a file; knows nothing of how many.

mod affinity;
mod base_priority;
mod best_fit;
mod empty_pool;
mod first_fit;
mod fixed;
mod home;
mod limited;
mod localized;
mod lowest;
mod machinery;
pub mod repartition;
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
pub use machinery::pool_config::{InPool, Overflow, PoolConfig};
pub use machinery::pooled::{Pooled, Rule};
pub use machinery::pools::{PoolLevel, Pools};
pub use machinery::surplus::Surplus;
pub use repartition::Repartition;
pub use worst_fit::{WorstFit, WorstFitRule};
pub use worst_fit_jobs::{WorstFitJobs, WorstFitJobsRule};
