//! Chaos runs: the engine between programs and a shell of which anything may fail, then calm, in
//! which everything must come right.
//!
//! In the way of `TigerBeetle`'s VOPR and `FoundationDB`'s simulation (Zhou et al. 2021, §4): a
//! seed determines machine, policy, programs and faults ([`plan`], [`faults`]). While things go
//! wrong, safety is checked after every event: the engine's own invariants, what it has promised
//! ([`ledger`]) and where threads really are. Then all faults stop, notices that were lost are said
//! again, and within a bound that is stated the allocation must be stable, everybody must have
//! processors or a place in the queue, everybody must come to its end, and in the end every
//! processor must be free.
//!
//! The shell here does what the manager does, failures included: a program that cannot be woken is
//! forced when its grace time is over; a move that the system refuses counts as done; after the
//! manager's death programs come again with what they have. It knows no policy, and no memory or
//! barriers: those are the [`crate::world`]'s.

// Whatever happens gives a verdict, even where none can be bad.
#![allow(clippy::unnecessary_wraps)]

mod agenda;
mod calm;
mod faults;
mod ledger;
mod life;
mod options;
mod plan;
mod program;
mod shell;
mod stage;
mod steps;
mod trace;
mod upsets;
mod whereabouts;

use crate::Nanos;
pub use faults::{Fault, Faults};
pub use options::{Listener, Options, Planted};
pub use plan::Plan;
use stage::{Stage, Verdict};
use std::fmt;

/// A run in which nothing was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Summary {
    /// Machine, first policy, faults: one line.
    pub about: String,
    /// Steps.
    pub steps: u64,
    /// Events that the engine was given, and what it wanted done.
    pub events: u64,
    /// See `events`.
    pub actions: u64,
    /// Faults that struck.
    pub faults: u64,
    /// Programs that came to their ends.
    pub ended: u64,
    /// Time from the end of the faults until nothing moved any more, nanoseconds.
    pub settled_ns: Nanos,
}

/// A mistake.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// The seed, which repeats it.
    pub seed: u64,
    /// Machine, first policy, faults: one line.
    pub about: String,
    /// Step at which it was found.
    pub step: u64,
    /// Time at which it was found, nanoseconds.
    pub at: Nanos,
    /// What is wrong.
    pub what: String,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { seed, about, step, at, what } = self;
        write!(f, "seed {seed}, step {step}, {at} ns: {what}\n  {about}")
    }
}

impl std::error::Error for Failure {}

/// One run, from its seed.
///
/// # Errors
/// What is wrong. Invariants that the engine checks itself panic.
pub fn run(seed: u64, options: &Options, listener: &mut dyn Listener) -> Result<Summary, Failure> {
    let mut stage = Stage::new(seed, options, listener);
    let about = stage.plan.about(&stage.faults);
    let outcome = play(&mut stage);
    let (step, at) = (stage.agenda.steps(), stage.agenda.now());
    outcome.map_err(|what| Failure { seed, about: about.clone(), step, at, what })?;
    Ok(Summary {
        steps: step,
        events: stage.counts.events,
        actions: stage.counts.actions,
        faults: stage.faults.struck(),
        ended: stage.counts.ended,
        settled_ns: stage.counts.settled_ns,
        about,
    })
}

/// Chaos, then calm.
fn play(stage: &mut Stage<'_>) -> Verdict {
    steps::expect_everything(stage);
    upsets::start_manager(stage)?;
    steps::until(stage, stage.plan.chaos_ns)?;
    if stage.is_cut() { Ok(()) } else { calm::come_right(stage) }
}
