//! Events that the engine has not heard yet, and applications that wait for its answer. Programs
//! write here while they run; the engine is asked only when the event of the clock is over, so the
//! two never call each other.

use numaestro_engine::Event;
use std::collections::VecDeque;

/// See the file's header.
#[derive(Debug, Default)]
pub struct Outbox {
    events: VecDeque<Event>,
    /// Applications whose masters wait for the engine's answer.
    waiting: VecDeque<u32>,
}

impl Outbox {
    /// Something is said.
    pub fn say(&mut self, event: Event) {
        self.events.push_back(event);
    }

    /// Something is said before everything else.
    pub fn say_first(&mut self, event: Event) {
        self.events.push_front(event);
    }

    /// An application waits for the engine's answer to all events so far.
    pub fn await_answer(&mut self, app: u32) {
        self.waiting.push_back(app);
    }

    /// Whether nothing was said.
    pub fn is_silent(&self) -> bool {
        self.events.is_empty()
    }

    /// How many applications wait.
    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// The next event for the engine.
    pub fn next_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// The next application that gets its answer.
    pub fn next_waiting(&mut self) -> Option<u32> {
        self.waiting.pop_front()
    }
}
