//! Events that the engine has not heard yet, and applications that wait for its answer. Programs
//! write here while they run; the engine is asked only when the event of the clock is over, so the
//! two never call each other.

use crate::Nanos;
use numaestro_contract::{Course, Next, Observation, Phase};
use numaestro_engine::{Action, AppId, Event};
use std::collections::VecDeque;

/// See the file's header.
#[derive(Debug, Default)]
pub struct Outbox {
    course: Course,
    /// Applications whose masters wait for the engine's answer.
    waiting: VecDeque<u32>,
}

impl Outbox {
    /// What the engine knows of applications.
    pub fn course(&self) -> &Course {
        &self.course
    }

    /// Adds an event.
    pub fn say(&mut self, event: Event) {
        self.course.fact(event);
    }

    /// Adds an event before all others.
    pub fn say_first(&mut self, event: Event) {
        self.course.fact_first(event);
    }

    /// An application waits for the engine's answer to all events so far.
    pub fn await_answer(&mut self, app: u32) {
        self.waiting.push_back(app);
    }

    /// Whether no event waits.
    pub fn is_silent(&self) -> bool {
        self.course.is_empty()
    }

    /// Number of applications that wait.
    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// The shell's next step; `turn_ends` as [`Course::next`] takes it.
    pub fn next(&mut self, now: Nanos, turn_ends: Option<Nanos>) -> Option<Next> {
        self.course.next(now, turn_ends)
    }

    /// The shell has observed something at `now`.
    pub fn observe(&mut self, now: Nanos, what: Observation) {
        self.course.observe(now, what);
    }

    /// An application says its phase. True if that is news.
    pub fn say_phase(&mut self, app: AppId, phase: Phase) -> bool {
        self.course.says(app, phase)
    }

    /// The phase that the engine was told.
    pub fn phase(&self, app: AppId) -> Phase {
        self.course.phase(app)
    }

    /// An application is in its target of this epoch.
    pub fn say_adopted(&mut self, app: AppId, epoch: u32) {
        self.course.adopts(app, epoch);
    }

    /// The engine has decided these actions.
    pub fn decided(&mut self, actions: &[Action]) {
        self.course.decided(actions);
    }

    /// The next application that gets its answer.
    pub fn next_waiting(&mut self) -> Option<u32> {
        self.waiting.pop_front()
    }
}
