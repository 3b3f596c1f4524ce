//! The scheduling policies: how many processors, which ones, when, where pages go, and who may start.
//!
//! A policy is a pure function of a read-only [`View`] and its own state; random choices come from a stream it owns
//! ([`Random`]). It knows no clock, no file, no process and no latency of carrying a decision out: the engine does.
//!
//! Every answer is one small file named in the field's words, below the part it belongs to: [`share`], [`placement`],
//! [`turns`], [`pages`], [`admission`]. [`Policy`] puts one answer of each together; [`text`] reads and writes them.

pub mod admission;
mod catalogue;
#[cfg(test)]
mod conformance;
mod copy;
pub mod pages;
mod part;
pub mod placement;
mod plan;
mod policy;
mod random;
pub mod share;
mod shares;
pub mod text;
mod turn;
pub mod turns;
mod view;

pub use catalogue::{Entry, catalogue};
pub use copy::{CopyAdmission, CopyPages, CopyPlacement, CopyShare, CopyTurns};
pub use part::{Admission, Info, Needs, Offer, PageHome, Pages, Part, Placement, Queue, Share, Turns, Waiting};
pub use plan::Plan;
pub use policy::{Policy, Rejected};
pub use random::{Random, Tie};
pub use shares::Shares;
pub use turn::Turn;
pub use view::{App, AppId, Bus, Class, Former, Party, Processor, PuState, Search, Slot, Speedup, Thread, View};
