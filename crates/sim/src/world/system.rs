//! The scheduler of the modelled operating system: who runs on a processor that several threads may use. Knows nothing of what threads do.
//!
//! Threads that are bound to a processor wait in its queue; threads that float wait in one queue for all processors. Which of them a
//! processor takes is the system's choice:
//! * round robin: the one that waits longest; a slice is one quantum.
//! * Linux 2.4 (Love 2003, ch. 3 of the first edition; `kernel/sched.c`): every thread has a counter of time left in this epoch. The largest
//!   "goodness" runs: the counter, and a bonus where it ran last. When all ready counters are 0 every thread's becomes a quantum plus half
//!   of what it had left.
//! * IRIX (as Martorell et al. 2000, §6 describe what they measured): priority decays with processor time used lately, which halves in every
//!   ten quanta; a thread is preferred where it ran last by a quantum's worth; a new one has the best priority for one quantum.

use super::World;
use super::thread::{NONE, State, Thread};
use crate::Nanos;
use crate::machine::System;

/// Linux 2.4's `PROC_CHANGE_PENALTY` is 15 ticks where a full counter has about 10: in tenths of a quantum.
const LINUX_BONUS_TENTHS: Nanos = 15;
/// Quanta in which the time used lately halves under IRIX.
const IRIX_HALF_LIFE: Nanos = 10;

impl World {
    /// A thread that was off wants a processor.
    pub(super) fn wake(&mut self, id: u32) {
        let thread = &self.threads[id as usize];
        let place = if thread.floats { self.idle_place(thread) } else { Some(thread.pu) };
        if let Some(pu) = place.filter(|&pu| self.pus[pu as usize].running == NONE) {
            self.put_on(pu, id);
            return;
        }
        self.enqueue(id);
        if self.threads[id as usize].floats {
            self.preempt_for(id);
        }
    }

    /// An idle processor for a thread that floats: the one it ran on, else the lowest of its set.
    fn idle_place(&self, thread: &Thread) -> Option<u32> {
        let last = thread.last_pu;
        let set = &self.apps[thread.app as usize].set;
        if last != NONE && self.pus[last as usize].running == NONE && set.contains(numaestro_topology::PuId(last)) {
            return Some(last);
        }
        let idle = self.idle.iter().zip(set.words()).map(|(idle, own)| idle & own).enumerate();
        idle.into_iter().find(|(_, word)| *word != 0).map(|(at, word)| at as u32 * 64 + word.trailing_zeros())
    }

    /// Puts a thread that is nowhere at the end of its queue.
    pub(super) fn enqueue(&mut self, id: u32) {
        self.queued += 1;
        let thread = &mut self.threads[id as usize];
        (thread.state, thread.queued, thread.next) = (State::Ready, self.queued, NONE);
        if thread.floats {
            self.floating.push(id);
            return;
        }
        let pu = thread.pu;
        let entry = &mut self.pus[pu as usize];
        match entry.tail {
            NONE => entry.head = id,
            tail => self.threads[tail as usize].next = id,
        }
        let entry = &mut self.pus[pu as usize];
        entry.tail = id;
        if entry.running != NONE && entry.slice_end == Nanos::MAX {
            let taken = entry.taken;
            let slice = self.slice_of(self.pus[pu as usize].running);
            self.pus[pu as usize].slice_end = self.now.max(taken + slice);
            self.touch(pu);
        }
    }

    /// Takes a ready thread out of its queue; it is off then.
    pub(super) fn unqueue(&mut self, id: u32) {
        let thread = &mut self.threads[id as usize];
        thread.state = State::Blocked;
        if thread.floats {
            self.floating.retain(|&other| other != id);
            return;
        }
        let (pu, next) = (thread.pu as usize, thread.next);
        let mut before = NONE;
        let mut at = self.pus[pu].head;
        while at != id {
            (before, at) = (at, self.threads[at as usize].next);
        }
        match before {
            NONE => self.pus[pu].head = next,
            before => self.threads[before as usize].next = next,
        }
        if self.pus[pu].tail == id {
            self.pus[pu].tail = before;
        }
    }

    /// A processor that has become idle takes the thread that the system prefers.
    pub(super) fn choose(&mut self, pu: u32) {
        if let Some(id) = self.preferred(pu) {
            self.unqueue(id);
            self.threads[id as usize].pu = pu;
            self.put_on(pu, id);
        }
    }

    fn preferred(&mut self, pu: u32) -> Option<u32> {
        let head = self.pus[pu as usize].head;
        if self.floating.is_empty() && (head == NONE || self.model.system == System::RoundRobin) {
            return (head != NONE).then_some(head);
        }
        if self.model.system == System::Linux24 {
            self.recharge(pu);
        }
        let at = numaestro_topology::PuId(pu);
        let mut best: Option<((Nanos, u64), u32)> = None;
        let mut consider = |world: &Self, id: u32| {
            let key = world.rank(id, pu);
            if best.is_none_or(|(other, _)| key < other) {
                best = Some((key, id));
            }
        };
        let mut bound = head;
        while bound != NONE {
            consider(self, bound);
            bound = self.threads[bound as usize].next;
        }
        for &id in &self.floating {
            if self.apps[self.threads[id as usize].app as usize].set.contains(at) {
                consider(self, id);
            }
        }
        best.map(|(_, id)| id)
    }

