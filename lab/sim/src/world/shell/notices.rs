//! The shell's notices to the engine about one application: its phases, its demand and idle
//! processors, its adopted targets, and its duties after an action.
//!
//! Facts come in and events go out. The rules use only numbers and sets. The rules that both shells
//! share belong to the contract, and the outbox applies them.

use super::outbox::Outbox;
use super::phases::Phases;
use crate::Nanos;
use crate::program::{Asks, PhaseSource};
use numaestro_contract::Phase;
use numaestro_engine::{AppId, Event};
use numaestro_topology::{PuId, PuSet};

/// The processors of an application.
#[derive(Debug, Clone)]
pub struct Allocation<'a, B> {
    /// Its processors.
    pub set: &'a PuSet,
    /// Processors of its threads that have something to do.
    pub busy: B,
}

/// The change that a target brings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Change {
    /// It is the first target.
    pub first: bool,
    /// It names another number of threads than the one before.
    pub resized: bool,
    /// It gives its processors up although it stays on them, as a guest.
    pub gives_up: bool,
}

/// The notices of one application.
#[derive(Debug)]
pub struct Notices {
    id: AppId,
    asks: Asks,
    phases: Phases,
    /// Most processors that it could ever use.
    most: u32,
    /// Processors that it could use, as said last.
    processors: u32,
    /// Processors that are idle, as said last.
    idle: PuSet,
    /// Largest number of processors that it has asked for.
    widest: u32,
    /// Latest target; 0: none yet.
    epoch: u32,
    /// Number of threads that it should have.
    count: u32,
    /// Others run on some of its processors.
    shared: bool,
    /// It still has to say `Adopted`.
    owes: bool,
    /// Processors that it was told to leave since it last had left all of them.
    leaving: PuSet,
    scratch: PuSet,
}

impl Notices {
    /// The notices of an application that arrives, wants so many processors, and could use at most
    /// so many.
    pub fn new(id: AppId, asks: Asks, request: u32, most: u32) -> Self {
        let source = match asks {
            Asks::Once(source) => source,
            // It says more than its phases.
            Asks::Runnable | Asks::Creation => PhaseSource::Nobody,
        };
        Self {
            id,
            asks,
            phases: Phases::new(id, source),
            most: most.max(1),
            processors: request,
            idle: PuSet::new(),
            widest: request,
            epoch: 0,
            count: 0,
            shared: false,
            owes: false,
            leaving: PuSet::new(),
            scratch: PuSet::new(),
        }
    }

    /// Its number for the engine.
    pub fn id(&self) -> AppId {
        self.id
    }

    /// Its phases.
    pub fn phases(&self) -> &Phases {
        &self.phases
    }

    /// Whether it has fewer processors of its own than it wants, of so many that can be given out.
    pub fn lacks(&self, usable: usize) -> bool {
        self.epoch == 0 || self.shared || (self.count as usize) < (self.processors as usize).min(usable)
    }

    /// Latest target; 0: none yet.
    pub fn epoch(&self) -> u32 {
        self.epoch
    }

    /// Number of threads that it should have.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// Whether others run on some of its processors.
    pub fn is_shared(&self) -> bool {
        self.shared
    }

    /// Whether it still has to leave processors.
    pub fn owes(&self) -> bool {
        self.owes
    }

    /// Whether it wants all processors that it ever wanted.
    pub fn wants_most(&self) -> bool {
        self.processors >= self.widest
    }

    /// Whether it wants another number of processors than this.
    pub fn wants_other(&self, processors: u32) -> bool {
        self.processors != processors
    }

    /// It is told the processors that are its own instead of the ones that it had; whether others
    /// run there, and whether some of them are lent.
    pub fn target(
        &mut self,
        (epoch, count): (u32, u32),
        (shared, lent): (bool, bool),
        had: &PuSet,
        pus: &PuSet,
    ) -> Change {
        self.phases.target(lent);
        let first = self.epoch == 0;
        let count = count.max(1);
        let resized = !first && self.count != count;
        let gives_up = lent && shared && !self.shared && had == pus;
        self.owes |= gives_up || !had.is_subset(pus);
        (self.epoch, self.count, self.shared) = (epoch, count, shared);
        self.leaving.or_with(had);
        self.leaving.subtract(pus);
        // Nothing has been said yet about the processors that it has just been given.
        self.idle.and_with(had);
        Change { first, resized, gives_up }
    }

