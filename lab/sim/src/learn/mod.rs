//! Makes programs of the simulator from measured runs of real ones.
//!
//! A run is seen as stretches of time in which the program was serial, parallel or paused, on a
//! known number of processors ([`Measured`]). On n processors it does S(n) nanoseconds of work in a
//! nanosecond. The work and the speedups S follow from the lengths of all runs ([`fit()`]), and the
//! order of the stretches from the run with most processors. Samples of processor time
//! ([`samples`]) and journals ([`journal`]) are two sources of such runs.

pub mod coarse;
mod courses;
mod equations;
mod fit;
pub mod journal;
mod measured;
pub mod mix;
mod program;
mod recorded;
pub mod samples;
mod text;

pub use fit::{Unfit, fit};
pub use measured::{Activity, Measured, Report, Span};
pub use program::{Analysis, LearnedProgram, Stretch};
pub use recorded::Recorded;
