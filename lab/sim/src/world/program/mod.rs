//! The behaviour of applications: functions of one application and of its host.
//!
//! Each file uses only the ones above it: `team` (threads come and go), `place` (their processors),
//! `measure` (timed iterations), `tasks`, `region`, `fork` (a team is brought together), `curve`,
//! `phases` (from one phase to the next), `actions` (of the engine).

mod actions;
mod curve;
mod fork;
mod measure;
mod phases;
mod place;
mod region;
mod tasks;
mod team;

pub use actions::carry_out;
pub use curve::{part_ended, rate_again};
pub use phases::{answered, meeting, resume, segment_ended};
pub use tasks::slide_if_waiting;
