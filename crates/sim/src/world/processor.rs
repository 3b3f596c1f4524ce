//! Processors: who runs there, what that does just now, and how far it has come. Knows nothing of phases and of the engine.
//!
//! What runs goes through stages: it pays overheads, refills its cache, then works or waits. Each stage ends at its processor's slot; a slice
//! that ends earlier comes first.

use super::World;
use super::queue::{Key, Rank};
use super::thread::{Doing, NONE, State};
use crate::Nanos;
use numaestro_topology::PuId;

/// What a processor does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Stage {
    /// Nothing (or an application that is only a curve).
    Idle,
    /// Costs of the system.
    Overhead,
    /// Refills its cache.
    Reload,
    /// Work.
    Work,
    /// Waits.
    Spin,
}

/// One processor: a cache line.
#[derive(Debug, Clone)]
#[repr(align(64))]
pub(super) struct Pu {
    /// Everything before this time is accounted for.
    pub marked: Nanos,
    /// What is left of the stage at that time; `Nanos::MAX` = no end.
    pub left: Nanos,
    /// Progress per elapsed nanosecond.
    pub rate: f64,
    /// When its slice ends; `Nanos::MAX` = nobody else wants the processor.
    pub slice_end: Nanos,
    /// When the running thread got it.
    pub taken: Nanos,
    pub running: u32,
    /// Who ran last: its `born`, because numbers of threads are used again.
    pub last: u32,
    /// Its queue.
    pub head: u32,
    pub tail: u32,
    /// Applications that are only curves, on it.
    pub curves: u16,
    pub stage: Stage,
    /// Its key has to be computed.
    pub touched: bool,
}

impl Default for Pu {
    fn default() -> Self {
        Self {
            marked: 0,
            left: Nanos::MAX,
            rate: 1.0,
            slice_end: Nanos::MAX,
            taken: 0,
            running: NONE,
            last: NONE,
            head: NONE,
            tail: NONE,
            curves: 0,
            stage: Stage::Idle,
            touched: false,
        }
    }
}

impl Pu {
    /// When the stage ends at the present pace.
    fn ends(&self) -> Nanos {
        if self.left == Nanos::MAX || self.rate <= 0.0 {
            Nanos::MAX
        } else if self.rate >= 1.0 {
            self.marked.saturating_add(self.left)
        } else {
            self.marked.saturating_add(libm::ceil(self.left as f64 / self.rate) as u64)
        }
    }
}

impl World {
    /// Brings the accounts of a processor up to now.
    pub(super) fn account(&mut self, pu: u32) {
        let entry = &mut self.pus[pu as usize];
        let elapsed = self.now - entry.marked;
        if elapsed == 0 {
            return;
        }
        entry.marked = self.now;
        let time = &mut self.times[pu as usize];
        match entry.stage {
            Stage::Idle if entry.curves > 0 => time.work += elapsed,
            Stage::Idle => time.idle += elapsed,
            Stage::Reload => time.reload += elapsed,
            Stage::Work => time.work += elapsed,
            Stage::Overhead => {
                time.overhead += elapsed;
                let app = self.threads[entry.running as usize].app;
                self.apps[app as usize].record.overhead_ns += elapsed;
            }
            Stage::Spin => {
                time.spin += elapsed;
                let app = self.threads[entry.running as usize].app;
                self.apps[app as usize].record.spin_ns += elapsed;
            }
        }
        if entry.left != Nanos::MAX {
            let done = if entry.rate >= 1.0 { elapsed } else { (elapsed as f64 * entry.rate) as u64 };
            entry.left = entry.left.saturating_sub(done);
        }
    }

    /// Its key is computed when the event is over.
    pub(super) fn touch(&mut self, pu: u32) {
        let entry = &mut self.pus[pu as usize];
        if !entry.touched {
            entry.touched = true;
            self.touched.push(pu);
        }
    }

    /// A segment of work has ended there; what follows begins in the same instant.
    pub(super) fn end_stage(&mut self, pu: u32) {
        self.stop_work(pu);
        let entry = &mut self.pus[pu as usize];
        (entry.stage, entry.left, entry.rate) = (Stage::Idle, Nanos::MAX, 1.0);
        self.touch(pu);
    }

