//! The stage of a run: time, what will happen, and the order of both. Knows nothing of what is right.

use super::faults::{Fault, Faults};
use super::ledger::Ledger;
use super::plan::Plan;
use super::program::Program;
use super::{Listener, Options, trace};
use crate::Nanos;
use crate::random::{Purpose, Stream};
use numaestro_engine::{AppId, Engine, Event};
use numaestro_topology::{PuId, PuSet};
use std::collections::{BTreeMap, VecDeque};

/// What is right, or what is wrong.
pub(super) type Verdict = Result<(), String>;

/// Steps of a run before it is said never to come to rest: seven times what the longest of the first ten thousand needs (6,686; seed 1903).
const STEPS_MAX: u64 = 50_000;
/// The shell has been up for so long: its clock can go back for days.
const EPOCH_NS: i64 = 1 << 50;
/// Timers at the same time before the engine is said to want them for ever.
const TIMERS_MAX: u32 = 16;

/// What will happen.
#[derive(Debug, Clone)]
pub(super) enum Happening {
    /// A program arrives.
    Arrives(u32),
    /// What was said reaches the shell.
    Notice(Event),
    /// A program looks at its page.
    Looks(usize),
    /// It begins to do something else.
    Acts(usize),
    /// Its work is done, unless it was expected anew.
    Ends(usize, u32),
    /// A fault strikes by itself.
    Strikes(Fault),
    /// A processor is plugged in again.
    Back(PuId),
    /// The manager is started again.
    Manager,
    /// A program that could not be let go is tried again.
    GoesOn(usize),
    /// A program finds the new manager.
    Rejoins(usize),
}

/// See the file's header.
pub(super) struct Stage<'a> {
    pub plan: Plan,
    pub options: &'a Options,
    pub listener: &'a mut dyn Listener,
    pub faults: Faults,
    /// Real time.
    pub now: Nanos,
    /// By how much the shell's clock is ahead of it.
    pub ahead: i64,
    queue: BTreeMap<(Nanos, u64), Happening>,
    sequence: u64,
    /// `None` while no manager lives.
    pub engine: Option<Engine>,
    /// Policy that the next manager takes over.
    pub policy: String,
    pub ledger: Ledger,
    pub programs: Vec<Program>,
    pub by_id: BTreeMap<AppId, usize>,
    pub newest: u64,
    /// Said in the shell itself, to be heard next.
    pub inbox: VecDeque<Event>,
    pub offline: PuSet,
    /// What the engine wants, on the shell's clock; and when the shell's timer goes off in real time.
    deadline: Option<Nanos>,
    timer: Option<Nanos>,
    timers: u32,
    /// Load that is not managed.
    pub unmanaged: u32,
    /// Memory that is free, as last said; empty: it has not been said.
    pub free_memory: Vec<u64>,
    /// Programs neither get on nor change what they do.
    pub frozen: bool,
    pub calm: bool,
    pub draws: Stream,
    pub steps: u64,
    pub events: u64,
    pub acted: u64,
    pub struck: u64,
    pub ended: u64,
    pub settled_ns: Nanos,
    /// Targets that named other processors than the one before.
    pub moves: u64,
}

impl<'a> Stage<'a> {
    pub fn new(seed: u64, options: &'a Options, listener: &'a mut dyn Listener) -> Self {
        let plan = Plan::draw(seed);
        let faults = Faults::draw(seed, &options.without);
        let ledger = Ledger::new(plan.machine.pu_count(), plan.settings.grace_ns);
        let policy = plan.settings.policy.clone();
        let mut stage = Self {
            plan,
            options,
            listener,
            faults,
            now: 1000,
            ahead: EPOCH_NS,
            queue: BTreeMap::new(),
            sequence: 0,
            engine: None,
            policy,
            ledger,
            programs: Vec::new(),
            by_id: BTreeMap::new(),
            newest: 0,
            inbox: VecDeque::new(),
            offline: PuSet::new(),
            deadline: None,
            timer: None,
            timers: 0,
            unmanaged: 0,
            free_memory: Vec::new(),
            frozen: false,
            calm: false,
            draws: Stream::new(seed, Purpose::Arrivals, 0),
            steps: 0,
            events: 0,
            acted: 0,
            struck: 0,
            ended: 0,
            settled_ns: 0,
            moves: 0,
        };
        stage.expect_everything();
        stage
    }

    /// Machine, policy, faults.
    pub fn about(&self) -> String {
        let Plan { description, settings, programs, .. } = &self.plan;
        let faults = self.faults.describe();
        format!("machine `{description}`, policy `{}`, {programs} programs, faults {faults}", settings.policy)
    }

    /// Chaos, then calm.
    pub fn play(&mut self) -> Verdict {
        self.start_manager()?;
        self.until(self.plan.chaos_ns)?;
        if self.is_cut() { Ok(()) } else { self.come_right() }
    }

