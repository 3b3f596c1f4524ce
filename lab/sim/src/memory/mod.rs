//! The cost of references: it follows from the places of pages, the contents that caches have lost,
//! and the threads that use the same channels.
//!
//! [`Memory`] is the one door. The world tells it which threads run where and asks for paces; it
//! answers with rates, never with times.
//!
//! A thread does `w` microseconds of work and meanwhile makes `r` references, each of which takes
//! the processor the time that the machine gives for its class. Alone, its rate is therefore
//! `w / (w + r × cost)`. Channels (buses, controllers, links) make references slower when their
//! users together want more than they can carry; a [`solver`](Contention) computes by how much.

mod amva;
mod caches;
mod classes;
mod field;
mod follow;
mod maxmin;
mod pace;
mod pages;
mod solver;
mod stretch;
mod viewers;

pub use crate::machine::CHANNELS_MAX;
pub use field::CHANGE_TOLD;
pub use follow::Away;
pub use pace::Pace;
pub use pages::{AppMemory, Toucher};

use crate::Nanos;
use crate::machine::{Model, Op};
use crate::outcome::ChannelUse;
use crate::program::{Data, DataId, Refs};
use caches::Caches;
use field::Field;
use numaestro_topology::{NumaNodeId, PuId};
use pace::Mixer;
use pages::Pages;
use solver::Solver;
use std::sync::Arc;

/// The ways to compute queueing for channels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Contention {
    /// No queueing.
    None,
    /// Max-min fair shares of each channel: exact far below and far above saturation.
    #[default]
    MaxMin,
    /// Approximate mean value analysis (Schweitzer): has the knee.
    Amva,
    /// Every reference takes longer by the same factor, the least with which no channel carries
    /// more than it can.
    Stretch,
}

/// Pages, caches and channels of one machine.
#[derive(Debug)]
pub struct Memory {
    model: Arc<Model>,
    pages: Pages,
    caches: Caches,
    mixer: Mixer,
    field: Field,
    solver: Option<Box<dyn Solver>>,
    /// New rates from the solver, on their way.
    found: Vec<(usize, f64)>,
    changed: Vec<PuId>,
    /// Whether a PU is in `changed`.
    listed: Vec<bool>,
    /// By class: whether it is newer than the last answer of the solver, so that its rate is only a
    /// guess.
    guessed: Vec<bool>,
}

impl Memory {
    /// The memory of a machine that has just been started: everything is free and cold.
    ///
    /// # Panics
    /// If references of one processor can use more than [`CHANNELS_MAX`] channels (the machine
    /// reader refuses such machines).
    pub fn new(model: Arc<Model>, contention: Contention) -> Self {
        let pus = model.topology.pu_count();
        let field = Field::new(&model);
        let solver: Option<Box<dyn Solver>> = match contention {
            _ if model.channels.is_empty() => None,
            Contention::None => None,
            Contention::MaxMin => Some(Box::new(maxmin::MaxMin::new(&field))),
            Contention::Amva => Some(Box::new(amva::Amva::new(&field))),
            Contention::Stretch => Some(Box::new(stretch::Stretch::new(&field))),
        };
        Self {
            pages: Pages::new(&model),
            caches: Caches::new(&model),
            mixer: Mixer::new(&model),
            field,
            solver,
            found: Vec::with_capacity(pus),
            changed: Vec::with_capacity(pus),
            listed: vec![false; pus],
            guessed: vec![false; pus],
            model,
        }
    }

    /// An application with this memory arrives; nothing of it is placed yet.
    pub fn enter(&mut self, data: &[Data]) -> AppMemory {
        self.pages.enter(data)
    }

    /// An application is gone, and its pages are free. Its threads must have been stopped.
    ///
    /// # Panics
    /// If it has left before.
    pub fn leave(&mut self, app: AppMemory) {
        self.pages.leave(app);
    }

    /// A thread touches a part of some data. Returns the number of pages that are placed now (page
    /// faults): all of the part if the thread is the first to touch it, otherwise 0. Whole data has
    /// one part, whatever the number.
    ///
    /// Touch before asking for a [`Self::pace`]: a part that nobody has touched counts as local.
    pub fn touch(&mut self, app: AppMemory, data: DataId, part: u32, by: &Toucher<'_>) -> u64 {
        self.pages.touch(&self.model, app, data, part, by)
    }

    /// The pace of a thread on a processor: its speed, and its demands on channels. It stays right
    /// until the thread moves or pages of its data are placed, so a caller that repeats a segment
    /// keeps it.
    pub fn pace(&mut self, app: AppMemory, refs: &[Refs], part: u32, master_part: u32, pu: PuId) -> Pace {
        self.pace_among(app, refs, (part, master_part), 1.0, pu)
    }

    /// The pace of a thread (its part, its master's) in a team that has this share of the partners
    /// that it could have.
    pub fn pace_among(&mut self, app: AppMemory, refs: &[Refs], parts: (u32, u32), partners: f64, pu: PuId) -> Pace {
        self.mixer.pace(&self.model, self.pages.of(app), refs, parts, partners, pu)
    }

    /// A thread runs on this PU now.
    ///
    /// # Panics
    /// If another thread runs there.
    pub fn start(&mut self, pu: PuId, pace: Pace) {
        let Some((class, is_new)) = self.field.start(pu, &pace) else { return };
        let Some(solver) = &mut self.solver else { return };
        solver.moved(&self.field, class);
        if is_new {
            let rate = solver.guess(&self.field, class);
            self.field.tell(class, rate, |_| ());
            self.guessed[class] = true;
        }
    }

    /// The thread on this PU ends. Nothing happens if there is none.
    pub fn stop(&mut self, pu: PuId) {
        if let (Some(solver), Some(class)) = (&mut self.solver, self.field.class_of(pu)) {
            solver.moved(&self.field, class);
        }
        self.field.stop(pu);
    }