    /// Whoever runs there begins what it has to do next.
    pub(super) fn begin_stage(&mut self, pu: u32) {
        self.account(pu);
        if self.pus[pu as usize].stage == Stage::Work {
            self.stop_work(pu);
        }
        let id = self.pus[pu as usize].running;
        let thread = &self.threads[id as usize];
        if thread.unpaced && !thread.doing.waits() {
            self.pace(id, pu);
        }
        let thread = &self.threads[id as usize];
        let (stage, left) = if thread.overhead > 0 {
            (Stage::Overhead, thread.overhead)
        } else if thread.reload > 0 {
            (Stage::Reload, thread.reload)
        } else if thread.doing.waits() {
            (Stage::Spin, thread.spin)
        } else {
            (Stage::Work, thread.left)
        };
        if stage == Stage::Work {
            self.memory.start(PuId(pu), self.threads[id as usize].pace);
        }
        let entry = &mut self.pus[pu as usize];
        (entry.stage, entry.left, entry.rate) = (stage, left, 1.0);
        self.touch(pu);
    }

    /// What runs there works no more just now: its demand ends, and its references are counted.
    fn stop_work(&mut self, pu: u32) {
        let entry = &self.pus[pu as usize];
        let thread = &mut self.threads[entry.running as usize];
        let done = thread.left - entry.left;
        thread.left = entry.left;
        if done > 0 {
            let (local, remote) = self.memory.local_remote_per_us(PuId(pu));
            let app = &mut self.apps[thread.app as usize];
            let micros = done as f64 / 1000.0;
            thread.moved += micros * (local + remote);
            app.local_refs += micros * local;
            app.remote_refs += micros * remote;
        }
        self.memory.stop(PuId(pu));
    }

    /// A thread gets an idle processor.
    pub(super) fn put_on(&mut self, pu: u32, id: u32) {
        self.account(pu);
        let costs = self.model.costs;
        let thread = &mut self.threads[id as usize];
        let entry = &mut self.pus[pu as usize];
        debug_assert!(entry.running == NONE && thread.state != State::Running, "thread {id} on PU {pu}");
        let moved = thread.last_pu != pu && thread.last_pu != NONE;
        if moved {
            thread.overhead += costs.migration_ns;
            thread.unpaced = true;
            self.apps[thread.app as usize].record.migrations += 1;
        }
        let begins = thread.last_pu == NONE && thread.number > 0;
        if entry.last != thread.born {
            thread.overhead += costs.switch_ns;
        }
        (thread.state, thread.pu) = (State::Running, pu);
        (entry.running, entry.last, entry.taken) = (id, thread.born, self.now);
        self.idle[pu as usize >> 6] &= !(1 << (pu & 63));
        if begins {
            self.count_away(pu, id);
        }
        self.owe_reload(pu, id);
        self.threads[id as usize].last_pu = pu;
        self.note_time_left(pu);
        self.set_slice(pu);
        self.begin_stage(pu);
        self.watch(pu, Some(id));
    }

    /// Notes whether a child begins elsewhere than its master is.
    fn count_away(&mut self, pu: u32, id: u32) {
        let entry = &mut self.apps[self.threads[id as usize].app as usize];
        let master = self.threads[entry.team[0] as usize].pu;
        let place = |pu: u32| self.model.topology.pus().get(pu as usize).map(|pu| (pu.package, pu.node));
        entry.record.children_away += u32::from(place(pu) != place(master));
    }

    /// What a cache has lost while the thread was away is refilled before it works on.
    fn owe_reload(&mut self, pu: u32, id: u32) {
        let thread = &self.threads[id as usize];
        let footprint = self.apps[thread.app as usize].program.footprint_lines;
        if footprint == 0 {
            return;
        }
        let at = PuId(pu);
        let same = thread.last_pu != NONE && self.memory.same_cache(PuId(thread.last_pu), at);
        let since = if same { self.memory.entered(at).saturating_sub(thread.entered) } else { 0 };
        let lines = self.memory.reload_lines(footprint, since, same, at);
        if lines > 0 {
            self.threads[id as usize].reload += self.memory.reload_ns(at, lines);
            self.memory.enter_lines(at, lines);
            let thread = &mut self.threads[id as usize];
            thread.moved += lines as f64;
            self.apps[thread.app as usize].record.reload_lines += lines;
        }
    }

