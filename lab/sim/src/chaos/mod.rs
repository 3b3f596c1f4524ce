//! Chaos runs: the engine between programs and a shell of which anything may fail, then calm, in
//! which everything must come right.
//!
//! In the way of `TigerBeetle`'s VOPR and `FoundationDB`'s simulation (Zhou et al. 2021, §4): a
//! seed determines machine, policy, programs and faults ([`plan`], [`faults`]). While faults
//! strike, the run checks safety after every event: the engine's own invariants, its promises
//! ([`ledger`]) and the real places of threads. Then all faults stop, and programs repeat the
//! notices that were lost. Within a stated bound the allocation must be stable, everybody must have
//! processors or a place in the queue, and everybody must come to its end. In the end every
//! processor must be free.
//!
//! The shell here does what the manager does, failures included: it forces a program that cannot be
//! woken when its grace time is over; a move that the system refuses counts as done; after the
//! manager's death programs come again with the processors they have. Memory and barriers are not
//! modelled here but in [`crate::world`].

// Every happening returns a verdict, even one that cannot be bad.
#![allow(clippy::unnecessary_wraps)]

mod agenda;
mod calm;
mod faults;
mod ledger;
mod life;
mod marks;
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
pub use marks::{Around, NOT_IN_CHAOS, Reached};
pub use options::{Listener, Options, Planted};
pub use plan::Plan;
use stage::{Stage, Verdict};
use std::fmt;

/// A run in which no mistake was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Summary {
    /// Machine, first policy, faults: one line.
    pub about: String,
    /// Number of steps.
    pub steps: u64,
    /// Number of events that the engine was given.
    pub events: u64,
    /// Number of actions that the engine wanted.
    pub actions: u64,
    /// Number of faults that struck.
    pub faults: u64,
    /// Number of programs that came to their ends.
    pub ended: u64,
    /// Time from the end of the faults until nothing moved any more, nanoseconds.
    pub settled_ns: Nanos,
    /// The situations that it came to.
    pub reached: Reached,
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
    /// The mistake, one sentence.
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
/// The mistake that was found. Invariants that the engine checks itself panic.
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
        reached: stage.observer.reached(),
        about,
    })
}

/// Plays chaos, then calm.
fn play(stage: &mut Stage<'_>) -> Verdict {
    steps::expect_everything(stage);
    upsets::start_manager(stage)?;
    steps::until(stage, stage.plan.chaos_ns)?;
    if stage.is_cut() { Ok(()) } else { calm::come_right(stage) }
}
