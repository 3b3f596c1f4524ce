//! The modelled operating system: threads get processors, keep them for a slice, and give them up.
//!
//! Programs give threads work and places; [`Queues`] choose the next thread; [`Processors`] keep
//! costs and progress. Nothing here calls a program: the end of a thread's work is an answer
//! ([`Os::stage_ended`]), and the caller decides about the next step.
//!
//! Reading order: `thread`, `pus` (accounts), `space` (pages and references), `processors`,
//! `balance`, `queues`, this file.

mod balance;
mod checks;
mod held;
mod processors;
mod pus;
mod queues;
mod ready;
mod space;
mod tenant;
mod thread;

use super::slots::Slots;
use crate::Nanos;
use crate::machine::Model;
use crate::memory::Contention;
use crate::outcome::{ChannelUse, PuTime};
use crate::program::{Data, Wait};
use numaestro_engine::AppId;
use numaestro_topology::{PuId, PuSet};
use processors::{Ended, Processors};
use queues::Queues;
use space::Spaces;
use std::sync::Arc;
use tenant::Tenant;
use thread::Threads;

pub use space::Meeting;
pub use tenant::Usage;
pub use thread::{Doing, NONE, State, Thread};

/// See the file's header.
#[derive(Debug)]
pub struct Os {
    cpus: Processors,
    queues: Queues,
    freed: Vec<u32>,
}

impl Os {
    /// The operating system of a machine on which nothing runs.
    pub fn new(model: Arc<Model>, contention: Contention) -> Self {
        let queues = Queues::new(&model);
        Self { cpus: Processors::new(model, contention), queues, freed: Vec::new() }
    }

    /// Lets time go on until `now`.
    pub fn advance(&mut self, now: Nanos) {
        self.cpus.advance(now);
    }

    /// Times of processors and use of channels until now.
    pub fn used(&self) -> (Vec<PuTime>, Vec<ChannelUse>) {
        self.cpus.used()
    }

    /// An application arrives at a place, with its number in the workload, the working set of each
    /// thread in lines, and its memory.
    pub fn enter(&mut self, app: u32, (id, job): (AppId, u64), footprint: u64, data: &[Data]) {
        self.cpus.enter(app, Tenant::new(id, job, footprint), data);
    }

    /// An application is gone, with its threads.
    pub fn leave(&mut self, app: u32, team: &[u32]) {
        self.retire(team);
        self.cpus.leave(app);
    }

    /// The usage of an application's threads.
    pub fn usage(&self, app: u32) -> Usage {
        let (overhead_ns, spin_ns) = self.cpus.pus().lost(app);
        Usage { overhead_ns, spin_ns, ..self.cpus.tenant(app).usage }
    }

    /// Time on processors of an application, with this team, until now, nanoseconds.
    pub fn cpu_time(&self, app: u32, team: &[u32]) -> Nanos {
        let pus = self.cpus.pus();
        let running = team.iter().map(|&id| self.thread(id)).filter(|thread| thread.state == State::Running);
        let since_seated: Nanos = running.map(|thread| pus.now() - pus.taken(thread.pu)).sum();
        self.cpus.tenant(app).usage.cpu_ns + since_seated
    }

    /// Number of threads of this team that run or want to.
    pub fn ready_threads(&self, team: &[u32]) -> u32 {
        let wants = |id: &&u32| matches!(self.thread(**id).state, State::Running | State::Ready | State::Held);
        team.iter().filter(wants).count() as u32
    }

    /// Processors, to be told of phases, curves and counters.
    pub fn cpus(&mut self) -> &mut Processors {
        &mut self.cpus
    }

    /// Address spaces.
    pub fn spaces(&mut self) -> &mut Spaces {
        self.cpus.spaces()
    }

    /// Threads, to be told of costs.
    pub fn threads(&mut self) -> &mut Threads {
        self.cpus.threads()
    }

    /// A thread.
    pub fn thread(&self, id: u32) -> &Thread {
        self.cpus.thread(id)
    }

    /// The thread that runs on a processor; [`NONE`]: none.
    pub fn running(&self, pu: u32) -> u32 {
        self.cpus.pus().running(pu)
    }

    /// An application's processors.
    pub fn set(&self, app: u32) -> &PuSet {
        &self.cpus.tenant(app).set
    }

    /// Whether an application is stopped.
    pub fn is_stopped(&self, app: u32) -> bool {
        self.cpus.tenant(app).stopped
    }

