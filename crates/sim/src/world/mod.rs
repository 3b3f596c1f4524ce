//! The event loop: processors, threads, barriers, the operating system's scheduler, and the engine's shell. Knows no policy.
//!
//! [`World::step`] takes the next event, changes states, lets the engine decide about what was said ([`shell`]), and computes the keys of
//! processors whose work or pace has changed ([`processor`]). Simultaneous events happen in the order of [`queue::Rank`].
//!
//! Reading order: `thread`, `processor`, `system` (who runs), `phases`, `region`, `tasks` (what programs do), `places` (where threads go when
//! they are told), `curve` (programs that have no threads), `shell`.

mod analyzer;
mod app;
mod buses;
mod checks;
mod curve;
mod draws;
mod folded;
mod irix;
mod levels;
mod log;
mod observer;
mod pages;
mod phases;
mod places;
mod processor;
mod queue;
mod ready;
mod region;
mod setup;
mod shell;
mod slots;
mod stop;
mod system;
mod tasks;
mod thread;

use crate::Nanos;
use crate::machine::Model;
use crate::memory::Memory;
use crate::outcome::{JobRecord, Outcome, PuTime};
use crate::program::Program;
use crate::workload::{Arrival, Source};
use app::App;
use levels::Levels;
use log::{Entry, Fingerprint, Line};
use numaestro_engine::{Action, AppId, Engine, Event, Rejected, Settings};
use numaestro_topology::{PuId, PuSet};
use processor::{Pu, Stage};
use queue::{EventQueue, Happening, Heap, Key};
use ready::Ready;
use slots::Slots;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use thread::Thread;

pub use observer::{Observer, Occupant};
pub use setup::{Noise, Setup};

/// A modelled machine with the applications on it and the engine that manages them.
#[derive(Debug)]
pub struct World {
    model: Arc<Model>,
    seed: u64,
    noise: Noise,
    until: Option<Nanos>,
    checks: bool,
    engine: Engine,
    source: Box<dyn Source>,
    memory: Memory,
    now: Nanos,
    queue: Heap,
    slots: Slots,
    pus: Vec<Pu>,
    times: Vec<PuTime>,
    /// Processors without a thread, as bits.
    idle: Vec<u64>,
    /// Processors that the engine may give.
    usable: usize,
    threads: Vec<Thread>,
    free_threads: Vec<u32>,
    /// Birth of the next thread.
    born: u32,
    /// Ready threads that are bound to no processor.
    floating: Ready,
    /// Threads that may run anywhere and wait in the queue of one processor.
    waiting: usize,
    /// By processor: when the thread that runs there has used its time up (Linux 2.4).
    runs_until: Slots,
    /// Threads that became ready so far.
    queued: u64,
    apps: Vec<App>,
    free_apps: Vec<u32>,
    by_id: BTreeMap<AppId, u32>,
    newest: u64,
    names: BTreeMap<String, Arc<str>>,
    arrivals: Vec<Option<(Arrival, bool)>>,
    free_arrivals: Vec<u32>,
    /// Said to the engine, not yet heard.
    events: VecDeque<Event>,
    actions: Vec<Action>,
    /// Applications whose masters wait for what the engine says.
    answers: Vec<u32>,
    /// Decided, and when it reaches applications.
    decided: VecDeque<(Nanos, Action)>,
    /// The same for those that wait for it.
    asked: VecDeque<(Nanos, u32)>,
    deadline: Option<Nanos>,
    /// Processors whose keys have to be computed.
    touched: Vec<u32>,
    repaced: Vec<PuId>,
    /// Applications whose pages are elsewhere than the engine knows.
    resettled: Vec<u32>,
    movers: Vec<u32>,
    load: Vec<u32>,
    freed: Vec<u32>,
    scratch: PuSet,
    jobs: Vec<JobRecord>,
    /// Jobs that the observer has seen.
    shown: usize,
    lines: Option<Vec<Entry>>,
    journal: Option<Vec<(Nanos, Event, Vec<Action>)>>,
    occupancy: Vec<(PuId, Occupant)>,
    watched: bool,
    text: String,
    fingerprint: Fingerprint,
    thread_events: u64,
    engine_events: u64,
    refusals: u64,
    levels: Levels,
    /// Rates read so far.
    samples: u64,
    /// Programs of which only rates are known, and what they are here.
    converted: Vec<(Arc<Program>, Arc<Program>)>,
    /// Policies still to be switched to, the last one first.
    switches: Vec<(Nanos, String)>,
}

