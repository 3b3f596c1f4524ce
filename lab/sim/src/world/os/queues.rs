//! The next thread on a processor that several threads may use: the queues and priorities of the
//! modelled operating system.
//!
//! Threads that are bound to a processor wait in its queue. The system chooses the one that a
//! processor takes, and the queue of the threads that may run on every processor ("floating" ones):
//! * round robin: floating threads wait in one queue; the one that waits longest runs; a slice is
//!   one quantum.
//! * Linux 2.4 (Love 2003, ch. 3 of the first edition; `kernel/sched.c`): floating threads wait in
//!   one queue; every thread has a counter of time left in this epoch. The largest "goodness" runs:
//!   the counter, and a bonus where it ran last. When all ready counters are 0 every thread's
//!   becomes a quantum plus half of the time it had left.
//! * IRIX (as Martorell et al. 2000, §6 describe the system that they measured): each floating
//!   thread waits where it ran last. A processor without work takes it, or [`Balance`] moves it.
//!   Priority decays with processor time used lately, counted in quanta, which halves in every
//!   half-life. A new thread has the best priority for one quantum and takes a processor from the
//!   thread that has used most.

use super::balance::{Balance, emptier};
use super::processors::Processors;
use super::ready::Ready;
use super::thread::{NONE, State};
use crate::Nanos;
use crate::machine::{Irix, Model, System};
use crate::world::queue::{Key, Rank};
use crate::world::slots::Slots;
use numaestro_topology::PuId;

/// Linux 2.4's `PROC_CHANGE_PENALTY` is 15 ticks where a full counter has about 10: in tenths of a
/// quantum.
const LINUX_BONUS_TENTHS: Nanos = 15;

/// The account of a thread.
#[derive(Debug, Clone, Copy, Default)]
struct Account {
    /// The thread behind it in its processor's queue.
    next: u32,
    /// Its place in the order in which all ready threads became ready.
    queued: u64,
    /// Time left in this epoch (Linux 2.4), or processor time used lately (IRIX), nanoseconds.
    counter: Nanos,
    /// Time of the last decay of `counter` (IRIX), nanoseconds.
    decayed: Nanos,
    /// Nanoseconds for which it has the best priority (IRIX).
    favoured: Nanos,
}

/// The queues.
#[derive(Debug)]
pub struct Queues {
    system: System,
    quantum: Nanos,
    favours_new: bool,
    irix: Irix,
    balance: Balance,
    /// By processor: head and tail of its queue.
    bound: Vec<(u32, u32)>,
    /// Ready threads that are bound to no processor.
    floating: Ready,
    /// Threads that may run anywhere and wait in the queue of one processor.
    waiting: usize,
    /// Accounts by thread.
    accounts: Vec<Account>,
    /// Threads that became ready so far.
    queued: u64,
    /// By processor: the time at which the thread that runs there has used its time up (Linux 2.4).
    runs_until: Slots,
}

impl Queues {
    /// Empty queues, of this machine's system.
    pub fn new(model: &Model) -> Self {
        let pus = model.topology.pu_count();
        Self {
            system: model.system,
            quantum: model.quantum_ns,
            favours_new: model.favours_new,
            irix: model.irix,
            balance: Balance::new(model.irix.rebalance_ns, pus),
            bound: vec![(NONE, NONE); pus],
            floating: Ready::new(pus),
            waiting: 0,
            accounts: Vec::new(),
            queued: 0,
            runs_until: Slots::new(pus),
        }
    }

    /// Adds the account of a new thread.
    pub fn enter(&mut self, id: u32) {
        let counter = if self.system == System::Linux24 { self.quantum } else { 0 };
        let favoured = if self.favours_new { self.quantum } else { 0 };
        let account = Account { next: NONE, counter, favoured, ..Account::default() };
        match self.accounts.get_mut(id as usize) {
            Some(place) => *place = account,
            None => self.accounts.push(account),
        }
    }

