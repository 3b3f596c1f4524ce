//! How a run is to be, and who listens to it.

use super::faults::Fault;

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

/// What is told of a run while it goes on.
pub trait Listener {
    /// Whether [`Self::trace`] is to be called.
    fn wants_trace(&self) -> bool {
        false
    }

    /// One line, in fixed columns: time, the shell's clock, what (`>`: the engine wants it; `!`: a
    /// fault), application, the rest.
    fn trace(&mut self, line: &str) {
        let _ = line;
    }

    /// Called at every step: how many there were, for those who want to know where an engine's
    /// panic happened.
    fn step(&mut self, step: u64) {
        let _ = step;
    }
}

impl Listener for () {}
