//! What a shell owes the engine. The engine decides; a *shell* tells it what happens and does what it says. There are two: the
//! manager (`crates/daemon`) on a real machine and the simulator's world (`crates/sim`). They agree because what they
//! owe stands here once, as pure code:
//!
//! * [`Feed`]: in which order and at which time events reach the engine. What was measured in a turn belongs to that turn.
//! * [`PhaseWatch`] and [`PhaseTold`]: when a program counts as sequential, blocked and parallel, and what the engine is told then.
//! * [`Duties`]: everything that can be checked from outside. It reads the events and actions of any shell, live or from a
//!   journal, and names each broken duty.
//!
//! | duty | rule | where it stands |
//! |---|---|---|
//! | order | events reach the engine in the order in which the shell learned of them, after what was measured in a turn that is over | [`Feed::next`] |
//! | time of a measurement | before the end of its turn | [`Feed::next`] |
//! | sequential, blocked, parallel | [`PhaseWatch`] for programs that are watched; programs that say it are believed | `phase` |
//! | a phase is told once | [`PhaseTold::change`] | [`PhaseTold`], checked by [`Duties`] |
//! | adopted | no thread of the program is outside of the target's processors; epochs never go back, and none is adopted before it was told | checked by [`Duties`] |
//! | force | every thread is on the target's processors; `Adopted` follows | checked by [`Duties`] |
//! | numbers | applications arrive once, in the order of their numbers, and nothing is said of those that are gone | checked by [`Duties`] |
//! | idle | a program says only of processors that it has, or was told to leave, that they are idle | checked by [`Duties`] |

mod duties;
mod feed;
mod phase;

pub use duties::{Breach, Duties};
pub use feed::{Feed, Next};
pub use phase::{Look, Phase, PhaseTold, PhaseWatch, SAID_MIN_NS};
