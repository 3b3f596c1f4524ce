//! Statistics of runs: intervals, paired differences, warm-up. Knows nothing of what the numbers mean.
//!
//! Replications are the rule: one number for each seed, a Student t interval over them ([`interval`]). Policies are compared by the
//! interval of the paired *difference* (or log ratio) on the same seeds, never by the overlap of two intervals ([`paired`]), and
//! several comparisons at once are corrected ([`holm`]). Where there is only one long run: warm-up cut off ([`warm_up`]), batch means
//! ([`batches`]), or, for one log, resampled blocks ([`bootstrap`]).
//!
//! Sources: Law and Kelton, "Simulation Modeling and Analysis" (intervals, batch means, sequential stopping); White 1997 (MSER-5);
//! Holm 1979; Künsch 1989 (block bootstrap); Little 1961.

pub mod batches;
pub mod bootstrap;
pub mod holm;
pub mod interval;
pub mod little;
pub mod moments;
pub mod paired;
pub mod stopping;
pub mod warm_up;

pub use interval::{Interval, LEVEL};
pub use moments::Moments;
