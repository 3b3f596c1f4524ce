//! The shell around the engine: events of applications go in, as the daemon would say them, and
//! actions come out.
//!
//! Events wait in an [`Outbox`] until the present event of the clock is over; then the engine
//! decides, and its actions are carried out at once or after the machine's `decision_ns`.
//! Applications answer actions (`Adopted` ...) through the same outbox, as in the daemon's loop.
//! [`Notices`] hold the rules by which an application's events are said.

mod notices;
mod outbox;
mod phases;
mod played;

use crate::Nanos;
use numaestro_contract::{Next, measures_until};
use numaestro_engine::{Action, AppId, Engine, Event, Search};
use std::collections::VecDeque;

pub use notices::{Allocation, Notices};
pub use outbox::Outbox;
pub use played::Played;

/// The time at which the engine heard an event, the event, and the actions it decided.
pub type Heard = (Nanos, Event, Vec<Action>);

/// See the file's header.
#[derive(Debug)]
pub struct Shell {
    engine: Engine,
    /// Nanoseconds from an event to the moment when the engine's decision reaches applications.
    latency: Nanos,
    actions: Vec<Action>,
    /// Decided actions, with the times at which they reach applications.
    decided: VecDeque<(Nanos, Action)>,
    /// Applications that wait for the engine's answer, with the times at which it reaches them.
    answered: VecDeque<(Nanos, u32)>,
    /// The engine's deadline as expected last, nanoseconds.
    deadline: Option<Nanos>,
    /// Policies still to be switched to, the last one first.
    switches: Vec<(Nanos, String)>,
    /// Events heard so far.
    events: u64,
    journal: Option<Vec<Heard>>,
}

impl Shell {
    /// A shell around an engine. It switches to these policies at these times, in order.
    pub fn new(engine: Engine, latency: Nanos, switches: Vec<(Nanos, String)>) -> Self {
        Self {
            engine,
            latency,
            actions: Vec::new(),
            decided: VecDeque::new(),
            answered: VecDeque::new(),
            deadline: None,
            switches: switches.into_iter().rev().collect(),
            events: 0,
            journal: None,
        }
    }

    /// The engine.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Events heard so far.
    pub fn events(&self) -> u64 {
        self.events
    }

    /// Whether a journal is kept for [`Self::journal`].
    pub fn keep_journal(&mut self, wanted: bool) {
        if wanted != self.journal.is_some() {
            self.journal = wanted.then(Vec::new);
        }
    }

    /// Events and actions since this was taken last, if a journal is kept.
    pub fn journal(&mut self) -> Option<impl Iterator<Item = Heard>> {
        self.journal.as_mut().map(|heard| heard.drain(..))
    }

    /// Tells the engine the capacity of each bus, if the policy uses it.
    pub fn begin(&self, out: &mut Outbox) {
        if self.engine.policy().needs().bandwidth {
            let buses = (0..).zip(&self.engine.settings().buses);
            buses.for_each(|(bus, what)| out.say(Event::Saturation { bus, rate: what.saturation }));
        }
    }

    /// Whether the policy looks at speedups.
    pub fn wants_speedups(&self) -> bool {
        self.engine.policy().needs().speedup
    }

    /// Whether the policy looks at the places of pages.
    pub fn wants_memory(&self) -> bool {
        self.engine.policy().placement.reads_memory()
    }

    /// The progress of the search for each application's number of processors.
    pub fn searches(&self) -> impl Iterator<Item = (AppId, Search)> {
        let view = self.engine.view();
        view.order.iter().map(move |&slot| (view.app(slot).id, view.app(slot).search))
    }

    /// The shell's next step.
    pub fn next(&self, now: Nanos, out: &mut Outbox) -> Option<Next> {
        out.next(now, measures_until(&self.engine))
    }

    /// The engine hears of an event with this time. Returns its actions; [`Self::done`] follows.
    pub fn hear(&mut self, now: Nanos, event: Event, out: &mut Outbox) -> Vec<Action> {
        self.events += 1;
        let mut actions = std::mem::take(&mut self.actions);
        actions.clear();
        self.engine.step(now, &event, &mut actions);
        out.decided(&actions);
        if let Some(journal) = &mut self.journal {
            journal.push((now, event, actions.clone()));
        }
        actions
    }

    /// These actions have been carried out.
    pub fn done(&mut self, mut actions: Vec<Action>) {
        self.engine.recycle(&mut actions);
        self.actions = actions;
    }

    /// Whether actions reach applications at once.
    pub fn is_prompt(&self) -> bool {
        self.latency == 0
    }

    /// These actions reach applications later.
    pub fn put_off(&mut self, now: Nanos, mut actions: Vec<Action>) {
        self.decided.extend(actions.drain(..).map(|action| (now + self.latency, action)));
        self.actions = actions;
    }

    /// The engine has heard everything: applications that wait get their answers together with
    /// their actions. Returns the time of that, if any wait.
    pub fn answer_later(&mut self, now: Nanos, out: &mut Outbox) -> Option<Nanos> {
        if self.is_prompt() || out.waiting() == 0 && self.decided.is_empty() {
            return None;
        }
        let at = now + self.latency;
        self.answered.extend(std::iter::from_fn(|| out.next_waiting()).map(|app| (at, app)));
        Some(at)
    }

    /// The actions that have reached their applications by now; [`Self::done`] follows.
    pub fn reached(&mut self, now: Nanos) -> Vec<Action> {
        let mut actions = std::mem::take(&mut self.actions);
        let next = || self.decided.pop_front_if(|(at, _)| *at <= now);
        actions.extend(std::iter::from_fn(next).map(|(_, action)| action));
        actions
    }

    /// The next application that has its answer by now.
    pub fn answered(&mut self, now: Nanos) -> Option<u32> {
        self.answered.pop_front_if(|(at, _)| *at <= now).map(|(_, app)| app)
    }

    /// The engine's deadline, if it is another one than this returned last.
    pub fn new_deadline(&mut self) -> Option<Nanos> {
        let deadline = self.engine.deadline();
        if std::mem::replace(&mut self.deadline, deadline) == deadline { None } else { deadline }
    }

    /// A former deadline of the engine has come, and the engine perhaps still wants to be asked.
    pub fn timer(&mut self, now: Nanos, out: &mut Outbox) {
        if self.deadline.take_if(|at| *at <= now).is_some() {
            out.say(Event::Timer);
        }
    }

    /// The time of the next switch of policy.
    pub fn next_switch(&self) -> Option<Nanos> {
        self.switches.last().map(|(at, _)| *at)
    }

    /// The administrator switches the policy.
    pub fn switch(&mut self, out: &mut Outbox) {
        if let Some((_, policy)) = self.switches.pop() {
            out.say(Event::Policy { policy });
        }
    }
}
