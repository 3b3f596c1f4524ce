//! Statistics of runs: intervals and paired differences.
//!
//! Replications are the rule: one number for each seed, a Student t interval over them
//! ([`interval`]). Policies are compared by the interval of the paired *difference* (or log ratio)
//! on the same seeds, never by the overlap of two intervals ([`paired`]), and several comparisons
//! at once are corrected ([`holm`]).
//!
//! Sources: Law and Kelton, "Simulation Modeling and Analysis" (intervals, sequential stopping);
//! Holm 1979.

pub mod holm;
pub mod interval;
pub mod moments;
pub mod paired;
pub mod stopping;

pub use interval::{Interval, LEVEL};
pub use moments::Moments;
