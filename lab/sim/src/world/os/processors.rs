//! Threads on processors: the thread on each processor, its pace, its cache and its pages.
//!
//! A thread that gets a processor owes a switch, perhaps a migration, and the lines that its cache
//! has lost; its references decide its pace. [`Pus`] keeps the accounts; this file knows the costs.

use super::pus::{Pus, Stage};
use super::space::{Meeting, Spaces};
use super::tenant::Tenant;
use super::thread::{Doing, NONE, State, Thread, Threads};
use crate::Nanos;
use crate::machine::Model;
use crate::memory::{Contention, Memory};
use crate::outcome::{ChannelUse, PuTime};
use crate::program::Data;
use crate::world::observer::Occupant;
use crate::world::slots::Slots;
use numaestro_topology::{PuId, PuSet};
use std::sync::Arc;

/// The end of a thread's stage that callers have to know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// The end of its work.
    Work(u32),
    /// The end of its patience: it still waits, but no longer on the processor.
    Patience(u32),
}

/// See the file's header.
#[derive(Debug)]
pub struct Processors {
    model: Arc<Model>,
    pus: Pus,
    memory: Memory,
    spaces: Spaces,
    threads: Threads,
    tenants: Vec<Tenant>,
    repaced: Vec<PuId>,
    /// Threads that have come and gone since this was taken last, if an observer wants them.
    occupancy: Option<Vec<(PuId, Occupant)>>,
}

impl Processors {
    /// All processors of a machine, idle.
    pub fn new(model: Arc<Model>, contention: Contention) -> Self {
        Self {
            pus: Pus::new(model.topology.pu_count()),
            memory: Memory::new(Arc::clone(&model), contention),
            spaces: Spaces::new(Arc::clone(&model)),
            model,
            threads: Threads::default(),
            tenants: Vec::new(),
            repaced: Vec::new(),
            occupancy: None,
        }
    }

    /// Lets time go on until `now`.
    pub(super) fn advance(&mut self, now: Nanos) {
        self.pus.advance(now);
        self.memory.advance(now);
    }

    /// Whether comings and goings of threads are noted for [`Self::occupancy`].
    pub fn watch(&mut self, watched: bool) {
        if watched != self.occupancy.is_some() {
            self.occupancy = watched.then(Vec::new);
        }
    }

    /// Threads that have come and gone since this was taken last.
    pub fn occupancy(&mut self) -> Option<impl Iterator<Item = (PuId, Occupant)>> {
        self.occupancy.as_mut().map(|noted| noted.drain(..))
    }

    /// The accounts.
    pub fn pus(&self) -> &Pus {
        &self.pus
    }

    /// The accounts, to be changed.
    pub(super) fn pus_mut(&mut self) -> &mut Pus {
        &mut self.pus
    }

    /// A thread.
    pub fn thread(&self, id: u32) -> &Thread {
        &self.threads[id]
    }

    /// A thread, to be changed.
    pub(super) fn thread_mut(&mut self, id: u32) -> &mut Thread {
        self.threads.get_mut(id)
    }

    /// All threads.
    pub(super) fn threads(&mut self) -> &mut Threads {
        &mut self.threads
    }

    /// An application.
    pub fn tenant(&self, app: u32) -> &Tenant {
        &self.tenants[app as usize]
    }

    /// An application, to be changed.
    pub(super) fn tenant_mut(&mut self, app: u32) -> &mut Tenant {
        &mut self.tenants[app as usize]
    }

    /// Address spaces.
    pub fn spaces(&mut self) -> &mut Spaces {
        &mut self.spaces
    }

    /// Whether a processor is one of a thread's application.
    pub fn may_run(&self, id: u32, pu: u32) -> bool {
        self.tenant(self.threads[id].app).set.contains(PuId(pu))
    }

    /// An application arrives at a place.
    pub(super) fn enter(&mut self, app: u32, tenant: Tenant, data: &[Data]) {
        self.pus.enter(app);
        self.spaces.enter(&mut self.memory, app, data);
        match self.tenants.get_mut(app as usize) {
            Some(place) => *place = tenant,
            None => self.tenants.push(tenant),
        }
    }

    /// An application is gone.
    pub(super) fn leave(&mut self, app: u32) {
        self.spaces.leave(&mut self.memory, app);
    }

    /// Bytes of an application's pages, by NUMA node.
    pub fn bytes(&self, app: u32) -> Vec<u64> {
        self.spaces.bytes(&self.memory, app)
    }

    /// See [`Spaces::follow`].
    pub fn follow(&mut self, app: u32, meeting: Meeting) -> u64 {
        self.spaces.follow(&mut self.memory, app, meeting)
    }

    /// Books the nanoseconds that a thread was on a processor.
    pub(super) fn book(&mut self, id: u32, ran: Nanos) {
        let thread = self.threads.get_mut(id);
        thread.ran += ran.cast_signed();
        self.tenants[thread.app as usize].usage.cpu_ns += ran;
    }