    /// It is told a target in the very moment in which it ends: nothing follows.
    pub fn target_at_end(&mut self, epoch: u32, shared: bool) {
        (self.epoch, self.shared) = (epoch, shared);
    }

    /// It is moved whatever it does, and then has to say so.
    pub fn force(&mut self) {
        self.owes = true;
    }

    /// It is stopped: it has left all its processors.
    pub fn stop(&mut self) {
        self.owes = false;
        self.leaving.clear();
    }

    /// None of its threads is where it has been told not to be. True if it had to say that.
    pub fn adopt(&mut self, out: &mut Outbox) -> bool {
        let owed = std::mem::take(&mut self.owes);
        if owed {
            self.leaving.clear();
            out.say_adopted(self.id, self.epoch);
        }
        owed
    }

    /// From here on it wants another number of processors.
    pub fn request(&mut self, processors: u32, own: Allocation<'_, impl Iterator<Item = PuId>>, out: &mut Outbox) {
        self.widest = self.widest.max(processors);
        match self.asks {
            Asks::Once(_) | Asks::Creation => {
                self.processors = processors;
                out.say(Event::Request { app: self.id, processors: processors.max(1) });
            }
            Asks::Runnable => _ = self.demand(processors, own, out),
        }
    }

    /// A serial phase of so many nanoseconds begins.
    pub fn serial(&mut self, length: Nanos, own: Allocation<'_, impl Iterator<Item = PuId>>, out: &mut Outbox) {
        match self.asks {
            Asks::Once(_) => self.phases.leave_parallel(Phase::Sequential, length, out),
            Asks::Creation => {}
            Asks::Runnable => _ = self.demand(1, own, out),
        }
    }

    /// It begins to wait for something outside, for so many nanoseconds.
    pub fn pause(&mut self, length: Nanos, own: Allocation<'_, impl Iterator<Item = PuId>>, out: &mut Outbox) {
        match self.asks {
            Asks::Once(_) => self.phases.leave_parallel(Phase::Blocked, length, out),
            Asks::Creation => {}
            Asks::Runnable => _ = self.demand(1, own, out),
        }
    }

    /// The event that it waited for has come.
    pub fn resume(&mut self, out: &mut Outbox) {
        self.phases.resume(out);
    }

    /// It is about to use so many processors. True if it asked for them, and so has to wait for the
    /// answer.
    pub fn fork(&mut self, processors: u32, own: Allocation<'_, impl Iterator<Item = PuId>>, out: &mut Outbox) -> bool {
        match self.asks {
            Asks::Once(_) => self.phases.open_region(out),
            Asks::Runnable | Asks::Creation => self.demand(processors, own, out),
        }
    }

    /// The number of its runnable threads is now this, if it says so.
    pub fn runnable(&mut self, threads: u32, own: Allocation<'_, impl Iterator<Item = PuId>>, out: &mut Outbox) {
        if !matches!(self.asks, Asks::Once(_)) {
            self.demand(threads, own, out);
        }
    }

    /// It could use so many processors now. True if that, or the set of its idle ones, is news.
    ///
    /// Idle are processors of its own on which it has nothing to run, and processors that it was
    /// told to leave and has left already.
    pub fn demand(
        &mut self,
        processors: u32,
        own: Allocation<'_, impl Iterator<Item = PuId>>,
        out: &mut Outbox,
    ) -> bool {
        let Allocation { set, busy } = own;
        let processors = processors.clamp(1, self.most);
        let idle = &mut self.scratch;
        idle.clone_from(set);
        if self.owes {
            idle.or_with(&self.leaving);
        }
        busy.for_each(|pu| _ = idle.remove(pu));
        if processors as usize >= set.len() {
            // Ready threads are about to run on them; threads that have been created wait there for
            // the ones that have not.
            idle.subtract(set);
        }
        let news = self.processors != processors || self.idle != *idle;
        if news {
            self.processors = processors;
            self.idle.clone_from(idle);
            out.say(Event::Demand { app: self.id, processors, idle: idle.clone() });
        }
        news
    }
}
