//! The agenda of a run: real time, the shell's clock beside it, all coming happenings, and the
//! shell's timer.

use super::faults::Fault;
use crate::Nanos;
use numaestro_engine::Event;
use numaestro_topology::PuId;
use std::collections::BTreeMap;

/// Steps after which a run counts as never coming to rest: seven times as many as the longest of
/// the first ten thousand runs needs (6,686; seed 1903).
const STEPS_MAX: u64 = 50_000;
/// The shell has been up for so many nanoseconds, so its clock can go back for days.
const EPOCH_NS: i64 = 1 << 50;
/// Timers at the same time after which the engine counts as wanting them for ever.
const TIMERS_MAX: u32 = 16;

/// A coming happening.
#[derive(Debug, Clone)]
pub(super) enum Happening {
    /// A program arrives.
    Arrives(u32),
    /// A notice reaches the shell.
    Notice(Event),
    /// A program reads its page.
    Reads(usize),
    /// A program begins to do something else.
    Acts(usize),
    /// The work of a program is done, unless its end was expected anew.
    Ends(usize, u32),
    /// A fault strikes by itself.
    Strikes(Fault),
    /// A processor is plugged in again.
    Back(PuId),
    /// The manager is started again.
    Manager,
    /// The shell tries once more to let a program go on.
    GoesOn(usize),
    /// A program finds the new manager.
    Rejoins(usize),
    /// The shell's timer goes off.
    Timer,
}

/// See the file's header.
#[derive(Debug)]
pub(super) struct Agenda {
    /// Real time, nanoseconds.
    now: Nanos,
    /// Nanoseconds by which the shell's clock is ahead of real time.
    ahead: i64,
    queue: BTreeMap<(Nanos, u64), Happening>,
    sequence: u64,
    /// The engine's deadline, nanoseconds on the shell's clock.
    deadline: Option<Nanos>,
    /// The time of the shell's timer, nanoseconds of real time.
    timer: Option<Nanos>,
    /// Number of times that the timer has just gone off.
    timers: u32,
    steps: u64,
}

impl Agenda {
    /// An agenda without happenings.
    pub fn new() -> Self {
        Self {
            now: 1000,
            ahead: EPOCH_NS,
            queue: BTreeMap::new(),
            sequence: 0,
            deadline: None,
            timer: None,
            timers: 0,
            steps: 0,
        }
    }

    /// Real time, nanoseconds.
    pub fn now(&self) -> Nanos {
        self.now
    }

    /// The shell's clock, nanoseconds.
    pub fn clock(&self) -> Nanos {
        self.now.saturating_add_signed(self.ahead)
    }

    /// Steps so far.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// Adds a happening at this time.
    pub fn at(&mut self, at: Nanos, what: Happening) {
        self.sequence += 1;
        self.queue.insert((at.max(self.now), self.sequence), what);
    }

    /// Adds a happening after so many nanoseconds.
    pub fn after(&mut self, after: Nanos, what: Happening) {
        self.at(self.now + after, what);
    }

    /// The time of the next happening, nanoseconds.
    pub fn next_at(&self) -> Option<Nanos> {
        let queued = self.queue.first_key_value().map(|((at, _), _)| *at);
        [queued, self.timer].into_iter().flatten().min()
    }

    /// Lets time pass until `end` without a happening.
    pub fn pass(&mut self, end: Nanos) {
        self.now = self.now.max(end);
    }

    /// Lets time go on, unless it is the same still.
    fn go_on(&mut self, at: Nanos) {
        if at > self.now {
            (self.now, self.timers) = (at, 0);
        }
    }

    /// Goes on to the next happening.
    ///
    /// # Errors
    /// The timer goes off for ever, or the run never comes to rest.
    pub fn next(&mut self) -> Result<Option<Happening>, String> {
        self.steps += 1;
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
            return Ok(Some(Happening::Timer));
        }
        let Some(((at, _), what)) = self.queue.pop_first() else { return Ok(None) };
        self.go_on(at);
        Ok(Some(what))
    }

    /// Sets the shell's timer to the engine's deadline; `late` says by how many nanoseconds the
    /// timer misses it.
    pub fn set_timer(&mut self, deadline: Option<Nanos>, late: impl FnOnce() -> Nanos) {
        if deadline != self.deadline {
            self.deadline = deadline;
            self.timer = deadline.map(|at| {
                let late = late();
                self.now.max(at.saturating_add_signed(-self.ahead)).saturating_add(late)
            });
        }
    }

    /// The shell's clock jumps by so many nanoseconds. Its timer has to be set again.
    pub fn jump(&mut self, by: i64) {
        self.ahead = self.ahead.saturating_add(by);
        self.deadline = None;
    }
}