    /// Puts a thread that is nowhere at the end of its queue.
    pub fn put(&mut self, cpus: &mut Processors, id: u32) {
        self.queued += 1;
        let thread = cpus.thread_mut(id);
        thread.state = State::Ready;
        let (pu, last, floats) = (thread.pu, thread.last_pu, thread.floats);
        let account = &mut self.accounts[id as usize];
        (account.queued, account.next) = (self.queued, NONE);
        if floats && self.system != System::Irix {
            let key = place(self.system, &self.accounts[id as usize]);
            return self.floating.insert(id, last, key);
        }
        self.waiting += usize::from(floats);
        let (head, tail) = &mut self.bound[pu as usize];
        match std::mem::replace(tail, id) {
            NONE => *head = id,
            tail => self.accounts[tail as usize].next = id,
        }
        cpus.pus_mut().limit_slice(pu, |running| self.slice_of(running));
    }

    /// Takes a ready thread out of its queue; it is off then.
    pub fn take(&mut self, cpus: &mut Processors, id: u32) {
        let thread = cpus.thread_mut(id);
        thread.state = State::Blocked;
        if thread.floats && self.system != System::Irix {
            return self.floating.remove(id);
        }
        self.waiting -= usize::from(thread.floats);
        let (head, tail) = &mut self.bound[thread.pu as usize];
        let next = self.accounts[id as usize].next;
        let (mut before, mut at) = (NONE, *head);
        while at != id {
            (before, at) = (at, self.accounts[at as usize].next);
        }
        if *tail == id {
            *tail = before;
        }
        match before {
            NONE => *head = next,
            before => self.accounts[before as usize].next = next,
        }
    }

    /// Whether no thread that is bound to this processor waits.
    pub fn is_bound_empty(&self, pu: u32) -> bool {
        self.bound[pu as usize].0 == NONE
    }

    /// Whether no thread waits for this processor.
    pub fn is_empty(&self, pu: u32) -> bool {
        self.is_bound_empty(pu) && self.floating.is_empty()
    }

    /// The thread that a processor that has become idle takes.
    pub fn next(&mut self, cpus: &Processors, pu: u32) -> Option<u32> {
        if self.waiting == 0 && self.is_empty(pu) {
            return None;
        }
        match self.system {
            System::RoundRobin => self.longest_waiting(cpus, pu),
            System::Linux24 => {
                self.recharge(cpus, pu);
                self.best_of_all(cpus, pu)
            }
            System::Irix => self.best_bound(cpus, pu).map(|(_, id)| id).or_else(|| self.steal(cpus, pu)),
        }
    }

    /// The threads in a processor's queue, first to last.
    fn bound(&self, pu: u32) -> impl Iterator<Item = u32> {
        let some = |id: u32| (id != NONE).then_some(id);
        std::iter::successors(some(self.bound[pu as usize].0), move |&id| some(self.accounts[id as usize].next))
    }

    /// The thread that waits longest, bound or not.
    fn longest_waiting(&self, cpus: &Processors, pu: u32) -> Option<u32> {
        let head = self.bound[pu as usize].0;
        match self.floating.first().filter(|(id, _)| cpus.may_run(*id, pu)) {
            Some((id, (_, queued))) if head == NONE || queued < self.accounts[head as usize].queued => Some(id),
            _ => (head != NONE).then_some(head),
        }
    }

    /// The thread with the largest goodness, bound here or not bound.
    fn best_of_all(&self, cpus: &Processors, pu: u32) -> Option<u32> {
        let floating = [self.floating.first().map(|(id, _)| id), self.floating.first_of(pu)].into_iter().flatten();
        let floating = floating.filter(|&id| cpus.may_run(id, pu)).map(|id| (self.rank(cpus, id, pu), id));
        self.best_bound(cpus, pu).into_iter().chain(floating).min().map(|(_, id)| id)
    }

    /// The best thread in the queue of a processor.
    fn best_bound(&self, cpus: &Processors, pu: u32) -> Option<((Nanos, u64), u32)> {
        self.bound(pu).map(|id| (self.rank(cpus, id, pu), id)).min_by_key(|(rank, _)| *rank)
    }

    /// IRIX: a processor without work takes the thread that waits longest elsewhere and may run
    /// here.
    fn steal(&self, cpus: &Processors, pu: u32) -> Option<u32> {
        if self.waiting == 0 {
            return None;
        }
        let waiting = (0..cpus.pus().count()).flat_map(|other| self.bound(other));
        let may = waiting.filter(|&id| cpus.thread(id).floats && cpus.may_run(id, pu));
        may.min_by_key(|&id| self.accounts[id as usize].queued)
    }

