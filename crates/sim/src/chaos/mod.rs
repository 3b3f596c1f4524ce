//! Chaos runs: the engine between programs and a shell of which anything may fail, then calm, in which everything must come right.
//!
//! In the way of `TigerBeetle`'s VOPR and `FoundationDB`'s simulation (Zhou et al. 2021, §4): a seed determines machine, policy, programs and faults
//! ([`plan`], [`faults`]). While things go wrong, safety is checked after every event: the engine's own invariants, what it has promised ([`ledger`])
//! and where threads really are. Then all faults stop, notices that were lost are said again, and within a bound that is stated the
//! allocation must be stable, everybody must have processors or a place in the queue, everybody must come to its end, and in the end every
//! processor must be free.
//!
//! The shell here does what the manager does, failures included: a program that cannot be woken is forced when its grace time is over; a
//! move that the system refuses counts as done; after the manager's death programs come again with what they have.
//! It knows no policy, and no memory or barriers: those are the [`crate::world`]'s.

// Whatever happens gives a verdict, even where none can be bad.
#![allow(clippy::unnecessary_wraps)]

mod calm;
mod faults;
mod ledger;
mod life;
mod plan;
mod program;
mod shell;
mod stage;
mod trace;
mod upsets;

use crate::Nanos;
pub use faults::{Fault, Faults};
pub use plan::Plan;
use stage::Stage;
use std::fmt;

/// A mistake made on purpose, to see that it is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Planted {
    /// None.
    #[default]
    Nothing,
    /// The shell never says that an application is gone.
    DepartUnsaid,
    /// Applications are said to have carried out what they have not.
    AdoptedTooEarly,
    /// What is said to be carried out is not written down by the second ledger.
    AdoptedForgotten,
}

/// How a run is to be.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Faults that are off whatever the seed says.
    pub without: Vec<Fault>,
    /// The run ends after so many steps, and nothing is asked of it then.
    pub steps: Option<u64>,
    /// For tests of these runs themselves.
    pub planted: Planted,
}

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

/// What is told of a run while it goes on.
pub trait Listener {
    /// Whether [`Self::trace`] is to be called.
    fn wants_trace(&self) -> bool {
        false
    }

    /// One line, in fixed columns: time, the shell's clock, what (`>`: the engine wants it; `!`: a fault), application, the rest.
    fn trace(&mut self, line: &str) {
        let _ = line;
    }

    /// Called at every step: how many there were, for those who want to know where an engine's panic happened.
    fn step(&mut self, step: u64) {
        let _ = step;
    }
}

impl Listener for () {}

/// One run, from its seed.
///
/// # Errors
/// What is wrong. Invariants that the engine checks itself panic.
pub fn run(seed: u64, options: &Options, listener: &mut dyn Listener) -> Result<Summary, Failure> {
    let mut stage = Stage::new(seed, options, listener);
    let about = stage.about();
    let outcome = stage.play();
    let failed = |what| Failure { seed, about: about.clone(), step: stage.steps, at: stage.now, what };
    outcome.map_err(failed)?;
    Ok(Summary {
        steps: stage.steps,
        events: stage.events,
        actions: stage.acted,
        faults: stage.struck,
        ended: stage.ended,
        settled_ns: stage.settled_ns,
        about,
    })
}
