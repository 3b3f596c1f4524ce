//! Ready threads that may run on every processor, best first: one heap of all, and one for each
//! processor of the threads that ran there last. A thread knows its places in both, so that taking
//! it out costs as little as putting it in.

use super::thread::NONE;

/// The order of threads: lower is better; ties go to the one that waits longest.
pub type Key = (u64, u64);

/// The heaps.
#[derive(Debug, Default)]
pub struct Ready {
    /// The heap of all threads, then the heap of each processor.
    heaps: Vec<Vec<u32>>,
    /// By thread: its key, the heap of its processor (0 = none), and its places in the heap of all
    /// and in that one.
    of: Vec<(Key, u32, [u32; 2])>,
}

/// Index of a thread's place in the heap of all.
const ALL: usize = 0;
const LAST: usize = 1;

impl Ready {
    /// No threads, on this many processors.
    pub fn new(pus: usize) -> Self {
        Self { heaps: vec![Vec::new(); pus + 1], of: Vec::new() }
    }

    /// Number of threads.
    pub fn len(&self) -> usize {
        self.heaps[0].len()
    }

    /// Whether there are no threads.
    pub fn is_empty(&self) -> bool {
        self.heaps[0].is_empty()
    }

    /// The best of all threads, and its key.
    pub fn first(&self) -> Option<(u32, Key)> {
        self.heaps[0].first().map(|&id| (id, self.of[id as usize].0))
    }

    /// The best of the threads that ran last on a processor.
    pub fn first_of(&self, pu: u32) -> Option<u32> {
        self.heaps[pu as usize + 1].first().copied()
    }

    /// Adds a thread that ran last on `pu`, or nowhere.
    pub fn insert(&mut self, id: u32, pu: u32, key: Key) {
        if self.of.len() <= id as usize {
            self.of.resize(id as usize + 1, ((0, 0), 0, [NONE; 2]));
        }
        let heap = if pu == NONE { 0 } else { pu + 1 };
        self.of[id as usize] = (key, heap, [NONE; 2]);
        self.push(0, ALL, id);
        if heap > 0 {
            self.push(heap as usize, LAST, id);
        }
    }

    /// Removes a thread.
    pub fn remove(&mut self, id: u32) {
        let (_, heap, [all, last]) = self.of[id as usize];
        self.take(0, ALL, all as usize);
        if heap > 0 {
            self.take(heap as usize, LAST, last as usize);
        }
    }

    /// Gives all threads other keys.
    pub fn rekey(&mut self, key: impl Fn(u32) -> Key) {
        for &id in &self.heaps[0] {
            self.of[id as usize].0 = key(id);
        }
        for heap in 0..self.heaps.len() {
            let place = if heap == 0 { ALL } else { LAST };
            for at in (0..self.heaps[heap].len() / 2).rev() {
                self.sink(heap, place, at);
            }
        }
    }

    fn key(&self, heap: usize, at: usize) -> Key {
        self.of[self.heaps[heap][at] as usize].0
    }

    fn push(&mut self, heap: usize, place: usize, id: u32) {
        let at = self.heaps[heap].len();
        self.heaps[heap].push(id);
        self.of[id as usize].2[place] = at as u32;
        self.rise(heap, place, at);
    }

    fn take(&mut self, heap: usize, place: usize, at: usize) {
        let last = self.heaps[heap].len() - 1;
        self.swap(heap, place, at, last);
        self.heaps[heap].pop();
        if at < last {
            self.rise(heap, place, at);
            self.sink(heap, place, at);
        }
    }

    fn swap(&mut self, heap: usize, place: usize, a: usize, b: usize) {
        self.heaps[heap].swap(a, b);
        for at in [a, b] {
            let id = self.heaps[heap][at];
            self.of[id as usize].2[place] = at as u32;
        }
    }

    fn rise(&mut self, heap: usize, place: usize, mut at: usize) {
        while at > 0 && self.key(heap, at) < self.key(heap, (at - 1) / 2) {
            self.swap(heap, place, at, (at - 1) / 2);
            at = (at - 1) / 2;
        }
    }

    fn sink(&mut self, heap: usize, place: usize, mut at: usize) {
        loop {
            let len = self.heaps[heap].len();
            let children = [2 * at + 1, 2 * at + 2].into_iter().filter(|&child| child < len);
            let Some(child) = children.min_by_key(|&child| self.key(heap, child)) else { return };
            if self.key(heap, child) >= self.key(heap, at) {
                return;
            }
            self.swap(heap, place, at, child);
            at = child;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Purpose, Stream};

    #[test]
    fn the_best_of_random_changes() {
        let mut stream = Stream::new(3, Purpose::System, 0);
        let mut ready = Ready::new(4);
        let mut there: Vec<(Key, u32, u32)> = Vec::new();
        for step in 0..5000u64 {
            let id = stream.below(40);
            if let Some(at) = there.iter().position(|entry| entry.2 == id) {
                ready.remove(id);
                there.swap_remove(at);
            } else {
                let key = (u64::from(stream.below(6)), step);
                let pu = [0, 1, 2, 3, NONE][stream.below(5) as usize];
                ready.insert(id, pu, key);
                there.push((key, pu, id));
            }
            if step % 500 == 0 {
                let of = |id: u32| (u64::from(id * 7 % 5), u64::from(id));
                ready.rekey(of);
                for entry in &mut there {
                    entry.0 = of(entry.2);
                }
            }
            assert_eq!(ready.len(), there.len());
            assert_eq!(ready.first().map(|(id, _)| id), there.iter().min().map(|entry| entry.2));
            for pu in 0..4 {
                let best = there.iter().filter(|entry| entry.1 == pu).min().map(|entry| entry.2);
                assert_eq!(ready.first_of(pu), best);
            }
        }
    }
}