    /// IRIX: if it is time to balance, the thread that waits longest on a crowded processor waits
    /// on another one from now on.
    pub fn rebalance(&mut self, cpus: &mut Processors, pu: u32) {
        if self.system != System::Irix || !self.balance.looks(pu, cpus.pus().now()) {
            return;
        }
        let floating = self.bound(pu).filter(|&id| cpus.thread(id).floats);
        let Some(id) = floating.min_by_key(|&id| self.accounts[id as usize].queued) else { return };
        let set = &cpus.tenant(cpus.thread(id).app).set;
        let busy = set.iter().filter(|&PuId(other)| other != pu && cpus.pus().running(other) != NONE);
        if let Some(to) = emptier(self.bound(pu).count(), busy.map(|other| (other.0, 1 + self.bound(other.0).count())))
        {
            self.take(cpus, id);
            cpus.thread_mut(id).pu = to;
            self.put(cpus, id);
        }
    }

    /// The rank of a thread: lower is better; ties go to the one that waits longest.
    fn rank(&self, cpus: &Processors, id: u32, pu: u32) -> (Nanos, u64) {
        let account = &self.accounts[id as usize];
        let here = cpus.thread(id).last_pu == pu;
        let rank = match self.system {
            System::RoundRobin => 0,
            System::Linux24 if account.counter == 0 => Nanos::MAX,
            System::Linux24 => {
                let bonus = if here { self.quantum / 10 * LINUX_BONUS_TENTHS } else { 0 };
                (Nanos::MAX / 2).saturating_sub(account.counter + bonus)
            }
            System::Irix if account.favoured > 0 => 0,
            System::Irix => {
                // A running thread has used time that is not charged yet, and is better by a
                // quantum where it is.
                let pus = cpus.pus();
                let uncharged = if pus.running(pu) == id { pus.now() - pus.taken(pu) } else { 0 };
                let used = (self.used_lately(id, pus.now()) + uncharged) / self.quantum.max(1);
                used + 1 + Nanos::from(!here)
            }
        };
        (rank, account.queued)
    }

    /// IRIX: the processor at which a floating thread is to wait, and whether the thread is better
    /// than the one that runs there. It waits where it ran last, a new one where a thread has used
    /// most.
    pub fn waits_at(&self, cpus: &Processors, id: u32) -> Option<(u32, bool)> {
        let thread = cpus.thread(id);
        if !thread.floats || self.system != System::Irix {
            return None;
        }
        let (pus, set, last) = (cpus.pus(), &cpus.tenant(thread.app).set, thread.last_pu);
        let used = |pu: &PuId| (self.rank(cpus, pus.running(pu.0), pu.0).0, std::cmp::Reverse(pu.0));
        let pu = if self.accounts[id as usize].favoured > 0 || last == NONE || !set.contains(PuId(last)) {
            let busy = set.iter().filter(|pu| pus.running(pu.0) != NONE);
            busy.max_by_key(used).map_or(last, |pu| pu.0)
        } else {
            last
        };
        let other = pus.running(pu);
        Some((pu, other != NONE && self.rank(cpus, id, pu) < (self.rank(cpus, other, pu).0, 0)))
    }

    /// Linux 2.4: a new epoch, if no thread that waits for this processor has time left.
    fn recharge(&mut self, cpus: &Processors, pu: u32) {
        if self.bound(pu).any(|id| self.accounts[id as usize].counter > 0) {
            return;
        }
        match self.floating.first() {
            Some((_, (rank, _))) if rank < Nanos::MAX => return,
            None if self.bound[pu as usize].0 == NONE => return,
            _ => {}
        }
        for account in &mut self.accounts {
            account.counter = account.counter / 2 + self.quantum;
        }
        let (system, accounts) = (self.system, &self.accounts);
        self.floating.rekey(|id| place(system, &accounts[id as usize]));
        for pu in 0..cpus.pus().count() {
            self.note_time_left(cpus, pu);
        }
    }

