//! The behaviour of programs: one description language for every program of the five papers.
//!
//! A program is a list of phases over some data. Its first thread (the master) does serial phases,
//! a team does parallel phases, and any of its processors do `Tasks`, first come first served. Work
//! is compute time at full speed; memory references come on top and cost the time that the machine
//! gives, from the thread's processor to the data's node.

pub mod amount;
mod analyzer;
mod at_rates;
mod description;
pub(crate) mod phases;
mod read;

pub use analyzer::Analyzer;
pub(crate) use description::PROCESSORS_MAX;
pub use description::{
    Asks, Body, Data, DataId, Limits, PagePlace, Part, Phase, PhaseSource, Program, Refs, Split, Stretch, Vacates,
    Wait, Work,
};
pub use numaestro_engine::Class;
pub(crate) use read::all;
pub use read::read;
