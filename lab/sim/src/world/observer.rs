//! The observer of a run.

use crate::Nanos;
use crate::outcome::JobRecord;
use numaestro_engine::{Action, AppId, Event};
use numaestro_topology::PuId;

/// The thread that runs on a processor: its application, the application's number in the workload,
/// its number.
pub type Occupant = Option<(AppId, u64, u32)>;

/// Watches a run.
pub trait Observer {
    /// Whether the run is to call [`Self::log`].
    fn wants_log(&self) -> bool {
        false
    }

    /// One line for each event, in fixed columns.
    fn log(&mut self, line: &str) {
        let _ = line;
    }

    /// Whether the run is to call [`Self::journal`].
    fn wants_journal(&self) -> bool {
        false
    }

    /// An application of this program arrives; [`Self::journal`] follows with the event. Only if a
    /// journal is wanted.
    fn arrives(&mut self, app: AppId, program: &str) {
        let _ = (app, program);
    }

    /// The engine was given an event, and decided.
    fn journal(&mut self, at: Nanos, event: &Event, actions: &[Action]) {
        let _ = (at, event, actions);
    }

    /// Whether the run is to call [`Self::runs`].
    fn wants_runs(&self) -> bool {
        true
    }

    /// From now on this thread runs there.
    fn runs(&mut self, at: Nanos, pu: PuId, what: Occupant) {
        let _ = (at, pu, what);
    }

    /// An application has ended.
    fn ended(&mut self, job: &JobRecord) {
        let _ = job;
    }
}

impl Observer for () {
    fn wants_runs(&self) -> bool {
        false
    }
}
