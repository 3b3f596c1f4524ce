//! Which processors each application gets. One answer a file; knows nothing of how many.

mod affinity;
mod best_fit;
mod first_fit;
mod lowest;
mod pools;
mod surplus;
mod worst_fit;
mod worst_fit_jobs;

pub use affinity::Affinity;
pub use best_fit::{BestFit, BestFitRule};
pub use first_fit::{FirstFit, FirstFitRule};
pub use lowest::Lowest;
pub use pools::{Pooled, Pools, Rule};
pub use surplus::Surplus;
pub use worst_fit::{WorstFit, WorstFitRule};
pub use worst_fit_jobs::{WorstFitJobs, WorstFitJobsRule};
