//! The scheduler of the modelled operating system: who runs on a processor that several threads may use. Knows nothing of what threads do.
//!
//! Threads that are bound to a processor wait in its queue. Which of them it takes, and where threads wait that may run on every processor, is the
//! system's choice:
//! * round robin: those wait in one queue; the one that waits longest runs; a slice is one quantum.
//! * Linux 2.4 (Love 2003, ch. 3 of the first edition; `kernel/sched.c`): they wait in one queue; every thread has a counter of time left in this epoch. The
//!   largest "goodness" runs: the counter, and a bonus where it ran last. When all ready counters are 0 every thread's becomes a quantum plus half
//!   of what it had left.
//! * IRIX (as Martorell et al. 2000, §6 describe what they measured): each waits where it ran last, and elsewhere only a processor without work takes
//!   it; priority decays with processor time used lately, counted in quanta, which halves in every two of them; a new one has the best priority for one quantum and takes a
//!   processor from whoever has used most.

use super::World;
use super::irix::{HALF_LIFE, decayed};
use super::queue;
use super::thread::{NONE, State, Thread};
use crate::Nanos;
use crate::machine::System;

/// Linux 2.4's `PROC_CHANGE_PENALTY` is 15 ticks where a full counter has about 10: in tenths of a quantum.
const LINUX_BONUS_TENTHS: Nanos = 15;

impl World {
    /// A thread that was off wants a processor.
    pub(super) fn wake(&mut self, id: u32) {
        let thread = &mut self.threads[id as usize];
        if self.apps[thread.app as usize].stopped {
            thread.state = State::Held;
            return;
        }
        let thread = &self.threads[id as usize];
        let place = if thread.floats { self.idle_place(thread) } else { Some(thread.pu) };
        if let Some(pu) = place.filter(|&pu| self.pus[pu as usize].running == NONE) {
            self.put_on(pu, id);
            return;
        }
        if thread.floats && self.model.system == System::Irix {
            return self.wait_locally(id);
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
        if thread.floats && self.model.system != System::Irix {
            let last = self.threads[id as usize].last_pu;
            let key = self.place_in_queue(id);
            self.floating.insert(id, last, key);
            return;
        }
        let pu = thread.pu;
        let entry = &mut self.pus[pu as usize];
        match entry.tail {
            NONE => entry.head = id,
            tail => self.threads[tail as usize].next = id,
        }
        self.waiting += usize::from(self.threads[id as usize].floats);
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
        if thread.floats && self.model.system != System::Irix {
            self.floating.remove(id);
            return;
        }
        self.waiting -= usize::from(thread.floats);
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
        if head == NONE && self.waiting == 0 && self.floating.is_empty() {
            return None;
        }
        match self.model.system {
            System::RoundRobin => self.longest_waiting(pu),
            System::Linux24 => {
                self.recharge(pu);
                self.best_of_all(pu)
            }
            System::Irix => self.best_bound(pu).map(|(_, id)| id).or_else(|| self.steal(pu)),
        }
    }

    /// The one that waits longest, bound or not.
    fn longest_waiting(&self, pu: u32) -> Option<u32> {
        let head = self.pus[pu as usize].head;
        let floating = self.floating.first().filter(|(id, _)| self.may_run(*id, pu));
        match floating {
            Some((id, (_, queued))) if head == NONE || queued < self.threads[head as usize].queued => Some(id),
            _ => (head != NONE).then_some(head),
        }
    }

    /// The largest goodness of those that are bound here and those that are not bound.
    fn best_of_all(&self, pu: u32) -> Option<u32> {
        let bound = self.best_bound(pu);
        let floating = [self.floating.first().map(|(id, _)| id), self.floating.first_of(pu)].into_iter().flatten();
        let floating = floating.filter(|&id| self.may_run(id, pu)).map(|id| (self.rank(id, pu), id));
        bound.into_iter().chain(floating).min().map(|(_, id)| id)
    }

    /// The best in the queue of a processor.
    fn best_bound(&self, pu: u32) -> Option<((Nanos, u64), u32)> {
        let mut best: Option<((Nanos, u64), u32)> = None;
        let mut at = self.pus[pu as usize].head;
        while at != NONE {
            let key = self.rank(at, pu);
            if best.is_none_or(|(other, _)| key < other) {
                best = Some((key, at));
            }
            at = self.threads[at as usize].next;
        }
        best
    }

    /// Whether a processor is one of a thread's application.
    pub(super) fn may_run(&self, id: u32, pu: u32) -> bool {
        self.apps[self.threads[id as usize].app as usize].set.contains(numaestro_topology::PuId(pu))
    }

    /// What orders threads that wait for any processor.
    fn place_in_queue(&self, id: u32) -> (u64, u64) {
        let thread = &self.threads[id as usize];
        let rank = match self.model.system {
            System::Linux24 if thread.counter == 0 => Nanos::MAX,
            System::Linux24 => Nanos::MAX / 2 - thread.counter,
            System::RoundRobin | System::Irix => 0,
        };
        (rank, thread.queued)
    }

    /// Lower is better; ties go to the one that waits longest.
    pub(super) fn rank(&self, id: u32, pu: u32) -> (Nanos, u64) {
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
                // Whoever runs has used what has not been charged yet, and is better by a quantum where it is.
                let running = self.pus[pu as usize].running == id;
                let now = if running { self.now - self.pus[pu as usize].taken } else { 0 };
                let used = (decayed(thread, self.now, quantum) + now) / quantum.max(1);
                used + 1 + Nanos::from(!here)
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
        match self.floating.first() {
            Some((_, (rank, _))) if rank < Nanos::MAX => return,
            None if !any => return,
            _ => {}
        }
        let quantum = self.model.quantum_ns;
        for thread in &mut self.threads {
            thread.counter = thread.counter / 2 + quantum;
        }
        let mut floating = std::mem::take(&mut self.floating);
        floating.rekey(|id| self.place_in_queue(id));
        self.floating = floating;
        for pu in 0..self.pus.len() as u32 {
            self.note_time_left(pu);
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
                let half_life = quantum.max(1) * HALF_LIFE;
                thread.decayed += (now - thread.decayed) / half_life * half_life;
                thread.favoured = thread.favoured.saturating_sub(ran);
            }
        }
    }