impl World {
    /// An empty machine, and what will arrive.
    ///
    /// # Errors
    /// A policy that cannot be used.
    pub fn new(setup: Setup, source: Box<dyn Source>) -> Result<Self, Rejected> {
        let Setup { model, mut settings, seed, contention, until, checks, noise, switches } = setup;
        settings.reserved.or_with(&model.reserved);
        if settings.buses.is_empty() {
            settings.buses = model.buses();
        }
        settings.host = setup::host(&settings.buses);
        let usable = model.topology.allowed().difference(&settings.reserved).len();
        let engine = Engine::new(model.topology.clone(), settings, seed)?;
        let count = model.topology.pu_count();
        let mut idle = vec![u64::MAX; count.div_ceil(64)];
        if count % 64 > 0 {
            idle[count / 64] = (1 << (count % 64)) - 1;
        }
        let mut world = Self {
            seed,
            noise,
            until,
            checks,
            engine,
            source,
            memory: Memory::new(Arc::clone(&model), contention),
            model,
            now: 0,
            queue: Heap::default(),
            slots: Slots::new(count),
            pus: vec![Pu::default(); count],
            times: vec![PuTime::default(); count],
            idle,
            usable,
            threads: Vec::new(),
            free_threads: Vec::new(),
            born: 0,
            floating: Ready::new(count),
            waiting: 0,
            runs_until: Slots::new(count),
            queued: 0,
            apps: Vec::new(),
            free_apps: Vec::new(),
            by_id: BTreeMap::new(),
            newest: 0,
            names: BTreeMap::new(),
            arrivals: Vec::new(),
            free_arrivals: Vec::new(),
            events: VecDeque::new(),
            actions: Vec::new(),
            answers: Vec::new(),
            decided: VecDeque::new(),
            asked: VecDeque::new(),
            deadline: None,
            touched: Vec::new(),
            repaced: Vec::new(),
            resettled: Vec::new(),
            movers: Vec::new(),
            load: Vec::new(),
            freed: Vec::new(),
            scratch: PuSet::with_capacity(count),
            jobs: Vec::new(),
            shown: 0,
            lines: None,
            journal: None,
            occupancy: Vec::new(),
            watched: false,
            text: String::new(),
            fingerprint: Fingerprint::default(),
            thread_events: 0,
            engine_events: 0,
            refusals: 0,
            levels: Levels::default(),
            samples: 0,
            converted: Vec::new(),
            switches: switches.into_iter().rev().collect(),
        };
        world.say_saturations();
        world.expect_switch();
        world.fetch();
        Ok(world)
    }

    /// The next event and all that follows from it at once. False if there is none, or none before the end.
    pub fn step(&mut self, observer: &mut dyn Observer) -> bool {
        self.lines = if observer.wants_log() { Some(self.lines.take().unwrap_or_default()) } else { None };
        self.journal = if observer.wants_journal() { Some(self.journal.take().unwrap_or_default()) } else { None };
        self.watched = observer.wants_runs();
        if !self.happen() {
            return false;
        }
        self.report(observer);
        true
    }

    /// All events.
    pub fn run(&mut self, observer: &mut dyn Observer) -> Outcome {
        while self.step(observer) {}
        self.outcome()
    }

    /// The clock.
    pub fn now(&self) -> Nanos {
        self.now
    }

    /// Events of threads so far.
    pub fn events(&self) -> u64 {
        self.thread_events
    }

