//! The queue of events that happen at a time of their own. They are ordered by (time, class,
//! sequence), so that no two are ever equal: the order of simultaneous events is part of the
//! simulator's contract. The ends of stages on processors are not here but in [`super::slots`].

use crate::{CLOCK_END, Nanos};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The class of an event: its order at the same nanosecond.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Rank {
    /// A segment of work, a pause, or a limit of spinning ends.
    Segment = 0,
    /// A meeting releases its team.
    Meeting = 1,
    /// An application ends.
    End = 2,
    /// An application arrives.
    Arrival = 3,
    /// A thread's slice ends.
    Slice = 4,
    /// The time that the engine has asked for.
    Deadline = 5,
    /// The engine's decisions reach applications.
    Decision = 6,
}

/// Time and class in one number that orders as the pair does. Times stay below [`CLOCK_END`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key(u64);

impl Key {
    /// A key later than all others.
    pub const NEVER: Self = Self(u64::MAX);

    /// The key of a time and a class.
    pub fn new(at: Nanos, rank: Rank) -> Self {
        if at >= CLOCK_END { Self::NEVER } else { Self(at << 3 | rank as u64) }
    }

    /// Its time, nanoseconds.
    pub fn at(self) -> Nanos {
        if self == Self::NEVER { Nanos::MAX } else { self.0 >> 3 }
    }

    /// Whether it is the end of a slice.
    pub fn is_slice(self) -> bool {
        self.0 & 7 == Rank::Slice as u64
    }
}

/// An event with a fixed time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Happening {
    /// The team of this application goes on.
    Meeting(u32),
    /// This application has nothing more to do.
    End(u32),
    /// The application at this place of the arrivals arrives.
    Arrival(u32),
    /// The pause of this application is over.
    Resume(u32),
    /// See [`Rank::Deadline`].
    Deadline,
    /// See [`Rank::Decision`].
    Decision,
    /// The administrator switches the policy (at the rank of a deadline).
    Switch,
}

/// A binary heap of events.
#[derive(Debug, Default)]
pub struct Queue {
    heap: BinaryHeap<Reverse<(Key, u64, Happening)>>,
    pushed: u64,
}

impl Queue {
    /// Adds an event; of equal time and class, the one that was added first comes first.
    pub fn push(&mut self, at: Nanos, rank: Rank, what: Happening) {
        self.pushed += 1;
        self.heap.push(Reverse((Key::new(at, rank), self.pushed, what)));
    }

    /// The key of the first event.
    pub fn first(&self) -> Key {
        self.heap.peek().map_or(Key::NEVER, |Reverse((key, ..))| *key)
    }

    /// Takes the first event.
    pub fn pop(&mut self) -> Option<Happening> {
        self.heap.pop().map(|Reverse((_, _, what))| what)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_then_class_then_order() {
        let mut heap = Queue::default();
        heap.push(5, Rank::Decision, Happening::Decision);
        heap.push(5, Rank::Meeting, Happening::Meeting(2));
        heap.push(5, Rank::Meeting, Happening::Meeting(1));
        heap.push(4, Rank::Deadline, Happening::Deadline);
        assert_eq!(heap.first(), Key::new(4, Rank::Deadline));
        let order: Vec<Happening> = std::iter::from_fn(|| heap.pop()).collect();
        assert_eq!(order, [Happening::Deadline, Happening::Meeting(2), Happening::Meeting(1), Happening::Decision]);
        assert_eq!(heap.first(), Key::NEVER);
    }
}