    /// What will happen by itself.
    fn expect_everything(&mut self) {
        let chaos = self.plan.chaos_ns;
        for program in 0..self.plan.programs {
            let at = (self.draws.unit() * chaos as f64 * 0.9) as Nanos;
            self.at(at, Happening::Arrives(program));
        }
        for fault in Fault::TIMED {
            self.expect_strike(fault);
        }
    }

    /// The next time of a fault that strikes by itself: the more often, the higher its rate.
    pub fn expect_strike(&mut self, fault: Fault) {
        let milli = self.faults.milli(fault);
        if milli > 0 {
            let mean = self.plan.chaos_ns as f64 / (2.0 + f64::from(milli) * 0.06);
            let after = self.faults.stream(fault).exponential() * mean;
            self.after(after as Nanos, Happening::Strikes(fault));
        }
    }

    pub fn at(&mut self, at: Nanos, what: Happening) {
        self.sequence += 1;
        self.queue.insert((at.max(self.now), self.sequence), what);
    }

    pub fn after(&mut self, after: Nanos, what: Happening) {
        self.at(self.now + after, what);
    }

    /// The shell's clock.
    pub fn clock(&self) -> Nanos {
        self.now.saturating_add_signed(self.ahead)
    }

    /// Whether nobody wants to see more.
    pub fn is_cut(&self) -> bool {
        self.options.steps.is_some_and(|steps| self.steps >= steps)
    }

    /// Everything until this time.
    pub fn until(&mut self, end: Nanos) -> Verdict {
        while !self.is_cut() && self.next().is_some_and(|at| at <= end) {
            self.step()?;
        }
        self.now = self.now.max(end);
        Ok(())
    }

    /// When something happens next.
    pub fn next(&self) -> Option<Nanos> {
        let queued = self.queue.first_key_value().map(|((at, _), _)| *at);
        [queued, self.timer].into_iter().flatten().min()
    }

    /// Time goes on, unless it is the same still.
    fn go_on(&mut self, at: Nanos) {
        if at > self.now {
            (self.now, self.timers) = (at, 0);
        }
    }

    /// The next thing that happens.
    pub fn step(&mut self) -> Verdict {
        self.steps += 1;
        self.listener.step(self.steps);
        if self.steps > STEPS_MAX {
            return Err("it goes on and on".to_owned());
        }
        let queued = self.queue.first_key_value().map(|((at, _), _)| *at);
        if let Some(timer) = self.timer.filter(|&timer| queued.is_none_or(|at| timer < at)) {
            self.go_on(timer);
            self.timers += 1;
            if self.timers > TIMERS_MAX {
                return Err("the engine wants to be asked again at once, for ever".to_owned());
            }
            (self.timer, self.deadline) = (None, None);
            return self.tell(Event::Timer);
        }
        let Some(((at, _), what)) = self.queue.pop_first() else { return Ok(()) };
        self.go_on(at);
        match what {
            Happening::Arrives(number) => self.arrives(number),
            Happening::Notice(event) => self.tell(event),
            Happening::Looks(program) => self.looks(program),
            Happening::Acts(program) => self.acts(program),
            Happening::Ends(program, version) => self.ends(program, version),
            Happening::Strikes(fault) => self.strike(fault),
            Happening::Back(pu) => self.plug(pu),
            Happening::Manager => self.start_manager(),
            Happening::GoesOn(program) => {
                self.let_go(program);
                Ok(())
            }
            Happening::Rejoins(program) => self.rejoins(program),
        }
    }

    /// Sets the shell's timer to what the engine wants.
    pub fn set_timer(&mut self) {
        let deadline = self.engine.as_ref().and_then(Engine::deadline);
        if deadline != self.deadline {
            self.deadline = deadline;
            let late = if deadline.is_some() && self.faults.strikes(Fault::Late) { self.lateness() } else { 0 };
            self.timer = deadline.map(|at| self.now.max(at.saturating_add_signed(-self.ahead)).saturating_add(late));
        }
    }

    /// The shell's clock is another one.
    pub fn set_clock(&mut self, ahead: i64) {
        self.ahead = ahead;
        self.deadline = None;
        self.set_timer();
    }

    /// How late something is that is late.
    pub fn lateness(&mut self) -> Nanos {
        self.struck += 1;
        let stream = self.faults.stream(Fault::Late);
        let mean = [1e4, 1e6, 2e7, 3e8][stream.below(4) as usize];
        ((stream.exponential() * mean) as Nanos).min(super::calm::LATE_MAX_NS)
    }

    /// A line of the trace.
    pub fn note(&mut self, what: &str, app: Option<AppId>, rest: &str) {
        if self.listener.wants_trace() {
            let line = trace::line(self.now, self.clock(), what, app, rest);
            self.listener.trace(&line);
        }
    }
}
