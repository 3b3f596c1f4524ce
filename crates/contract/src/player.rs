//! Plays a record: gives a shell what another shell has observed, and compares the events that it
//! tells the engine and the actions that follow with those of the record, byte for byte.
//!
//! A record is a journal with observations. The times of its events say when the shell looked at
//! its clock; everything else in them has to come out of the shell that is played.

use crate::course::{Course, measures_until};
use crate::duties::Duties;
use crate::feed::Next;
use crate::observation::Observation;
use numaestro_engine::journal::{self, JournalError};
use numaestro_engine::{Action, Engine, Event, Nanos};

/// A force is answered within so long, nanoseconds.
const PATIENCE_NS: Nanos = 30_000_000_000;

/// The side of a shell that a player drives.
pub trait Shell {
    /// It observes something at `at`.
    fn observe(&mut self, at: Nanos, what: &Observation);
    /// Its next step, if its clock says `now`; `None`: nothing waits.
    fn next(&mut self, now: Nanos) -> Option<Next>;
    /// The engine hears of the event that came next, and the shell does what follows.
    fn decide(&mut self, at: Nanos, event: &Event) -> Vec<Action>;
    /// An observation of its own that the record does not have.
    fn unexpected(&mut self) -> Option<Observation> {
        None
    }
}

/// A shell that has nothing but an engine and the contract.
#[derive(Debug)]
pub struct Alone {
    engine: Engine,
    course: Course,
}

impl Alone {
    /// Around an engine that has heard nothing.
    pub fn new(engine: Engine) -> Self {
        Self { engine, course: Course::default() }
    }
}

impl Shell for Alone {
    fn observe(&mut self, at: Nanos, what: &Observation) {
        self.course.observe(at, what.clone());
    }

    fn next(&mut self, now: Nanos) -> Option<Next> {
        self.course.next(now, measures_until(&self.engine))
    }

    fn decide(&mut self, at: Nanos, event: &Event) -> Vec<Action> {
        let mut actions = Vec::new();
        self.engine.step(at, event, &mut actions);
        self.course.decided(&actions);
        actions
    }
}

/// The first place where a shell does not do what the record says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// The line of the record, from 1.
    pub line: usize,
    /// The line of the record, and the line that came instead.
    pub problem: String,
}

impl std::fmt::Display for Difference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "line {}: {}", self.line, self.problem)
    }
}

/// The result of a whole record.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// The check of its events and actions.
    pub duties: Duties,
    /// The shell's next step after the end of the record. The record of a killed manager may end
    /// anywhere.
    pub left: Option<String>,
}

/// Plays a record through the shell that `shell` makes around the record's engine.
///
/// # Errors
/// The first difference, or a line that cannot be read.
pub fn play<S: Shell>(record: &str, shell: impl FnOnce(Engine) -> S) -> Result<Outcome, Difference> {
    let at = |line: usize| move |error: JournalError| Difference { line, problem: error.problem };
    let mut lines = (1..).zip(record.lines());
    let (_, head) = lines.next().ok_or(Difference { line: 1, problem: "there is no record".to_owned() })?;
    let (machine, settings, seed) = journal::decode_head(head).map_err(at(1))?;
    let engine =
        Engine::new(machine, settings, seed).map_err(|error| Difference { line: 1, problem: error.to_string() })?;
    let (mut shell, mut duties, mut latest) = (shell(engine), Duties::new(PATIENCE_NS), 0);
    for (number, line) in lines {
        let differs = |problem: String| Difference { line: number, problem };
        if journal::is_observation(line) {
            let (now, what) = Observation::decode(line).map_err(at(number))?;
            latest = now;
            if matches!(what, Observation::Rates(_)) {
                match shell.next(now) {
                    Some(Next::Measure) => {}
                    other => return Err(differs(format!("rates are measured here, and not: {other:?}"))),
                }
            }
            duties.saw(now, &what);
            shell.observe(now, &what);
        } else if !journal::is_aside(line) {
            let (now, ..) = journal::decode(line).map_err(at(number))?;
            latest = now;
            let next = shell.next(now);
            let Some(Next::Step { at, event }) = next else {
                return Err(differs(format!("{next:?} comes instead of\n  {line}")));
            };
            let actions = shell.decide(at, &event);
            let played = journal::encode_named(at, journal::name(line).as_deref(), &event, &actions);
            if played != line {
                return Err(differs(format!("played as\n  {played}\nbut was\n  {line}")));
            }
            duties.step(at, &event, &actions);
        }
    }
    let left = shell.next(latest).map(|next| format!("{next:?}"));
    let left = left.or_else(|| shell.unexpected().map(|what| format!("{what:?}")));
    Ok(Outcome { duties, left })
}
