//! What IRIX does with threads that may run everywhere: each waits at one processor, and only a processor without work takes it from there. Knows nothing of
//! what threads do.

use super::World;
use super::thread::{NONE, Thread};
use crate::Nanos;
use numaestro_topology::PuId;

/// Quanta in which the time used lately halves.
pub(super) const HALF_LIFE: Nanos = 2;

impl World {
    /// IRIX: it waits where it ran last, a new one where somebody has used most; if it is better than whoever runs there, it runs.
    pub(super) fn wait_locally(&mut self, id: u32) {
        let thread = &self.threads[id as usize];
        let (last, favoured) = (thread.last_pu, thread.favoured > 0);
        let set = &self.apps[thread.app as usize].set;
        let pu = if favoured || last == NONE || !set.contains(PuId(last)) {
            let used = |pu: &PuId| {
                let other = self.pus[pu.index()].running;
                (self.rank(other, pu.0).0, std::cmp::Reverse(pu.0))
            };
            let busy = set.iter().filter(|pu| self.pus[pu.index()].running != NONE);
            busy.max_by_key(used).map_or(last, |pu| pu.0)
        } else {
            last
        };
        let other = self.pus[pu as usize].running;
        let better = other != NONE && self.rank(id, pu) < (self.rank(other, pu).0, 0);
        self.threads[id as usize].pu = pu;
        self.enqueue(id);
        if better {
            let other = self.take_off(pu);
            self.threads[other as usize].pu = pu;
            self.enqueue(other);
            self.unqueue(id);
            self.put_on(pu, id);
        }
    }

    /// A processor without work takes the thread that waits longest elsewhere and may run here.
    pub(super) fn steal(&self, pu: u32) -> Option<u32> {
        if self.waiting == 0 {
            return None;
        }
        let mut best: Option<(u64, u32)> = None;
        for entry in &self.pus {
            let mut at = entry.head;
            while at != NONE {
                let thread = &self.threads[at as usize];
                if thread.floats && best.is_none_or(|(queued, _)| thread.queued < queued) && self.may_run(at, pu) {
                    best = Some((thread.queued, at));
                }
                at = thread.next;
            }
        }
        best.map(|(_, id)| id)
    }
}

/// Processor time used lately.
pub(super) fn decayed(thread: &Thread, now: Nanos, quantum: Nanos) -> Nanos {
    let halvings = (now - thread.decayed) / (quantum.max(1) * HALF_LIFE);
    thread.counter >> halvings.min(63)
}