    /// Whether a thread is on a processor that is not its application's.
    pub fn is_outside(&self, id: u32) -> bool {
        let thread = self.thread(id);
        thread.pu != NONE && !self.cpus.may_run(id, thread.pu)
    }

    /// Processors of the threads of a team that have something to do.
    pub fn busy<'a>(&'a self, team: &'a [u32]) -> impl Iterator<Item = PuId> + Clone + 'a {
        let threads = team.iter().map(|&id| self.thread(id));
        threads.filter(|thread| thread.doing != Doing::Nothing && thread.pu != NONE).map(|thread| PuId(thread.pu))
    }

    /// An application has these processors from now on. Its threads stay where they are.
    pub fn allot(&mut self, app: u32, pus: &PuSet) {
        self.cpus.tenant_mut(app).set.clone_from(pus);
    }

    /// A new thread of an application, parked: the master is number 0.
    pub fn spawn(&mut self, app: u32, number: u32, floats: bool, pu: u32) -> u32 {
        let id = self.cpus.threads().spawn(app, number);
        self.queues.enter(id);
        if number == 0 {
            self.cpus.tenant_mut(app).master = id;
        }
        self.place(id, pu, floats);
        id
    }

    /// Parked threads are gone.
    pub fn retire(&mut self, team: &[u32]) {
        for &id in team {
            self.cpus.threads().retire(id);
        }
    }

    /// A parked thread belongs to a processor from now on, or to its whole set.
    pub fn place(&mut self, id: u32, pu: u32, floats: bool) {
        let thread = self.cpus.thread_mut(id);
        (thread.pu, thread.floats) = (pu, floats);
    }

    /// A thread gets work, and begins it where it is, or wakes up.
    pub fn run(&mut self, id: u32, doing: Doing, work: Nanos) {
        self.cpus.give(id, doing, work);
        let thread = self.thread(id);
        match thread.state {
            State::Running => self.cpus.begin_stage(thread.pu),
            State::Ready | State::Held => {}
            State::Blocked | State::New => self.wake(id),
        }
    }

    /// A thread waits: on the processor as its phase says.
    pub fn wait(&mut self, id: u32, doing: Doing, wait: Wait) {
        let thread = self.cpus.thread_mut(id);
        thread.doing = doing;
        thread.spin = match wait {
            Wait::Spin => Nanos::MAX,
            Wait::SpinThenBlock(limit) => limit,
            Wait::Block => 0,
        };
        if thread.state == State::Running {
            match wait {
                Wait::Block => self.block(id),
                Wait::Spin | Wait::SpinThenBlock(_) => {
                    let pu = thread.pu;
                    self.cpus.begin_stage(pu);
                }
            }
        }
    }

    /// A thread has nothing to do.
    pub fn park(&mut self, id: u32) {
        let doing = &mut self.cpus.thread_mut(id).doing;
        if std::mem::replace(doing, Doing::Nothing) != Doing::Nothing {
            self.block(id);
        }
    }

    /// A thread that waits gives its processor to one that waits for a processor.
    pub fn hand_over(&mut self, id: u32, to: u32, floats: bool) {
        let thread = self.cpus.thread_mut(id);
        let (pu, ran) = (thread.pu, thread.state == State::Running);
        thread.spin = 0;
        self.block(id);
        if ran && self.running(pu) == NONE && self.thread(to).state == State::Ready {
            self.move_to(to, pu, floats);
        }
    }

    /// A thread belongs to a processor from now on, or to its whole set, whatever it does.
    pub fn move_to(&mut self, id: u32, pu: u32, floats: bool) {
        let (state, from) = (self.thread(id).state, self.thread(id).pu);
        if state == State::Running && (from == pu || floats && !self.is_outside(id)) {
            return self.place(id, from, floats);
        }
        match state {
            State::Running => _ = self.take_off(from),
            State::Ready => self.queues.take(&mut self.cpus, id),
            State::Blocked | State::New | State::Held => {}
        }
        self.place(id, pu, floats);
        if state == State::Running {
            self.choose(from);
        }
        if matches!(state, State::Running | State::Ready) {
            self.wake(id);
        }
    }

    /// Mean part that each curve has of these processors.
    pub fn part_of_curve(&self, pus: &PuSet) -> f64 {
        self.cpus.pus().part_of_curve(pus)
    }

    /// The stage on a processor has ended. Returns the thread that has ended its work.
    pub fn stage_ended(&mut self, pu: u32) -> Option<u32> {
        match self.cpus.stage_ended(pu)? {
            Ended::Work(id) => Some(id),
            Ended::Patience(id) => {
                self.block(id);
                None
            }
        }
    }

