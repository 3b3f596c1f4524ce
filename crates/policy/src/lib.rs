//! The scheduling policies decide how many processors an application gets, which ones, when it
//! runs, where its pages go, and when it may start.
//!
//! A policy is a pure function of a read-only [`View`] and its own state; random choices come from
//! a stream it owns ([`Random`]). It reads no clock and no file; the engine carries its decisions
//! out.
//!
//! Every answer is one small file named in the field's words, in the module of its part: [`share`],
//! [`placement`], [`turns`], [`pages`], [`admission`]. It makes itself known by one constant,
//! `ANSWER`, which the module lists. Code that several answers of a part share is in its
//! `machinery`. [`Policy`] puts one answer of each part together.

pub mod admission;
mod answer;
mod catalogue;
#[cfg(test)]
mod conformance;
mod page_home;
pub mod pages;
mod parameters;
mod part;
pub mod placement;
mod plan;
mod policy;
mod presets;
mod random;
mod rejected;
pub mod share;
mod shares;
mod text;
mod turn;
pub mod turns;
mod view;

pub use catalogue::{Entry, catalogue};
pub use page_home::PageHome;
pub use part::{Admission, Info, Needs, Offer, Pages, Part, Placement, Queue, Share, Turns, Waiting};
pub use plan::Plan;
pub use policy::Policy;
pub use random::{Random, Tie};
pub use rejected::Rejected;
pub use shares::Shares;
pub use turn::Turn;
pub use view::{
    App, AppId, Bus, Class, Former, Party, Processor, PuState, Search, Slot, Speedup, Thread, View, own_of_job,
};