    /// Linux 2.4: notes when whoever runs there has used its time up.
    pub(super) fn note_time_left(&mut self, pu: u32) {
        if self.model.system == System::Linux24 {
            let id = self.pus[pu as usize].running;
            let key = match self.threads.get(id as usize) {
                Some(thread) => queue::Key::new(self.pus[pu as usize].taken + thread.counter, queue::Rank::Slice),
                None => queue::Key::NEVER,
            };
            self.runs_until.set(pu as usize, key);
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
        let moves = self.threads[id as usize].floats && self.model.system != System::Irix;
        let end = if alone && !moves { Nanos::MAX } else { self.now.saturating_add(self.slice_of(id)) };
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
        let thread = &mut self.threads[id as usize];
        thread.ran += ran.cast_signed();
        self.apps[thread.app as usize].record.cpu_ns += ran;
        self.charge(id, ran);
        if self.model.system == System::Linux24 && self.threads[id as usize].counter == 0 {
            self.threads[id as usize].counter = self.model.quantum_ns;
        }
        self.note_time_left(pu);
    }

    /// A thread that has woken up and floats takes a processor from somebody much worse, where the system does so.
    fn preempt_for(&mut self, id: u32) {
        if self.model.system == System::Linux24
            && let Some(pu) = self.worst_for(id)
        {
            let other = self.take_off(pu);
            self.enqueue(other);
            self.unqueue(id);
            self.threads[id as usize].pu = pu;
            self.put_on(pu, id);
        }
        self.limit_everybody();
    }

    /// The processor whose thread is worse than this one by most: that with least time left, or that where this one ran last, which is a bonus for both.
    fn worst_for(&self, id: u32) -> Option<u32> {
        let thread = &self.threads[id as usize];
        let bonus = self.model.quantum_ns / 10 * LINUX_BONUS_TENTHS;
        let soonest = self.runs_until.first();
        let left = |until: Nanos| until.saturating_sub(self.now);
        if thread.counter == 0 || soonest == queue::Key::NEVER {
            return None;
        }
        let worst = self.runs_until.winner() as u32;
        let gain = thread.counter.saturating_sub(left(soonest.at()) + bonus);
        let last = thread.last_pu;
        if last != NONE && self.pus[last as usize].running != NONE && self.may_run(id, last) {
            let here = thread.counter.saturating_sub(left(self.runs_until.get(last as usize).at()));
            if here > gain {
                return Some(last);
            }
        }
        (gain > 0 && self.may_run(id, worst)).then_some(worst)
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