    /// A thread has used processor time.
    pub fn charge(&mut self, id: u32, ran: Nanos, now: Nanos) {
        match self.system {
            System::RoundRobin => {}
            System::Linux24 => {
                let counter = &mut self.accounts[id as usize].counter;
                *counter = counter.saturating_sub(ran);
            }
            System::Irix => {
                let lately = self.used_lately(id, now);
                let account = &mut self.accounts[id as usize];
                account.counter = lately + ran;
                let half_life = self.irix.half_life_ns.max(1);
                account.decayed += (now - account.decayed) / half_life * half_life;
                account.favoured = account.favoured.saturating_sub(ran);
            }
        }
    }

    /// Linux 2.4: a thread that keeps its processor because no other thread wants it begins a new
    /// epoch of its own.
    pub fn renew(&mut self, id: u32) {
        let account = &mut self.accounts[id as usize];
        if self.system == System::Linux24 && account.counter == 0 {
            account.counter = self.quantum;
        }
    }

    /// IRIX: processor time used lately, nanoseconds.
    fn used_lately(&self, id: u32, now: Nanos) -> Nanos {
        let account = &self.accounts[id as usize];
        let halvings = (now - account.decayed) / self.irix.half_life_ns.max(1);
        account.counter >> halvings.min(63)
    }

    /// Linux 2.4: notes the time at which the running thread has used its time up.
    pub fn note_time_left(&mut self, cpus: &Processors, pu: u32) {
        if self.system == System::Linux24 {
            let key = match self.accounts.get(cpus.pus().running(pu) as usize) {
                Some(account) => Key::new(cpus.pus().taken(pu) + account.counter, Rank::Slice),
                None => Key::NEVER,
            };
            self.runs_until.set(pu as usize, key);
        }
    }

    /// Nanoseconds for which a thread may run when others wait.
    fn slice_of(&self, id: u32) -> Nanos {
        match self.system {
            System::Linux24 if self.accounts[id as usize].counter > 0 => self.accounts[id as usize].counter,
            System::RoundRobin | System::Linux24 | System::Irix => self.quantum.max(1),
        }
    }

    /// Sets the slice of a thread that has just got a processor: without end where no other thread
    /// can want it.
    pub fn set_slice(&self, cpus: &mut Processors, pu: u32) {
        let id = cpus.pus().running(pu);
        let moves = cpus.thread(id).floats && self.system != System::Irix;
        let alone = self.is_empty(pu) && !moves;
        let end = if alone { Nanos::MAX } else { cpus.pus().now().saturating_add(self.slice_of(id)) };
        cpus.pus_mut().end_slice_at(pu, end);
    }

    /// Linux 2.4: the processor whose thread is worse than this one by most. Candidates are the
    /// processor whose thread has least time left, and the one where this thread ran last, on which
    /// both have the bonus.
    pub fn worst_for(&self, cpus: &Processors, id: u32) -> Option<u32> {
        let counter = self.accounts[id as usize].counter;
        let soonest = self.runs_until.first();
        if self.system != System::Linux24 || counter == 0 || soonest == Key::NEVER {
            return None;
        }
        let bonus = self.quantum / 10 * LINUX_BONUS_TENTHS;
        let left = |until: Nanos| until.saturating_sub(cpus.pus().now());
        let worst = self.runs_until.winner() as u32;
        let gain = counter.saturating_sub(left(soonest.at()) + bonus);
        let last = cpus.thread(id).last_pu;
        if last != NONE && cpus.pus().running(last) != NONE && cpus.may_run(id, last) {
            let here = counter.saturating_sub(left(self.runs_until.get(last as usize).at()));
            if here > gain {
                return Some(last);
            }
        }
        (gain > 0 && cpus.may_run(id, worst)).then_some(worst)
    }

    /// A thread waits for any processor: every slice has an end. Slices that begin while a thread
    /// waits have one anyway.
    pub fn limit_everybody(&self, cpus: &mut Processors) {
        if self.floating.len() != 1 {
            return;
        }
        for pu in 0..cpus.pus().count() {
            cpus.pus_mut().limit_slice(pu, |running| self.slice_of(running));
        }
    }
}

/// The order of threads that wait for any processor.
fn place(system: System, account: &Account) -> (u64, u64) {
    let rank = match system {
        System::Linux24 if account.counter == 0 => Nanos::MAX,
        System::Linux24 => Nanos::MAX / 2 - account.counter,
        System::RoundRobin | System::Irix => 0,
    };
    (rank, account.queued)
}