    /// Takes the running thread off. It is nowhere then: the caller says what becomes of it.
    pub(super) fn take_off(&mut self, pu: u32) -> u32 {
        self.account(pu);
        let stage = self.pus[pu as usize].stage;
        if stage == Stage::Work {
            self.stop_work(pu);
        }
        let entry = &mut self.pus[pu as usize];
        let id = std::mem::replace(&mut entry.running, NONE);
        let thread = &mut self.threads[id as usize];
        match stage {
            // What was added meanwhile is owed beside what is left.
            Stage::Overhead => thread.overhead = entry.left,
            Stage::Reload => thread.reload = entry.left,
            Stage::Spin => thread.spin = entry.left,
            Stage::Work | Stage::Idle => {}
        }
        let ran = self.now - entry.taken;
        thread.entered = self.memory.entered(PuId(pu));
        thread.state = State::Blocked;
        thread.ran += ran.cast_signed();
        self.apps[thread.app as usize].record.cpu_ns += ran;
        (entry.stage, entry.left, entry.rate, entry.slice_end) = (Stage::Idle, Nanos::MAX, 1.0, Nanos::MAX);
        self.idle[pu as usize >> 6] |= 1 << (pu & 63);
        self.charge(id, ran);
        self.note_time_left(pu);
        self.touch(pu);
        self.watch(pu, None);
        id
    }

    /// Notes who runs there for those that watch.
    fn watch(&mut self, pu: u32, id: Option<u32>) {
        if self.watched {
            let who = id.map(|id| {
                let thread = &self.threads[id as usize];
                let app = &self.apps[thread.app as usize];
                (app.id, app.record.job, thread.number)
            });
            self.occupancy.push((PuId(pu), who));
        }
    }

    /// The stage there has ended.
    pub(super) fn stage_ended(&mut self, pu: u32) {
        self.account(pu);
        let entry = &mut self.pus[pu as usize];
        entry.left = 0;
        let id = entry.running;
        match entry.stage {
            Stage::Overhead => {
                self.threads[id as usize].overhead = 0;
                self.begin_stage(pu);
            }
            Stage::Reload => {
                self.threads[id as usize].reload = 0;
                self.begin_stage(pu);
            }
            Stage::Spin => self.block(id),
            Stage::Work => self.segment_ended(id),
            Stage::Idle => {}
        }
    }

    /// A thread has something new to do: it goes on with that where it is, or wakes up.
    pub(super) fn go_on(&mut self, id: u32) {
        let thread = &self.threads[id as usize];
        match thread.state {
            State::Running => self.begin_stage(thread.pu),
            State::Ready | State::Held => {}
            State::Blocked | State::New => self.wake(id),
        }
    }

    /// A thread gives its processor up until something wakes it.
    pub(super) fn block(&mut self, id: u32) {
        let thread = &self.threads[id as usize];
        let pu = thread.pu;
        match thread.state {
            State::Running => {
                self.take_off(pu);
                self.choose(pu);
            }
            State::Ready => self.unqueue(id),
            State::Held => self.threads[id as usize].state = State::Blocked,
            State::Blocked | State::New => {}
        }
    }

    /// Gives a thread work.
    pub(super) fn give(&mut self, id: u32, doing: Doing, work: Nanos) {
        let thread = &self.threads[id as usize];
        let pu = thread.pu;
        if thread.state == State::Running && self.pus[pu as usize].stage == Stage::Work {
            // It was moved in the instant in which its work ended and has begun a stage of nothing, whose end would be taken for that of
            // the new work.
            self.account(pu);
            self.end_stage(pu);
        }
        let thread = &mut self.threads[id as usize];
        (thread.doing, thread.left, thread.given) = (doing, work, work);
        let app = &mut self.apps[thread.app as usize];
        app.given += work;
    }

    /// Computes the keys of processors that this event has touched, and of those whose pace it has changed.
    pub(super) fn settle(&mut self) {
        self.repaced.clear();
        self.repaced.extend_from_slice(self.memory.changed());
        for index in 0..self.repaced.len() {
            let pu = self.repaced[index].0;
            self.account(pu);
            self.touch(pu);
        }
        self.memory.settle();
        while let Some(pu) = self.touched.pop() {
            let working = self.pus[pu as usize].stage == Stage::Work;
            let entry = &mut self.pus[pu as usize];
            entry.touched = false;
            if working {
                entry.rate = self.memory.rate(PuId(pu));
            }
            let key = Key::new(entry.ends(), Rank::Segment).min(Key::new(entry.slice_end, Rank::Slice));
            self.slots.set(pu as usize, key);
        }
    }
}