    /// The engine.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// The engine's settings as they are in force: the scenario's, what the host can feed, and the machine's reserved processors.
    pub fn settings(&self) -> &Settings {
        self.engine.settings()
    }

    /// What was measured so far.
    pub fn outcome(&self) -> Outcome {
        let pus = self.pus.iter().zip(&self.times).map(|(pu, time)| {
            let (mut time, rest) = (*time, self.now - pu.marked);
            match pu.stage {
                Stage::Idle if pu.curves > 0 => time.work += rest,
                Stage::Idle => time.idle += rest,
                Stage::Overhead => time.overhead += rest,
                Stage::Reload => time.reload += rest,
                Stage::Work => time.work += rest,
                Stage::Spin => time.spin += rest,
            }
            time
        });
        Outcome {
            end: self.now,
            jobs: self.jobs.clone(),
            pus: pus.collect(),
            channels: self.memory.channel_use(self.now),
            thread_events: self.thread_events,
            engine_events: self.engine_events,
            refusals: self.refusals,
            decisions: self.levels.decisions,
            levels: self.levels.over_time.clone(),
            fingerprint: self.fingerprint.0,
        }
    }

    fn happen(&mut self) -> bool {
        let (slot, queued) = (self.slots.first(), self.queue.first());
        let key = slot.min(queued);
        if key == Key::NEVER {
            return false;
        }
        if let Some(until) = self.until.filter(|&until| key.at() > until) {
            self.now = self.now.max(until);
            self.memory.advance(self.now);
            return false;
        }
        assert!(key.at() >= self.now, "the clock goes back");
        self.now = key.at();
        self.memory.advance(self.now);
        if slot <= queued {
            let index = self.slots.winner();
            match index.checked_sub(self.pus.len()) {
                None if slot.is_slice() => {
                    self.thread_events += 1;
                    self.note_slice(index as u32);
                    self.slice_ended(index as u32);
                }
                None => self.stage_ended(index as u32),
                Some(app) => self.curve_ended(app as u32),
            }
        } else {
            match self.queue.pop() {
                Some(Happening::Meeting(app)) => self.meeting(app),
                Some(Happening::End(app)) => self.end(app),
                Some(Happening::Arrival(place)) => self.arrive(place),
                Some(Happening::Resume(app)) => self.resume(app),
                Some(Happening::Deadline) => self.deadline_comes(),
                Some(Happening::Switch) => self.switch_policy(),
                Some(Happening::Decision) => self.decision_arrives(),
                None => {}
            }
        }
        self.feed();
        self.settle();
        if self.checks {
            self.check();
        }
        true
    }

    /// Notes a line of the log.
    fn note(&mut self, line: Line, app: u32, thread: u32, value: u32) {
        let entry = Entry { at: self.now, line, job: self.apps[app as usize].record.job, thread, value };
        self.fingerprint.add(&entry);
        if let Some(lines) = &mut self.lines {
            lines.push(entry);
        }
    }

    fn note_slice(&mut self, pu: u32) {
        let thread = &self.threads[self.pus[pu as usize].running as usize];
        let (app, number) = (thread.app, thread.number);
        self.note(Line::Slice, app, number, pu);
    }

    /// Tells the observer what it wants to know of the event.
    fn report(&mut self, observer: &mut dyn Observer) {
        if let Some(lines) = &mut self.lines {
            for entry in lines.drain(..) {
                entry.write(&mut self.text);
                observer.log(&self.text);
            }
        }
        if let Some(journal) = &mut self.journal {
            for (at, event, actions) in journal.drain(..) {
                if let Event::Arrive { app, .. } = &event
                    && let Some(&index) = self.by_id.get(app)
                {
                    observer.arrives(*app, &self.apps[index as usize].record.program);
                }
                observer.journal(at, &event, &actions);
            }
        }
        for (pu, what) in self.occupancy.drain(..) {
            observer.runs(self.now, pu, what);
        }
        for job in &self.jobs[self.shown..] {
            observer.ended(job);
        }
        self.shown = self.jobs.len();
    }
}
