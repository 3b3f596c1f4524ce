//! What was said to the engine and not yet heard, and who waits for an answer. It is a value of its own, because programs write into it
//! while they run and the engine is asked only when the event is over.

use numaestro_engine::Event;
use std::collections::VecDeque;

/// See the file's header.
#[derive(Debug, Default)]
pub struct Outbox {
    events: VecDeque<Event>,
    /// Applications whose masters wait for what the engine says.
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

    /// An application waits for what the engine says to all that was said so far.
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

    /// What the engine hears next.
    pub fn next_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// Who is answered next.
    pub fn next_waiting(&mut self) -> Option<u32> {
        self.waiting.pop_front()
    }
}
