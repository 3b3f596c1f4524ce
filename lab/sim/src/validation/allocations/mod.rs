//! Compares the processors that applications have under a live manager with the ones that they have
//! in the simulator: how many, and which. No time counts.
//!
//! In a [`StagedRun`] every arrival and departure waited until everything was at rest, so its order
//! is known and its times say nothing. [`Stages`] reads a journal of either shell: the holdings of
//! all applications at rest after each arrival and departure. [`simulate`] makes the stages of the
//! same steps in the simulator. It takes only the machine and the seed from the live run, so
//! neither run knows the other one's decisions. [`Comparison`] judges each step.
//!
//! Where a policy has a free choice, the choices of both may differ by a symmetry of the machine
//! ([`Nodes::are_alike`]): by the numbers of processors inside a node, and by nodes that have the
//! same size and distances. The policy chooses anew at each step, so each step may have another
//! symmetry. But one symmetry must explain a whole step: the holdings before it, the holdings after
//! it, and the processors that are in both.

mod comparison;
mod simulated;
mod staged;
mod stages;
mod symmetry;

pub use comparison::{Aspect, Comparison, Judgement, Tally};
pub use simulated::simulate;
pub use staged::{StagedRun, Step};
pub use stages::{Change, Holding, Stage, Stages};
pub use symmetry::Nodes;
