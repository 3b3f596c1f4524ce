//! What applications do: functions of one application and of what is around it.
//!
//! Each file uses those above it only: `team` (threads come and go), `place` (where they are), `measure` (what they time), `tasks`,
//! `region`, `fork` (a team is brought together), `curve`, `phases` (from one phase to the next), `actions` (what the engine wants).

mod actions;
mod curve;
mod fork;
mod measure;
mod phases;
mod place;
mod region;
mod tasks;
mod team;

pub use actions::{addressee, carry_out};
pub use curve::{part_ended, rate_again};
pub use phases::{answered, meeting, resume, segment_ended};
pub use tasks::slide_if_waiting;
