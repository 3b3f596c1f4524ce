//! What a program does: one description language for every program of the five papers. Knows
//! nothing of machines and policies.
//!
//! A program is a list of phases over some data. Serial phases are done by its first thread (the
//! master); parallel phases by a team; `Tasks` by whatever processors it has, first come first
//! served. Work is compute time at full speed; memory references come on top and cost what the
//! machine says, from where the thread is to where the data is.

pub mod amount;
mod analyzer;
mod at_rates;
mod description;
pub(crate) mod phases;
mod read;

pub use analyzer::Analyzer;
pub(crate) use description::PROCESSORS_MAX;
pub use description::{Asks, Body, Data, DataId, PagePlace, Part, Phase, Program, Refs, Split, Vacates, Wait, Work};
pub use numaestro_engine::Class;
pub(crate) use read::all;
pub use read::read;