    /// A segment of work has ended there; the next one begins in the same instant.
    fn end_work(&mut self, pu: u32) {
        self.stop_work(pu);
        self.pus.begin(pu, Stage::Idle, Nanos::MAX);
    }

    /// The thread that runs there begins its next stage.
    pub(super) fn begin_stage(&mut self, pu: u32) {
        self.pus.account(pu);
        if self.pus.stage(pu) == Stage::Work {
            self.stop_work(pu);
        }
        let id = self.pus.running(pu);
        let thread = &self.threads[id];
        if thread.unpaced && !thread.doing.waits() {
            self.pace(id, pu);
        }
        let thread = &self.threads[id];
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
            self.memory.start(PuId(pu), thread.pace);
        }
        self.pus.begin(pu, stage, left);
    }

    /// The thread there stops its work for now: its demand ends, and its references are counted.
    fn stop_work(&mut self, pu: u32) {
        let left = self.pus.left(pu);
        let thread = self.threads.get_mut(self.pus.running(pu));
        let done = thread.left - left;
        thread.left = left;
        if done > 0 {
            let (local, remote) = self.memory.local_remote_per_us(PuId(pu));
            let usage = &mut self.tenants[thread.app as usize].usage;
            let micros = done as f64 / 1000.0;
            thread.moved += micros * (local + remote);
            usage.local_refs += micros * local;
            usage.remote_refs += micros * remote;
        }
        self.memory.stop(PuId(pu));
    }

    /// A thread gets an idle processor; [`Self::begin_stage`] follows.
    pub(super) fn seat(&mut self, pu: u32, id: u32) {
        self.pus.account(pu);
        let thread = self.threads.get_mut(id);
        let tenant = &mut self.tenants[thread.app as usize];
        debug_assert!(thread.state != State::Running, "thread {id} on PU {pu}");
        if thread.last_pu != pu && thread.last_pu != NONE {
            thread.overhead += self.model.costs.migration_ns;
            thread.unpaced = true;
            tenant.usage.migrations += 1;
        }
        if self.pus.seat(pu, id, thread.app, thread.born) {
            thread.overhead += self.model.costs.switch_ns;
        }
        (thread.state, thread.pu) = (State::Running, pu);
        if let Some(occupancy) = &mut self.occupancy {
            occupancy.push((PuId(pu), Some((tenant.id, tenant.job, thread.number))));
        }
        if thread.last_pu == NONE && thread.number > 0 {
            self.count_away(pu, id);
        }
        self.owe_reload(pu, id);
        self.threads.get_mut(id).last_pu = pu;
    }

    /// Counts a child that begins on another object than its master.
    fn count_away(&mut self, pu: u32, id: u32) {
        let tenant = &mut self.tenants[self.threads[id].app as usize];
        let place = |pu: u32| self.model.topology.pus().get(pu as usize).map(|pu| (pu.package, pu.node));
        tenant.usage.children_away += u32::from(place(pu) != place(self.threads[tenant.master].pu));
    }

    /// Lines that the cache has lost while the thread was away are refilled before it works on.
    fn owe_reload(&mut self, pu: u32, id: u32) {
        let thread = self.threads.get_mut(id);
        let tenant = &mut self.tenants[thread.app as usize];
        if tenant.footprint == 0 {
            return;
        }
        let at = PuId(pu);
        let same = thread.last_pu != NONE && self.memory.same_cache(PuId(thread.last_pu), at);
        let since = if same { self.memory.entered(at).saturating_sub(thread.entered) } else { 0 };
        let lines = self.memory.reload_lines(tenant.footprint, since, same, at);
        if lines > 0 {
            thread.reload += self.memory.reload_ns(at, lines);
            self.memory.enter_lines(at, lines);
            thread.moved += lines as f64;
            tenant.usage.reload_lines += lines;
        }
    }

    /// Takes the running thread off; it is nowhere then. Returns it and its time there,
    /// nanoseconds.
    pub(super) fn unseat(&mut self, pu: u32) -> (u32, Nanos) {
        self.pus.account(pu);
        let (stage, left) = (self.pus.stage(pu), self.pus.left(pu));
        if stage == Stage::Work {
            self.stop_work(pu);
        }
        let (id, ran) = self.pus.unseat(pu);
        let thread = self.threads.get_mut(id);
        match stage {
            // Costs added meanwhile are owed beside the rest.
            Stage::Overhead => thread.overhead = left,
            Stage::Reload => thread.reload = left,
            Stage::Spin => thread.spin = left,
            Stage::Work | Stage::Idle => {}
        }
        thread.entered = self.memory.entered(PuId(pu));
        thread.state = State::Blocked;
        self.book(id, ran);
        if let Some(occupancy) = &mut self.occupancy {
            occupancy.push((PuId(pu), None));
        }
        (id, ran)
    }

    /// The stage there has ended. The next one begins, unless callers have to know of the end.
    pub(super) fn stage_ended(&mut self, pu: u32) -> Option<Ended> {
        self.pus.end(pu);
        let id = self.pus.running(pu);
        match self.pus.stage(pu) {
            Stage::Overhead => self.threads.get_mut(id).overhead = 0,
            Stage::Reload => self.threads.get_mut(id).reload = 0,
            Stage::Spin => return Some(Ended::Patience(id)),
            Stage::Work => {
                self.end_work(pu);
                let thread = self.threads.get_mut(id);
                self.tenants[thread.app as usize].usage.done += thread.given - thread.left;
                thread.given = thread.left;
                return Some(Ended::Work(id));
            }
            Stage::Idle => return None,
        }
        self.begin_stage(pu);
        None
    }

    /// Gives a thread work.
    pub(super) fn give(&mut self, id: u32, doing: Doing, work: Nanos) {
        let thread = &self.threads[id];
        let pu = thread.pu;
        if thread.state == State::Running && self.pus.stage(pu) == Stage::Work {
            // It was moved in the instant in which its work ended and has begun a stage of nothing.
            // The end of that stage would be taken for that of the new work.
            self.pus.account(pu);
            self.end_work(pu);
        }
        let thread = self.threads.get_mut(id);
        (thread.doing, thread.left, thread.given) = (doing, work, work);
        self.tenants[thread.app as usize].usage.given += work;
    }

    /// A thread begins a phase, with this part of its data: the pages that it touches are placed,
    /// and its pace has to be asked for. One that floats touches them where it will run.
    pub fn prepare(&mut self, id: u32, part: u32) {
        let thread = self.threads.get_mut(id);
        (thread.part, thread.unpaced) = (part, true);
        let pu = thread.pu;
        if pu != NONE && !thread.floats {
            self.touch_pages(id, pu);
        }
    }

    fn touch_pages(&mut self, id: u32, pu: u32) {
        let (app, part) = (self.threads[id].app, self.threads[id].part);
        let master = self.threads[self.tenants[app as usize].master].pu;
        let master = if master == NONE { pu } else { master };
        self.threads.get_mut(id).overhead += self.spaces.touch(&mut self.memory, app, part, PuId(pu), PuId(master));
    }

    /// Asks for the pace of a thread where it is.
    fn pace(&mut self, id: u32, pu: u32) {
        if self.threads[id].floats {
            self.touch_pages(id, pu);
        }
        let thread = self.threads.get_mut(id);
        thread.pace = self.spaces.pace(&mut self.memory, thread.app, thread.part, PuId(pu));
        thread.unpaced = false;
    }

    /// A curve is on `pus` from now on, and `was` on those. True if another curve is on a
    /// processor that it leaves or comes to.
    pub fn occupy(&mut self, app: u32, was: &PuSet, pus: &PuSet) -> bool {
        let Tenant { id, job, .. } = &self.tenants[app as usize];
        let left = was.iter().filter(|&pu| !pus.contains(pu)).map(|pu| (pu, false));
        let come = pus.iter().filter(|&pu| !was.contains(pu)).map(|pu| (pu, true));
        let mut shared = false;
        for (pu, comes) in left.chain(come) {
            shared |= self.pus.occupy(pu.0, comes);
            if let Some(occupancy) = &mut self.occupancy {
                occupancy.push((pu, comes.then_some((*id, *job, 0))));
            }
        }
        shared
    }

    /// Reads a thread's counters: transactions per millisecond on a processor since the last
    /// reading. `None`, and they go on, if it has run for less than `least` nanoseconds.
    pub fn read_counters(&mut self, id: u32, least: i64) -> Option<f64> {
        let (mut moved, mut ran) = (0.0, 0);
        let (state, pu) = (self.threads[id].state, self.threads[id].pu);
        if state == State::Running {
            self.pus.account(pu);
            ran = (self.pus.now() - self.pus.taken(pu)).cast_signed();
            if self.pus.stage(pu) == Stage::Work {
                let (local, remote) = self.memory.local_remote_per_us(PuId(pu));
                moved = (self.threads[id].left - self.pus.left(pu)) as f64 / 1000.0 * (local + remote);
            }
        }
        let thread = self.threads.get_mut(id);
        let (all, time) = (thread.moved + moved, thread.ran + ran);
        if time < least {
            return None;
        }
        // The additions of the running segment, and of the time since it got its processor, have
        // been read already.
        (thread.moved, thread.ran) = (-moved, -ran);
        Some(all.max(0.0) * 1e6 / time as f64)
    }

    /// The event is over: processors that it has touched get new times of completion.
    pub(super) fn settle(&mut self, slots: &mut Slots) {
        self.repaced.clear();
        self.repaced.extend_from_slice(self.memory.changed());
        for pu in self.repaced.drain(..) {
            self.pus.account(pu.0);
            self.pus.touch(pu.0);
        }
        self.memory.settle();
        self.pus.settle(slots, |pu| self.memory.rate(pu));
    }

    /// Times of processors and use of channels until now.
    pub fn used(&self) -> (Vec<PuTime>, Vec<ChannelUse>) {
        (self.pus.times(), self.memory.channel_use(self.pus.now()))
    }
}
