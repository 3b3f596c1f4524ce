//! What a shell owes the engine. The engine decides; a *shell* tells it what happens, and does what
//! it says. There are two: the manager (`crates/daemon`) on a real machine, and the simulator's
//! world (`crates/sim`). Both use this pure code, so they agree:
//!
//! * [`Feed`]: the order and the time in which events reach the engine.
//! * [`PhaseWatch`] and [`PhaseTold`]: when a program counts as sequential, blocked and parallel,
//!   and when the engine is told.
//! * [`Duties`]: a check. It reads the events and actions of any shell, live or from a journal, and
//!   names each broken duty.
//!
//! | duty | rule | where |
//! |---|---|---|
//! | order | rates of a turn come before the event that ends it; else events keep their order | [`Feed`] |
//! | time of a rate | before the end of its turn | [`Feed`] |
//! | phase | a program that says its phases is believed; others are watched | `phase` |
//! | news | the engine is told a phase once | [`PhaseTold`], [`Duties`] |
//! | adopted | epochs never go back, and none is adopted before it was told | [`Duties`] |
//! | force | `Adopted` follows | [`Duties`] |
//! | numbers | applications arrive in the order of their numbers, and events name those that are there | [`Duties`] |
//! | idle | only processors of targets since the adopted one are said to be idle | [`Duties`] |
//!
//! [`Duties`] cannot see where a program's threads really are. The chaos tests of `crates/sim` and
//! the torture programs look at that.

mod duties;
mod feed;
mod phase;

pub use duties::{Breach, Duties};
pub use feed::{Feed, Next};
pub use phase::{Look, Phase, PhaseTold, PhaseWatch, SAID_MIN_NS};
