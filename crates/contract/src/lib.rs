//! The contract between a shell and the engine. The engine decides; a *shell* tells it what
//! happens, and does what it says. There are two: the manager (`crates/daemon`) on a real machine,
//! and the simulator's world (`lab/sim`). Both use this pure code, so they agree:
//!
//! * [`Course`] turns each [`Observation`] of a shell into the events that the engine hears: in
//!   which order and with which time (`feed`), when a program counts as sequential, blocked and
//!   parallel (`watch`), and which target it has adopted.
//! * [`Looks`] decides when a shell looks at programs that do not say their phases, and at which.
//! * [`Duties`]: a check. It reads the events and actions of any shell, live or from a journal, and
//!   names each broken duty.
//! * [`play`] gives a shell the observations of another one, and compares events and actions, byte
//!   for byte. [`stories`] are such records, for the tests of both shells.
//!
//! | duty | rule | where |
//! |---|---|---|
//! | order | rates of a turn come before the event that ends it; else events keep their order | `feed` |
//! | time of a rate | before the end of its turn | `feed` |
//! | phase | a program that says its phases is believed; others are watched | `watch` |
//! | back | a lender of which several threads were ready at two looks lends no more | `watch`, [`Duties`] |
//! | lender | the engine hears when it is to count on a watched program no more | [`Course`] |
//! | news | the engine is told a phase once | [`Course`], [`Duties`] |
//! | adopted | epochs never go back, and none is adopted before it was told | [`Course`], [`Duties`] |
//! | force | `Adopted` follows | [`Duties`] |
//! | numbers | applications arrive in the order of their numbers, and events name those that are there | [`Duties`] |
//! | idle | only processors of targets since the adopted one are said to be idle | [`Duties`] |
//!
//! [`Duties`] cannot see where a program's threads really are. The chaos tests of `lab/sim` and
//! the torture programs look at that.

mod course;
mod duties;
mod feed;
mod look;
mod looks;
mod observation;
mod phase;
mod player;
pub mod stories;
mod table;
mod watch;

pub use course::{Course, measures_until};
pub use duties::{Breach, Duties};
pub use feed::Next;
pub use look::{Look, READY_MOST};
pub use looks::{Holding, Lacking, Looks, Subject};
pub use observation::Observation;
pub use phase::{Phase, SAID_MIN_NS};
pub use player::{Alone, Difference, Outcome, Shell, play};
