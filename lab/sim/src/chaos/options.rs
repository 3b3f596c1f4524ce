//! The options of a run, and the listener to it.

use super::faults::Fault;

/// A mistake made on purpose, to see that it is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Planted {
    /// No mistake.
    #[default]
    Nothing,
    /// The shell never tells the engine that an application is gone.
    DepartUnsaid,
    /// The shell tells the engine that applications have carried out targets when they have not.
    AdoptedTooEarly,
    /// The second ledger does not note that a target was carried out.
    AdoptedForgotten,
}

/// The options of a run.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Faults that are off whatever the seed says.
    pub without: Vec<Fault>,
    /// The run ends after so many steps, and then nothing is checked.
    pub steps: Option<u64>,
    /// A mistake made on purpose, for tests of these runs themselves.
    pub planted: Planted,
}

/// Gets reports of a run while it goes on.
pub trait Listener {
    /// Whether the run is to call [`Self::trace`].
    fn wants_trace(&self) -> bool {
        false
    }

    /// One line, in fixed columns: time, the shell's clock, word (`>`: the engine wants it; `!`: a
    /// fault), application, the rest.
    fn trace(&mut self, line: &str) {
        let _ = line;
    }

    /// Called at every step with the number of steps, so that a listener knows the step at which an
    /// engine panicked.
    fn step(&mut self, step: u64) {
        let _ = step;
    }
}

impl Listener for () {}
