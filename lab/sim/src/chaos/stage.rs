//! The stage of a run: its programs, its manager and the machine around them. It is a plain record.
//! The events on it are functions of `shell`, `life`, `upsets` and `calm`, in this order: each
//! calls only the ones before it.

use super::agenda::{Agenda, Happening};
use super::faults::Faults;
use super::ledger::Ledger;
use super::marks::{Around, Observer};
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

/// The manager: an engine, and the records of its shell.
pub(super) struct Manager {
    /// `None` while no manager lives.
    pub engine: Option<Engine>,
    /// Policy that the next manager takes over.
    pub policy: String,
    pub ledger: Ledger,
    /// Events from the shell itself, to be heard next.
    pub inbox: VecDeque<Event>,
    /// Programs by the numbers that the manager knows them by.
    pub by_id: BTreeMap<AppId, usize>,
    /// Number of the latest program.
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
    /// Number of processors that unmanaged load keeps busy.
    pub unmanaged: u32,
    /// Free bytes of memory by node, as last said; empty: nobody has said them.
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
    /// Programs neither make progress nor change their activity.
    pub frozen: bool,
    /// Faults have stopped.
    pub calm: bool,
    pub draws: Stream,
    pub counts: Counts,
    pub observer: Observer,
}

impl<'a> Stage<'a> {
    /// An empty stage, with the parts that the seed draws.
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
            observer: Observer::default(),
        }
    }

    /// Whether the run has come to its last step.
    pub fn is_cut(&self) -> bool {
        self.options.steps.is_some_and(|steps| self.agenda.steps() >= steps)
    }

    /// Writes a line of the trace.
    pub fn note(&mut self, what: &str, app: Option<AppId>, rest: &str) {
        if self.listener.wants_trace() {
            let line = trace::line(self.agenda.now(), self.agenda.clock(), what, app, rest);
            self.listener.trace(&line);
        }
    }

    /// Writes a line of the trace about a fault that has struck.
    pub fn note_fault(&mut self, what: &str, app: Option<AppId>, rest: &str) {
        self.faults.count();
        self.note(what, app, rest);
    }

    /// Sets the shell's timer to the engine's deadline.
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

    /// Starts or stops the clocks of all programs.
    pub fn reckon_all(&mut self) {
        (0..self.programs.len()).for_each(|index| self.reckon(index));
    }

    /// A program dies. The shell sees its death, perhaps late.
    pub fn dies(&mut self, index: usize) {
        let managed = self.manager.engine.is_some();
        let program = &mut self.programs[index];
        if !std::mem::replace(&mut program.alive, false) {
            return;
        }
        self.observer.around.reach_if(Around::DiesUnmanaged, !managed);
        self.observer.around.reach_if(Around::EndsWithoutReturn, managed && program.alone && program.app.is_none());
        program.places.vanish();
        program.work.cease();
        if let Some(app) = program.app
            && self.options.planted != Planted::DepartUnsaid
        {
            let late = self.faults.maybe_late();
            self.observer.around.reach_if(Around::DeathHeardLate, late > 0);
            self.agenda.after(late, Happening::Notice(Event::Depart { app }));
        }
    }
}
