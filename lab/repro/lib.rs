//! The papers' claims as code: each with the paper's statement, the tolerance for our result, and
//! our result.
//!
//! One folder for each paper: its claims, the programs it ran, a README with the findings. This
//! crate runs the simulator and judges. The command (`numaestro repro`) reads files, prints and
//! draws.
//!
//! Reading order: [`claim`] (a claim), [`finding`] (the finding on it), [`lab`] (runs), then a
//! paper's `claims.rs`.

pub mod claim;
pub mod comparison;
pub mod conditions;
pub mod draws;
pub mod estimate;
pub mod figure;
pub mod finding;
pub mod inputs;
pub mod lab;
pub mod measured;
pub mod perturbation;
pub mod study;
pub mod tally;
pub mod trials;

#[path = "antonopoulos2004-bandwidth/claims.rs"]
pub mod antonopoulos2004_bandwidth;
#[path = "brecht1993-placement/claims.rs"]
pub mod brecht1993_placement;
#[path = "brecht1997-pools/claims.rs"]
pub mod brecht1997_pools;
#[path = "koita-home-cluster/claims.rs"]
pub mod koita_home_cluster;
#[path = "martorell2000-nanos/claims.rs"]
pub mod martorell2000_nanos;

mod hector;

pub use claim::{Basis, Claim, Kind, Paper, Row};
pub use comparison::{Comparison, Pair};
pub use conditions::{Conditions, Constants, Seeds};
pub use estimate::{Estimate, improvement, ratio};
pub use figure::{Figure, Shape};
pub use finding::{Finding, Judge, Status};
pub use lab::{Experiment, Lab, Outcomes, Statistics, Trouble};
pub use perturbation::Perturbation;
pub use study::{Centre, Stage, Study};
pub use tally::Tally;
pub use trials::{Answer, Trials};

/// Every paper there is.
pub const PAPERS: [&Paper; 5] = [
    &brecht1993_placement::PAPER,
    &brecht1997_pools::PAPER,
    &koita_home_cluster::PAPER,
    &martorell2000_nanos::PAPER,
    &antonopoulos2004_bandwidth::PAPER,
];

/// Every claim with its paper.
pub fn claims() -> impl Iterator<Item = (&'static Paper, &'static Claim)> {
    PAPERS.into_iter().flat_map(|paper| paper.claims.iter().map(move |claim| (paper, claim)))
}
