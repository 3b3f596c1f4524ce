//! The time in which an application's number of processors has been searched for, and whether it
//! had been found.

use crate::Nanos;
use numaestro_engine::Search;

/// See the file's header.
#[derive(Debug, Clone, Copy, Default)]
pub struct Searched {
    /// Time since which the search goes on, nanoseconds.
    since: Option<Nanos>,
    /// Whether the number had been found before the last step of the engine, and after it.
    settled: (bool, bool),
}

impl Searched {
    /// Takes the engine's present word on the search. Returns the duration of a search that has
    /// ended, nanoseconds.
    pub fn note(&mut self, now: Nanos, search: Search) -> Nanos {
        let settled = matches!(search, Search::Settled { .. } | Search::Bad);
        self.settled = (self.settled.1, settled);
        if search == Search::Going {
            self.since.get_or_insert(now);
            return 0;
        }
        self.end(now)
    }

    /// Ends the search, if one goes on. Returns its duration, nanoseconds.
    pub fn end(&mut self, now: Nanos) -> Nanos {
        self.since.take().map_or(0, |since| now - since)
    }

    /// Whether the number had been found, and still is.
    pub fn is_settled(&self) -> bool {
        self.settled == (true, true)
    }
}