    /// PUs whose [`Self::rate`] is another than when they were last told (at their start, or here),
    /// including PUs that have just been started if their first rate was a guess. Cleared by
    /// [`Self::settle`].
    ///
    /// Ask after the last of the starts and stops of one moment: their effects on each other are
    /// computed here, once.
    pub fn changed(&mut self) -> &[PuId] {
        self.solve();
        let field = &self.field;
        if self.changed.iter().any(|&pu| !field.runs(pu)) {
            let listed = &mut self.listed;
            self.changed.retain(|&pu| {
                listed[pu.index()] = field.runs(pu);
                field.runs(pu)
            });
        }
        &self.changed
    }

    /// The world has seen the changes.
    pub fn settle(&mut self) {
        for pu in self.changed.drain(..) {
            self.listed[pu.index()] = false;
        }
    }

    /// Work nanoseconds per elapsed nanosecond of the thread there, in (0, 1]; 1 where nothing
    /// runs.
    pub fn rate(&self, pu: PuId) -> f64 {
        self.field.told(pu)
    }

    /// References that leave the cache, per microsecond of *work* of the thread there: to the
    /// nearest class of memory, and to all others.
    pub fn local_remote_per_us(&self, pu: PuId) -> (f64, f64) {
        self.field.local_remote_per_us(pu)
    }

    /// Lines that have come into the cache of this PU so far, as [`Self::enter_lines`] was told.
    pub fn entered(&self, pu: PuId) -> u64 {
        self.caches.entered(pu)
    }

    /// A thread on this PU has brought lines into its cache.
    pub fn enter_lines(&mut self, pu: PuId, lines: u64) {
        self.caches.enter(pu, lines);
    }

    /// Lines that a thread must bring in again to run on this PU: its debt. `since_entered` is the
    /// value of [`Self::entered`] there when the thread stopped, `same_cache` says whether the
    /// thread ran there at all.
    pub fn reload_lines(&self, footprint: u64, since_entered: u64, same_cache: bool, pu: PuId) -> u64 {
        self.caches.reload_lines(footprint, since_entered, same_cache, pu)
    }

    /// Nanoseconds to bring in `lines` from local memory, with the channels as busy as they are.
    pub fn reload_ns(&self, pu: PuId, lines: u64) -> Nanos {
        if lines == 0 {
            return 0;
        }
        let node = self.model.node_of(pu);
        let cost_ps = self.model.cost_ps(pu, node, Op::Line) as f64;
        let waits_ps = self.solver.as_ref().map_or(0.0, |solver| {
            let route = self.mixer.route(pu, node);
            solver.wait_us(route, cost_ps / 1e6) * 1e6
        });
        ((cost_ps + waits_ps) * lines as f64 / 1e3 + 0.5) as Nanos
    }

    /// Whether two PUs have their lines in the same cache.
    pub fn same_cache(&self, a: PuId, b: PuId) -> bool {
        self.caches.same(a, b)
    }

    /// Lets time go on: until `now` everything runs at the rates that are known.
    ///
    /// # Panics
    /// If time goes back.
    pub fn advance(&mut self, now: Nanos) {
        if now > self.field.now() {
            self.solve();
        }
        self.field.advance(now);
    }

    /// The use of each channel in `elapsed` nanoseconds from 0.
    pub fn channel_use(&self, elapsed: Nanos) -> Vec<ChannelUse> {
        self.field.channel_use(&self.model, elapsed)
    }

    /// Checks the invariants: the pages of applications and the free pages are together the pages
    /// of the machine; no channel carries more than it can; the flow of each channel is the sum
    /// over the threads that run. For tests: it looks at everything.
    ///
    /// # Errors
    /// The invariant that does not hold.
    pub fn check(&self) -> Result<(), String> {
        self.pages.check()?;
        self.field.check(&self.model, self.solver.is_some())
    }

    /// Pages that live applications have on a node.
    pub fn pages_on(&self, node: NumaNodeId) -> u64 {
        self.pages.on(node)
    }

    /// Pages of one application's data by node: (node, pages), in the order of placement.
    pub fn pages_of(&self, app: AppMemory, data: DataId) -> Vec<(NumaNodeId, u64)> {
        self.pages.of(app).spread_of(data)
    }

    /// Adds an application's bytes to those of each node.
    pub fn bytes_of(&self, app: AppMemory, by_node: &mut [u64]) {
        self.pages.add_bytes(app, u64::from(self.model.page_bytes), by_node);
    }

    /// The pages of an application that could be moved to a node.
    pub fn away(&self, app: AppMemory, home: NumaNodeId) -> Away {
        self.pages.away(&self.model, app, home)
    }

    /// Moves at most so many pages of an application to a node, as far as there is room. Returns
    /// their number. Paces asked for before are wrong afterwards.
    pub fn move_pages(&mut self, app: AppMemory, home: NumaNodeId, most: u64) -> u64 {
        self.pages.move_to(app, home, most)
    }

    fn solve(&mut self) {
        let Some(solver) = self.solver.as_mut().filter(|solver| solver.is_stale()) else { return };
        self.found.clear();
        solver.solve(&self.field, &mut self.found);
        for &(class, rate) in &self.found {
            let told = self.field.rate(class);
            let close = if std::mem::take(&mut self.guessed[class]) { 0.0 } else { told * CHANGE_TOLD };
            if (rate - told).abs() > close {
                let (listed, changed) = (&mut self.listed, &mut self.changed);
                self.field.tell(class, rate, |pu| {
                    if !std::mem::replace(&mut listed[pu.index()], true) {
                        changed.push(pu);
                    }
                });
            }
        }
    }
}
