//! Groups threads of equal pace into classes: one rate holds for all threads of a class.

use super::pace::Pace;
use numaestro_topology::PuId;

/// No PU, no class.
const NONE: u32 = u32::MAX;

#[derive(Debug, Clone, Copy)]
struct Class {
    pace: Pace,
    fingerprint: u64,
    threads: u32,
    /// The first of its PUs.
    first: u32,
    /// The next class in its bucket, or the next free one.
    chain: u32,
}

/// All classes that run a thread, and the PUs that run each. Nothing is allocated after the start:
/// there are at most as many classes as PUs.
#[derive(Debug)]
pub struct Classes {
    slots: Vec<Class>,
    free: u32,
    /// Chains by fingerprint.
    buckets: Vec<u32>,
    /// By PU: its class, and its neighbours in the list of that class.
    of: Vec<u32>,
    next: Vec<u32>,
    previous: Vec<u32>,
}

impl Classes {
    /// No classes; there are `pus` PUs.
    pub fn new(pus: usize) -> Self {
        Self {
            slots: Vec::with_capacity(pus),
            free: NONE,
            buckets: vec![NONE; (2 * pus).next_power_of_two()],
            of: vec![NONE; pus],
            next: vec![NONE; pus],
            previous: vec![NONE; pus],
        }
    }

    /// The class of the thread on a PU.
    pub fn of(&self, pu: PuId) -> Option<usize> {
        Some(self.of[pu.index()]).filter(|&class| class != NONE).map(|class| class as usize)
    }

    /// The pace that its threads have in common.
    pub fn pace(&self, class: usize) -> &Pace {
        &self.slots[class].pace
    }

    /// Number of its threads; 0 where there is no such class now.
    pub fn threads(&self, class: usize) -> u32 {
        self.slots.get(class).map_or(0, |class| class.threads)
    }

    /// The PUs that run it.
    pub fn members(&self, class: usize) -> impl Iterator<Item = PuId> {
        let first = Some(self.slots[class].first).filter(|&pu| pu != NONE);
        std::iter::successors(first, |&pu| Some(self.next[pu as usize]).filter(|&next| next != NONE)).map(PuId)
    }

    /// A thread begins on a PU that runs nothing. Returns its class, which is new if it has one
    /// thread.
    pub fn join(&mut self, pu: PuId, pace: &Pace) -> usize {
        let fingerprint = pace.fingerprint();
        let bucket = self.bucket(fingerprint);
        let mut class = self.buckets[bucket];
        while class != NONE {
            let known = &self.slots[class as usize];
            if known.fingerprint == fingerprint && known.pace.is_alike(pace) {
                break;
            }
            class = known.chain;
        }
        if class == NONE {
            class = self.take(pace, fingerprint);
            self.slots[class as usize].chain = std::mem::replace(&mut self.buckets[bucket], class);
        }
        let at = pu.index();
        let joined = &mut self.slots[class as usize];
        joined.threads += 1;
        let second = std::mem::replace(&mut joined.first, pu.0);
        self.next[at] = second;
        self.previous[at] = NONE;
        if second != NONE {
            self.previous[second as usize] = pu.0;
        }
        self.of[at] = class;
        class as usize
    }

    /// The thread on a PU ends. Returns its class, which is gone if it has no thread.
    pub fn part(&mut self, pu: PuId) -> usize {
        let at = pu.index();
        let class = std::mem::replace(&mut self.of[at], NONE);
        let (previous, next) = (self.previous[at], self.next[at]);
        let parted = &mut self.slots[class as usize];
        parted.threads -= 1;
        if previous == NONE {
            parted.first = next;
        } else {
            self.next[previous as usize] = next;
        }
        if next != NONE {
            self.previous[next as usize] = previous;
        }
        if parted.threads == 0 {
            self.give(class);
        }
        class as usize
    }

    fn bucket(&self, fingerprint: u64) -> usize {
        (fingerprint >> 32) as usize & (self.buckets.len() - 1)
    }

    fn take(&mut self, pace: &Pace, fingerprint: u64) -> u32 {
        let class = Class { pace: *pace, fingerprint, threads: 0, first: NONE, chain: NONE };
        if self.free == NONE {
            self.slots.push(class);
            return self.slots.len() as u32 - 1;
        }
        let slot = self.free;
        self.free = self.slots[slot as usize].chain;
        self.slots[slot as usize] = class;
        slot
    }

    fn give(&mut self, class: u32) {
        let bucket = self.bucket(self.slots[class as usize].fingerprint);
        let after = self.slots[class as usize].chain;
        if self.buckets[bucket] == class {
            self.buckets[bucket] = after;
        } else {
            let mut at = self.buckets[bucket];
            while self.slots[at as usize].chain != class {
                at = self.slots[at as usize].chain;
            }
            self.slots[at as usize].chain = after;
        }
        self.slots[class as usize].chain = self.free;
        self.free = class;
    }
}