    /// The slice of the running thread on a processor has ended.
    pub fn slice_ended(&mut self, pu: u32) {
        if !self.queues.is_empty(pu) {
            let id = self.take_off(pu);
            self.queues.put(&mut self.cpus, id);
            self.queues.rebalance(&mut self.cpus, pu);
            return self.choose(pu);
        }
        let (id, ran) = self.cpus.pus_mut().renew(pu);
        self.cpus.book(id, ran);
        self.queues.charge(id, ran, self.cpus.pus().now());
        self.queues.renew(id);
        self.queues.note_time_left(&self.cpus, pu);
        self.queues.set_slice(&mut self.cpus, pu);
    }

    /// The event is over: processors that it has touched get new times of completion.
    pub fn settle(&mut self, slots: &mut Slots) {
        self.cpus.settle(slots);
    }

    /// A thread gives its processor up until something wakes it.
    fn block(&mut self, id: u32) {
        let thread = self.cpus.thread_mut(id);
        let pu = thread.pu;
        match thread.state {
            State::Running => {
                self.take_off(pu);
                self.choose(pu);
            }
            State::Ready => self.queues.take(&mut self.cpus, id),
            State::Held => thread.state = State::Blocked,
            State::Blocked | State::New => {}
        }
    }

    /// A thread that was off wants a processor.
    fn wake(&mut self, id: u32) {
        let app = self.thread(id).app;
        if self.cpus.tenant(app).stopped {
            self.cpus.thread_mut(id).state = State::Held;
            return;
        }
        let thread = self.thread(id);
        let place = if thread.floats { self.idle_place(thread) } else { Some(thread.pu) };
        if let Some(pu) = place.filter(|&pu| self.running(pu) == NONE) {
            return self.put_on(pu, id);
        }
        let waits_at = self.queues.waits_at(&self.cpus, id);
        if let Some((pu, _)) = waits_at {
            self.cpus.thread_mut(id).pu = pu;
        }
        self.queues.put(&mut self.cpus, id);
        match waits_at {
            Some((pu, better)) if better => self.preempt(pu, id),
            None if self.thread(id).floats => {
                if let Some(pu) = self.queues.worst_for(&self.cpus, id) {
                    self.preempt(pu, id);
                }
                self.queues.limit_everybody(&mut self.cpus);
            }
            Some(_) | None => {}
        }
    }

    /// A thread that waits takes a processor from the running thread.
    fn preempt(&mut self, pu: u32, id: u32) {
        let other = self.take_off(pu);
        self.queues.put(&mut self.cpus, other);
        self.queues.take(&mut self.cpus, id);
        self.cpus.thread_mut(id).pu = pu;
        self.put_on(pu, id);
    }

    /// An idle processor for a thread that floats: the one it ran on, else the lowest of its set.
    fn idle_place(&self, thread: &Thread) -> Option<u32> {
        let (last, set) = (thread.last_pu, self.set(thread.app));
        if last != NONE && self.running(last) == NONE && set.contains(PuId(last)) {
            return Some(last);
        }
        self.cpus.pus().lowest_idle(set)
    }

    /// A processor that has become idle takes the thread that the system prefers.
    fn choose(&mut self, pu: u32) {
        let Some(id) = self.queues.next(&self.cpus, pu) else {
            return self.queues.note_time_left(&self.cpus, pu);
        };
        self.queues.take(&mut self.cpus, id);
        self.cpus.thread_mut(id).pu = pu;
        self.put_on(pu, id);
    }

    /// A thread gets an idle processor.
    fn put_on(&mut self, pu: u32, id: u32) {
        self.cpus.seat(pu, id);
        self.queues.note_time_left(&self.cpus, pu);
        self.queues.set_slice(&mut self.cpus, pu);
        self.cpus.begin_stage(pu);
    }

    /// Takes the running thread off and returns it. A choice follows, which notes the time left.
    fn take_off(&mut self, pu: u32) -> u32 {
        let (id, ran) = self.cpus.unseat(pu);
        self.queues.charge(id, ran, self.cpus.pus().now());
        id
    }

    /// See [`checks`]: by application its place, its team, and whether its processors are its own.
    pub fn check<'a>(&self, apps: impl Iterator<Item = (u32, &'a [u32], bool)>) {
        checks::check(&self.cpus, &self.queues, apps);
    }
}