    /// Lower is better; ties go to the one that waits longest.
    fn rank(&self, id: u32, pu: u32) -> (Nanos, u64) {
        let thread = &self.threads[id as usize];
        let quantum = self.model.quantum_ns;
        let here = thread.last_pu == pu;
        let rank = match self.model.system {
            System::RoundRobin => 0,
            System::Linux24 if thread.counter == 0 => Nanos::MAX,
            System::Linux24 => {
                let bonus = if here { quantum / 10 * LINUX_BONUS_TENTHS } else { 0 };
                (Nanos::MAX / 2).saturating_sub(thread.counter + bonus)
            }
            System::Irix if thread.favoured > 0 => 0,
            System::Irix => {
                let used = decayed(thread, self.now, quantum);
                (used + quantum + 1).saturating_sub(if here { quantum } else { 0 })
            }
        };
        (rank, thread.queued)
    }

    /// Linux 2.4: a new epoch, if no thread that waits for this processor has time left.
    fn recharge(&mut self, pu: u32) {
        let mut any = false;
        let mut at = self.pus[pu as usize].head;
        while at != NONE {
            any = true;
            if self.threads[at as usize].counter > 0 {
                return;
            }
            at = self.threads[at as usize].next;
        }
        if self.floating.iter().any(|&id| self.threads[id as usize].counter > 0) || (!any && self.floating.is_empty()) {
            return;
        }
        let quantum = self.model.quantum_ns;
        for thread in &mut self.threads {
            thread.counter = thread.counter / 2 + quantum;
        }
    }

    /// A thread has used processor time.
    pub(super) fn charge(&mut self, id: u32, ran: Nanos) {
        let (now, quantum) = (self.now, self.model.quantum_ns);
        let thread = &mut self.threads[id as usize];
        match self.model.system {
            System::RoundRobin => {}
            System::Linux24 => thread.counter = thread.counter.saturating_sub(ran),
            System::Irix => {
                thread.counter = decayed(thread, now, quantum) + ran;
                let half_life = quantum.max(1) * IRIX_HALF_LIFE;
                thread.decayed += (now - thread.decayed) / half_life * half_life;
                thread.favoured = thread.favoured.saturating_sub(ran);
            }
        }
    }

    /// How long a thread may run when others wait.
    fn slice_of(&self, id: u32) -> Nanos {
        let thread = &self.threads[id as usize];
        let quantum = self.model.quantum_ns.max(1);
        match self.model.system {
            System::Linux24 if thread.counter > 0 => thread.counter,
            _ => quantum,
        }
    }

    /// The slice of a thread that has just got a processor: without end where nobody else can want it.
    pub(super) fn set_slice(&mut self, pu: u32) {
        let entry = &self.pus[pu as usize];
        let alone = entry.head == NONE && self.floating.is_empty();
        let id = entry.running;
        let end = if alone && !self.threads[id as usize].floats {
            Nanos::MAX
        } else {
            self.now.saturating_add(self.slice_of(id))
        };
        self.pus[pu as usize].slice_end = end;
    }

    /// The slice of whoever runs there has ended.
    pub(super) fn slice_ended(&mut self, pu: u32) {
        let entry = &self.pus[pu as usize];
        if entry.head == NONE && self.floating.is_empty() {
            self.account(pu);
            self.charge_running(pu);
            self.set_slice(pu);
            self.touch(pu);
            return;
        }
        let id = self.take_off(pu);
        self.enqueue(id);
        self.choose(pu);
    }

    /// Nobody else wants the processor: the slice is accounted for and another one begins.
    fn charge_running(&mut self, pu: u32) {
        let entry = &mut self.pus[pu as usize];
        let (id, ran) = (entry.running, self.now - entry.taken);
        entry.taken = self.now;
        let app = self.threads[id as usize].app;
        self.apps[app as usize].record.cpu_ns += ran;
        self.charge(id, ran);
        if self.model.system == System::Linux24 && self.threads[id as usize].counter == 0 {
            self.threads[id as usize].counter = self.model.quantum_ns;
        }
    }

    /// A thread that has woken up and floats takes a processor from somebody much worse, where the system does so.
    fn preempt_for(&mut self, id: u32) {
        if self.model.system == System::RoundRobin {
            return self.limit_everybody();
        }
        let set = &self.apps[self.threads[id as usize].app as usize].set;
        let worst = set
            .iter()
            .filter(|pu| self.pus[pu.index()].running != NONE)
            .map(|pu| {
                let other = self.pus[pu.index()].running;
                let used = self.now - self.pus[pu.index()].taken;
                let mut other_rank = self.rank(other, pu.0).0;
                if self.model.system == System::Linux24 && other_rank != Nanos::MAX {
                    other_rank += used.min(self.threads[other as usize].counter);
                }
                (other_rank.saturating_sub(self.rank(id, pu.0).0), std::cmp::Reverse(pu.0))
            })
            .max();
        match worst {
            Some((gain, std::cmp::Reverse(pu))) if gain > 0 => {
                let other = self.take_off(pu);
                self.enqueue(other);
                self.unqueue(id);
                self.threads[id as usize].pu = pu;
                self.put_on(pu, id);
            }
            _ => {}
        }
        self.limit_everybody();
    }

    /// Somebody waits for any processor: every slice has an end. Those that begin while somebody waits have one anyway.
    fn limit_everybody(&mut self) {
        if self.floating.len() != 1 {
            return;
        }
        for pu in 0..self.pus.len() {
            let entry = &self.pus[pu];
            if entry.running != NONE && entry.slice_end == Nanos::MAX {
                let end = self.now.max(entry.taken + self.slice_of(entry.running));
                self.pus[pu].slice_end = end;
                self.touch(pu as u32);
            }
        }
    }
}

/// Processor time used lately.
fn decayed(thread: &Thread, now: Nanos, quantum: Nanos) -> Nanos {
    let halvings = (now - thread.decayed) / (quantum.max(1) * IRIX_HALF_LIFE);
    thread.counter >> halvings.min(63)
}
