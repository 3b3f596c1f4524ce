//! One completion slot for each processor, and for each application that is only a curve, as a
//! tournament tree. A change of pace changes one key and leaves no stale event behind; in a heap of
//! events it would.

use super::queue::Key;

/// The tree. Leaves are at `size..2 * size`; every inner node holds the lower key of its two.
#[derive(Debug)]
pub struct Slots {
    keys: Vec<Key>,
    size: usize,
}

impl Slots {
    /// A tree with room for this many slots.
    pub fn new(slots: usize) -> Self {
        let size = slots.next_power_of_two().max(1);
        Self { keys: vec![Key::NEVER; 2 * size], size }
    }

    /// Makes room for slot `index`.
    pub fn reach(&mut self, index: usize) {
        if index < self.size {
            return;
        }
        let mut larger = Self::new(index + 1);
        let from = larger.size;
        larger.keys[from..from + self.size].copy_from_slice(&self.keys[self.size..]);
        for node in (1..from).rev() {
            larger.keys[node] = larger.keys[2 * node].min(larger.keys[2 * node + 1]);
        }
        *self = larger;
    }

    /// Sets the key at which the slot completes.
    pub fn set(&mut self, index: usize, key: Key) {
        let mut node = self.size + index;
        if self.keys[node] == key {
            return;
        }
        self.keys[node] = key;
        while node > 1 {
            let winner = self.keys[node].min(self.keys[node ^ 1]);
            node >>= 1;
            if self.keys[node] == winner {
                return;
            }
            self.keys[node] = winner;
        }
    }

    /// The key of one slot.
    pub fn get(&self, index: usize) -> Key {
        self.keys[self.size + index]
    }

    /// The lowest key.
    pub fn first(&self) -> Key {
        self.keys[1]
    }

    /// The slot of the lowest key; of equals the lowest index.
    pub fn winner(&self) -> usize {
        let (lowest, mut node) = (self.first(), 1);
        while node < self.size {
            // One of the two holds it. Without a branch, because none could be predicted.
            node = 2 * node + usize::from(self.keys[2 * node] != lowest);
        }
        node - self.size
    }
}

#[cfg(test)]
mod tests {
    use super::super::queue::Rank;
    use super::*;
    use crate::random::{Purpose, Stream};

    #[test]
    fn the_lowest_key_of_random_changes() {
        let mut stream = Stream::new(1, Purpose::System, 0);
        let mut slots = Slots::new(5);
        let mut keys = vec![Key::NEVER; 5];
        for step in 0..2000 {
            if step == 1000 {
                slots.reach(20);
                keys.resize(21, Key::NEVER);
            }
            let index = stream.below(keys.len() as u32) as usize;
            let key = Key::new(u64::from(stream.below(50)), Rank::Segment);
            slots.set(index, key);
            keys[index] = key;
            let lowest = keys.iter().copied().min().unwrap();
            assert_eq!(slots.first(), lowest);
            assert_eq!(slots.winner(), keys.iter().position(|&key| key == lowest).unwrap());
        }
    }
}
