//! Explains what an engine has decided, from what it heard: a journal, a recording, or the latest
//! events that a manager remembers.
//!
//! A [`Chronicle`] hears events and actions one after the other, as the engine did. For each action
//! it keeps an [`Effect`]: what the application had before and after, the [`Rule`] that led to the
//! action, and the earlier decision that made it necessary. A [`Link`] says one of them in words;
//! a chain of links goes from the event outside to the action.
//!
//! The engine itself is not asked, so a recording of another version can be explained too. The rule
//! of an action follows from the event, the parts of the policy in force, and the difference.
//! [`alternatives`](crate::Engine::alternatives) asks a copy of the engine what would change it.

mod alternatives;
mod chronicle;
mod effect;
mod judge;
mod lives;
mod origins;
mod reason;
mod rule;
mod words;

pub use alternatives::{Alternative, Change};
pub use chronicle::{Chronicle, Decision, Heard, Pass};
pub use effect::{Effect, Holding};
pub use lives::Life;
pub use reason::listed;
pub use rule::{Named, Passed, Rule};
pub use words::Link;
