//! The queue of waiting applications, in order of arrival: one piece of memory to look through,
//! cheap to leave at both ends.

use numaestro_policy::{Slot, Waiting};

/// The applications that wait, in order of arrival.
#[derive(Debug, Clone, Default)]
pub(crate) struct Queue {
    entries: Vec<Waiting>,
    /// Index of the head; entries before it have left.
    head: usize,
    /// Entries from this place on may have another place than they were told.
    moved_from: usize,
}

impl Queue {
    /// The applications that wait, in order of arrival.
    pub(crate) fn waiting(&self) -> &[Waiting] {
        &self.entries[self.head..]
    }

    /// The entry at `at` needs so many processors from now on.
    pub(crate) fn set_processors(&mut self, at: usize, processors: u32) {
        self.entries[self.head + at].processors = processors;
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len() - self.head
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Adds the latest arrival.
    pub(crate) fn push(&mut self, waiting: Waiting) {
        // The queue uses room at the front before it allocates more; moving costs a constant for
        // each entry that has left.
        if self.entries.len() == self.entries.capacity() && self.head > self.entries.len() / 2 {
            self.entries.drain(..self.head);
            self.head = 0;
        }
        self.moved_from = self.moved_from.min(self.len());
        self.entries.push(waiting);
    }

    /// Takes an entry out; the shorter side moves up.
    pub(crate) fn remove(&mut self, at: usize) -> Waiting {
        self.moved_from = self.moved_from.min(at);
        let index = self.head + at;
        if at >= self.len() / 2 {
            return self.entries.remove(index);
        }
        let waiting = self.entries[index];
        self.entries.copy_within(self.head..index, self.head + 1);
        self.head += 1;
        waiting
    }

    /// The place of an application, found by `before`: whether an entry arrived before it.
    pub(crate) fn position(&self, app: Slot, before: impl Fn(Slot) -> bool) -> Option<usize> {
        let at = self.waiting().partition_point(|waiting| before(waiting.app));
        self.waiting().get(at).is_some_and(|waiting| waiting.app == app).then_some(at)
    }

    /// Returns the place of the first entry that may have another place than it was told, and marks
    /// all as told.
    pub(crate) fn take_moved(&mut self) -> usize {
        let len = self.len();
        std::mem::replace(&mut self.moved_from, len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use numaestro_policy::Random;

    fn entry(number: u32) -> Waiting {
        Waiting { app: Slot(number), processors: 1, estimate_ns: None }
    }

    #[test]
    fn the_same_as_a_plain_list() {
        let (mut queue, mut plain, mut random) = (Queue::default(), Vec::new(), Random::new(1));
        for number in 0..5000 {
            if plain.is_empty() || random.below(100) < 51 {
                queue.push(entry(number));
                plain.push(entry(number));
            } else {
                // Mostly the head, as in real queues.
                let at = if random.below(3) > 0 { 0 } else { random.below(plain.len() as u32) as usize };
                assert_eq!(queue.remove(at), plain.remove(at));
            }
            assert_eq!(queue.waiting(), plain);
            if let Some(at) = plain.len().checked_sub(1) {
                let app = plain[at].app;
                assert_eq!(queue.position(app, |other| other < app), Some(at));
                assert_eq!(queue.position(Slot(u32::MAX), |_| true), None);
            }
        }
    }

    #[test]
    fn says_from_where_on_places_have_changed() {
        let mut queue = Queue::default();
        (0..4).for_each(|number| queue.push(entry(number)));
        assert_eq!(queue.take_moved(), 0);
        assert_eq!(queue.take_moved(), 4);
        queue.remove(2);
        queue.push(entry(9));
        assert_eq!(queue.take_moved(), 2);
    }
}
