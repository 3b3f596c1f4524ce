//! The stage of a run: its programs, its manager and the machine around them. A plain record; the
//! events on it are functions of `shell`, `life`, `upsets` and `calm`, in this order: each calls
//! those before it only.

use super::agenda::{Agenda, Happening};
use super::faults::Faults;
use super::ledger::Ledger;
use super::options::{Listener, Options, Planted};
use super::plan::Plan;
use super::program::Program;
use super::trace;
use crate::random::{Purpose, Stream};
use numaestro_engine::{AppId, Engine, Event};
use numaestro_topology::PuSet;
use std::collections::{BTreeMap, VecDeque};

/// Nothing is wrong, or one sentence about the mistake.
pub(super) type Verdict = Result<(), String>;

/// The manager: an engine, and what its shell keeps beside it.
pub(super) struct Manager {
    /// `None` while none lives.
    pub engine: Option<Engine>,
    /// Policy that the next one takes over.
    pub policy: String,
    pub ledger: Ledger,
    /// Said in the shell itself, to be heard next.
    pub inbox: VecDeque<Event>,
    /// Programs by the numbers that it knows them by.
    pub by_id: BTreeMap<AppId, usize>,
    /// Number of the latest.
    pub newest: u64,
}

/// Counts of the run so far.
#[derive(Debug, Default)]
pub(super) struct Counts {
    /// Events that the engine was given.
    pub events: u64,
    /// Actions that it wanted.
    pub actions: u64,
    /// Programs that came to their ends.
    pub ended: u64,
    /// Targets that named other processors than the one before.
    pub moves: u64,
    /// Time from the end of the faults until nothing moved any more, nanoseconds.
    pub settled_ns: u64,
}

/// The part of the machine that programs can use.
#[derive(Debug, Default)]
pub(super) struct Supply {
    pub offline: PuSet,
    /// Processors that load which is not managed keeps busy.
    pub unmanaged: u32,
    /// Memory that is free, as last said; empty: it has not been said.
    pub free_memory: Vec<u64>,
}

/// See the file's header.
pub(super) struct Stage<'a> {
    pub plan: Plan,
    pub options: &'a Options,
    pub listener: &'a mut dyn Listener,
    pub faults: Faults,
    pub agenda: Agenda,
    pub manager: Manager,
    pub programs: Vec<Program>,
    pub supply: Supply,
    /// Programs neither get on nor change what they do.
    pub frozen: bool,
    /// Nothing goes wrong any more.
    pub calm: bool,
    pub draws: Stream,
    pub counts: Counts,
}

impl<'a> Stage<'a> {
    /// Empty, as a seed says.
    pub fn new(seed: u64, options: &'a Options, listener: &'a mut dyn Listener) -> Self {
        let plan = Plan::draw(seed);
        let manager = Manager {
            engine: None,
            policy: plan.settings.policy.clone(),
            ledger: Ledger::new(plan.machine.pu_count(), plan.settings.grace_ns),
            inbox: VecDeque::new(),
            by_id: BTreeMap::new(),
            newest: 0,
        };
        Self {
            plan,
            options,
            listener,
            faults: Faults::draw(seed, &options.without),
            agenda: Agenda::new(),
            manager,
            programs: Vec::new(),
            supply: Supply::default(),
            frozen: false,
            calm: false,
            draws: Stream::new(seed, Purpose::Arrivals, 0),
            counts: Counts::default(),
        }
    }

    /// Whether nobody wants to see more.
    pub fn is_cut(&self) -> bool {
        self.options.steps.is_some_and(|steps| self.agenda.steps() >= steps)
    }

    /// A line of the trace.
    pub fn note(&mut self, what: &str, app: Option<AppId>, rest: &str) {
        if self.listener.wants_trace() {
            let line = trace::line(self.agenda.now(), self.agenda.clock(), what, app, rest);
            self.listener.trace(&line);
        }
    }

    /// A fault has struck: a line of the trace.
    pub fn note_fault(&mut self, what: &str, app: Option<AppId>, rest: &str) {
        self.faults.count();
        self.note(what, app, rest);
    }

    /// Sets the shell's timer to what the engine wants.
    pub fn set_timer(&mut self) {
        let deadline = self.manager.engine.as_ref().and_then(Engine::deadline);
        self.agenda.set_timer(deadline, || self.faults.maybe_late());
    }

    /// Starts or stops the clock of a program's work.
    pub fn reckon(&mut self, index: usize) {
        let program = &mut self.programs[index];
        let gets_on = !self.frozen && program.gets_on(&self.supply.offline);
        if let Some((at, version)) = program.work.reckon(self.agenda.now(), gets_on) {
            self.agenda.at(at, Happening::Ends(index, version));
        }
    }

    /// The same for all.
    pub fn reckon_all(&mut self) {
        (0..self.programs.len()).for_each(|index| self.reckon(index));
    }

    /// A program is no more. Its death is seen, perhaps late.
    pub fn dies(&mut self, index: usize) {
        let program = &mut self.programs[index];
        if !std::mem::replace(&mut program.alive, false) {
            return;
        }
        program.places.vanish();
        program.work.cease();
        if let Some(app) = program.app
            && self.options.planted != Planted::DepartUnsaid
        {
            let late = self.faults.maybe_late();
            self.agenda.after(late, Happening::Notice(Event::Depart { app }));
        }
    }
}
