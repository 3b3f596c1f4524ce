//! The clock: the next event and its time. It merges three sources, because they change in
//! different ways: a [`queue`](super::queue) of events with fixed times,
//! [`slots`](super::slots) of completions whose times move with every change of pace, and the one
//! next look for phases, which every decision can put off.

use super::queue::{Happening, Key, Queue, Rank};
use super::slots::Slots;
use crate::Nanos;

/// The next event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Due {
    /// The stage of a processor has ended.
    Stage(u32),
    /// The slice of the thread on a processor has ended.
    Slice(u32),
    /// An application that is only a curve has done its part.
    Curve(u32),
    /// The shell looks for phases.
    Look,
    /// An event with a fixed time.
    Queued(Happening),
}

/// The time, and all coming events.
#[derive(Debug)]
pub struct Clock {
    now: Nanos,
    /// The time at which the run is cut off, nanoseconds.
    until: Option<Nanos>,
    queue: Queue,
    /// The next look for phases.
    look: Key,
    /// Completions on processors by their numbers, then those of curves by their applications'.
    slots: Slots,
    pus: usize,
}

impl Clock {
    /// A clock at time 0, for this many processors.
    pub fn new(pus: usize, until: Option<Nanos>) -> Self {
        Self { now: 0, until, queue: Queue::default(), look: Key::NEVER, slots: Slots::new(pus), pus }
    }

    /// The time, nanoseconds.
    pub fn now(&self) -> Nanos {
        self.now
    }

    /// Adds an event, now at the earliest.
    pub fn expect(&mut self, at: Nanos, rank: Rank, what: Happening) {
        self.queue.push(at.max(self.now), rank, what);
    }

    /// Sets the time at which a curve completes.
    pub fn complete_curve(&mut self, app: u32, key: Key) {
        let slot = self.pus + app as usize;
        self.slots.reach(slot);
        self.slots.set(slot, key);
    }

    /// Sets the time of the next look for phases.
    pub fn expect_look(&mut self, at: Option<Nanos>) {
        self.look = at.map_or(Key::NEVER, |at| Key::new(at.max(self.now), Rank::Deadline));
    }

    /// The completions on processors, by processor.
    pub fn slots(&mut self) -> &mut Slots {
        &mut self.slots
    }

    /// Goes on to the next event. `None`: there is none, or none before the end of the run.
    ///
    /// # Panics
    /// If the next event is in the past, which is a mistake in the world.
    pub fn next(&mut self) -> Option<Due> {
        let (slot, queued) = (self.slots.first(), self.queue.first());
        let key = slot.min(queued).min(self.look);
        if key == Key::NEVER {
            return None;
        }
        if let Some(until) = self.until.filter(|&until| key.at() > until) {
            self.now = self.now.max(until);
            return None;
        }
        assert!(key.at() >= self.now, "the clock goes back");
        self.now = key.at();
        if self.look < slot.min(queued) {
            self.look = Key::NEVER;
            return Some(Due::Look);
        }
        if queued < slot {
            return self.queue.pop().map(Due::Queued);
        }
        let index = self.slots.winner();
        Some(match index.checked_sub(self.pus) {
            Some(app) => Due::Curve(app as u32),
            None if slot.is_slice() => Due::Slice(index as u32),
            None => Due::Stage(index as u32),
        })
    }
}
