//! Events that the engine has not heard yet, and applications that wait for its answer. Programs
//! write here while they run; the engine is asked only when the event of the clock is over, so the
//! two never call each other.

use crate::Nanos;
use numaestro_contract::{Feed, Next};
use numaestro_engine::Event;
use std::collections::VecDeque;

/// See the file's header.
#[derive(Debug, Default)]
pub struct Outbox {
    events: Feed,
    /// Applications whose masters wait for the engine's answer.
    waiting: VecDeque<u32>,
}

impl Outbox {
    /// Adds an event.
    pub fn say(&mut self, event: Event) {
        self.events.push(event);
    }

    /// Adds an event before all others.
    pub fn say_first(&mut self, event: Event) {
        self.events.push_first(event);
    }

    /// An application waits for the engine's answer to all events so far.
    pub fn await_answer(&mut self, app: u32) {
        self.waiting.push_back(app);
    }

    /// Whether no event waits.
    pub fn is_silent(&self) -> bool {
        self.events.is_empty()
    }

    /// Number of applications that wait.
    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// The shell's next step; `turn_ends` as [`Feed::next`] takes it.
    pub fn next(&mut self, now: Nanos, turn_ends: Option<Nanos>) -> Option<Next> {
        self.events.next(now, turn_ends)
    }

    /// Adds the measurements of the turn that is over.
    pub fn say_measured(&mut self, events: Vec<Event>) {
        self.events.measured(events);
    }

    /// The next application that gets its answer.
    pub fn next_waiting(&mut self) -> Option<u32> {
        self.waiting.pop_front()
    }
}
