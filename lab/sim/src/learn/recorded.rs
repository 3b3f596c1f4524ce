//! One application of a recording: its wishes and its run.

use super::measured::Measured;
use crate::Nanos;
use numaestro_engine::{AppId, Wish};

/// One application of a journal.
#[derive(Debug, Clone, PartialEq)]
pub struct Recorded {
    /// Its number.
    pub app: AppId,
    /// Its name; empty: not known.
    pub name: String,
    /// Its arrival on the journal's clock, nanoseconds. That of one that was there before the
    /// journal begins is the begin.
    pub arrived: Nanos,
    /// Its end; `None`: it was still there at the journal's end.
    pub ended: Option<Nanos>,
    /// It was there before the journal begins: its run is the rest of one.
    pub had_begun: bool,
    /// Its wishes, as far as they are known.
    pub wish: Wish,
    /// Its run, without the time in the queue and stops.
    pub run: Measured,
}

impl Recorded {
    /// The same without what it did.
    #[must_use]
    pub fn without_run(&self) -> Self {
        let Self { app, arrived, ended, had_begun, .. } = *self;
        Self {
            app,
            name: self.name.clone(),
            arrived,
            ended,
            had_begun,
            wish: self.wish.clone(),
            run: Measured::default(),
        }
    }
}
