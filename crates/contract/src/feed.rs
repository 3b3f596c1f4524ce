//! The order and the time in which events reach the engine. Rates are averages over a turn, so the
//! engine hears them before the event that ends the turn, with a time inside the turn. With a later
//! time the first rate would end the turn, and the others would count in the next one.

use numaestro_engine::{Event, Nanos};
use std::collections::VecDeque;

/// Events that wait for the engine.
#[derive(Debug, Clone, Default)]
pub struct Feed {
    waiting: VecDeque<Event>,
    /// End of the latest turn whose measurements were asked for, nanoseconds on the shell's clock.
    measured: Option<Nanos>,
}

/// The next thing that a shell does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Next {
    /// A turn is over: the shell samples the rates of its programs, and gives them to
    /// [`Feed::measured`].
    Measure,
    /// The engine takes this event.
    Step {
        /// With this time, nanoseconds on the shell's clock.
        at: Nanos,
        /// The event.
        event: Event,
    },
}

/// Whether an event is a measurement of a turn.
fn is_measured(event: &Event) -> bool {
    match event {
        Event::Bandwidth { .. } | Event::Saturation { .. } => true,
        Event::Arrive { .. }
        | Event::Depart { .. }
        | Event::Request { .. }
        | Event::Limits { .. }
        | Event::Allowed { .. }
        | Event::Demand { .. }
        | Event::Class { .. }
        | Event::Adopted { .. }
        | Event::Sequential { .. }
        | Event::Blocked { .. }
        | Event::Parallel { .. }
        | Event::Speedup { .. }
        | Event::Memory { .. }
        | Event::FreeMemory { .. }
        | Event::Parties { .. }
        | Event::Unstoppable { .. }
        | Event::Stoppable { .. }
        | Event::Offline { .. }
        | Event::Online { .. }
        | Event::Unmanaged { .. }
        | Event::Timer
        | Event::Policy { .. } => false,
    }
}

impl Feed {
    /// The shell has learned of something.
    pub fn push(&mut self, event: Event) {
        self.waiting.push_back(event);
    }

    /// The engine hears this before everything that waits.
    pub fn push_first(&mut self, event: Event) {
        self.waiting.push_front(event);
    }

    /// The measurements of the turn that is over: the engine hears them before everything else.
    pub fn measured(&mut self, events: impl IntoIterator<Item = Event, IntoIter: DoubleEndedIterator>) {
        events.into_iter().rev().for_each(|event| self.push_first(event));
    }

    /// Nothing waits.
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// The next step at `now`; `None` if no event waits. `turn_ends`: as of
    /// [`numaestro_engine::Engine::turn_ends`]; `None` also where the shell measures nothing.
    pub fn next(&mut self, now: Nanos, turn_ends: Option<Nanos>) -> Option<Next> {
        let measured = is_measured(self.waiting.front()?);
        if let Some(end) = turn_ends
            && !measured
            && end <= now
            && self.measured != Some(end)
        {
            self.measured = Some(end);
            return Some(Next::Measure);
        }
        let at = match turn_ends {
            Some(end) if measured => now.min(end.saturating_sub(1)),
            _ => now,
        };
        Some(Next::Step { at, event: self.waiting.pop_front()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use numaestro_engine::AppId;

    fn rates(app: u64) -> Event {
        Event::Bandwidth { app: AppId(app), rates: vec![Some(7)] }
    }

    /// The next step.
    fn next(feed: &mut Feed, now: Nanos, turn_ends: Option<Nanos>) -> Next {
        feed.next(now, turn_ends).unwrap()
    }

    fn step(at: Nanos, event: Event) -> Next {
        Next::Step { at, event }
    }

    #[test]
    fn whatever_ends_a_turn_comes_after_what_was_measured_in_it() {
        let mut feed = Feed::default();
        feed.push(Event::Depart { app: AppId(1) });
        feed.push(Event::Timer);
        assert_eq!(next(&mut feed, 100, Some(100)), Next::Measure);
        feed.measured([rates(2), rates(3)]);
        assert_eq!(next(&mut feed, 100, Some(100)), step(99, rates(2)));
        assert_eq!(next(&mut feed, 105, Some(100)), step(99, rates(3)), "it took a while, and belongs to that turn");
        assert_eq!(next(&mut feed, 105, Some(100)), step(105, Event::Depart { app: AppId(1) }));
        // The engine has begun another turn.
        assert_eq!(next(&mut feed, 105, Some(200)), step(105, Event::Timer));
        assert_eq!(feed.next(105, Some(200)), None);
    }

    #[test]
    fn a_turn_is_measured_once() {
        let mut feed = Feed::default();
        feed.push(Event::Timer);
        assert_eq!(next(&mut feed, 100, Some(100)), Next::Measure);
        assert_eq!(next(&mut feed, 100, Some(100)), step(100, Event::Timer), "nothing was measured");
    }

    #[test]
    fn within_a_turn_nothing_is_asked_for() {
        let mut feed = Feed::default();
        feed.push(Event::Timer);
        feed.push(Event::Saturation { bus: 0, rate: 5 });
        assert_eq!(next(&mut feed, 99, Some(100)), step(99, Event::Timer));
        assert_eq!(next(&mut feed, 99, None), step(99, Event::Saturation { bus: 0, rate: 5 }));
    }
}
