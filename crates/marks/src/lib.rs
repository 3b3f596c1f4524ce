//! Marks of situations that random tests have to reach.
//!
//! A random test that never comes to a situation says nothing about it, and passes. So each run
//! notes the situations that it comes to, in a list that is written down before: [`Marks`] over an
//! enum that [`marks!`] makes. A run of the usual size that has not reached one of its list fails,
//! and names it. The idea is that of the coverage marks of `FoundationDB`'s simulation and of
//! Antithesis.
//!
//! [`Watch`] sees a run between an engine and its programs: events and actions, no state of the
//! engine. Chaos runs and the engine's property test use it.

mod list;
mod program;
mod step;
mod watch;

pub use list::{Mark, Marks};
pub use step::Step;
pub use watch::Watch;
