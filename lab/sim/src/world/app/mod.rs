//! An application: its place in its program, its threads, their places, its notices to the engine.
//! It is a plain record of parts, each of which keeps its own state and its own rules; the
//! behaviour of applications is in `program`.

mod cursor;
mod curve;
mod draws;
mod places;
mod region;
mod search;
mod watch;

use super::shell::Notices;
use crate::outcome::JobRecord;
use crate::program::Program;
use std::sync::Arc;

pub use cursor::Cursor;
pub use curve::{Curve, StretchKind};
pub use draws::{Draws, Share};
pub use places::Places;
pub use region::{Region, Tasks};
pub use search::Searched;
pub use watch::{Errors, Watch};

/// The activity of an application.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Activity {
    /// It has no processor yet.
    Waiting,
    /// It is between phases.
    Between,
    Serial,
    /// Its master asks the engine, or creates threads.
    Forking,
    Region,
    Tasks,
    Pause,
    /// It is only a curve.
    Curve,
    /// It has nothing more to do.
    Over,
}

impl Activity {
    /// Whether several threads share the work.
    pub const fn is_parallel(self) -> bool {
        matches!(self, Self::Region | Self::Tasks)
    }
}

/// A step that waits until a stopped application goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Deferred {
    Meeting,
    Resume,
    Answer,
}

/// An application.
#[derive(Debug)]
pub struct App {
    /// Its place, the same in every room.
    pub slot: u32,
    pub program: Arc<Program>,
    pub record: JobRecord,
    pub draws: Draws,
    pub activity: Activity,
    pub deferred: Option<Deferred>,
    pub cursor: Cursor,
    pub region: Region,
    pub tasks: Tasks,
    /// Threads by number; the master first.
    pub team: Vec<u32>,
    pub places: Places,
    pub notices: Notices,
    pub curve: Curve,
    pub watch: Watch,
    pub searched: Searched,
}

impl App {
    /// Its processors are its own. Not when it has ended and the engine is still to be told: its
    /// turn may have ended at the same instant, and its processors have been given on.
    pub fn owns(&self) -> bool {
        !self.notices.is_shared() && self.activity != Activity::Over
    }

    /// An application that has just arrived, at the beginning of its program.
    pub fn new(
        slot: u32,
        program: Arc<Program>,
        record: JobRecord,
        draws: Draws,
        (cursor, notices, watch): (Cursor, Notices, Watch),
    ) -> Self {
        Self {
            slot,
            program,
            record,
            draws,
            activity: Activity::Waiting,
            deferred: None,
            cursor,
            region: Region::default(),
            tasks: Tasks::default(),
            team: Vec::new(),
            places: Places::default(),
            notices,
            curve: Curve::default(),
            watch,
            searched: Searched::default(),
        }
    }
}
