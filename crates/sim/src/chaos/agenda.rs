//! The agenda of a run: real time, the shell's clock beside it, all that will happen, and the
//! shell's timer.

use super::faults::Fault;
use crate::Nanos;
use numaestro_engine::Event;
use numaestro_topology::PuId;
use std::collections::BTreeMap;

/// Steps of a run before it is said never to come to rest: seven times what the longest of the
/// first ten thousand needs (6,686; seed 1903).
const STEPS_MAX: u64 = 50_000;
/// The shell has been up for so many nanoseconds: its clock can go back for days.
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
    /// A program reads its page.
    Reads(usize),
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
    /// The shell's timer goes off.
    Timer,
}

/// See the file's header.
#[derive(Debug)]
pub(super) struct Agenda {
    /// Real time, nanoseconds.
    now: Nanos,
    /// By how many nanoseconds the shell's clock is ahead of it.
    ahead: i64,
    queue: BTreeMap<(Nanos, u64), Happening>,
    sequence: u64,
    /// What the engine wants, nanoseconds on the shell's clock.
    deadline: Option<Nanos>,
    /// When the shell's timer goes off, nanoseconds of real time.
    timer: Option<Nanos>,
    /// How often it has gone off just now.
    timers: u32,
    steps: u64,
}

impl Agenda {
    /// Empty.
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

    /// Something will happen at this time.
    pub fn at(&mut self, at: Nanos, what: Happening) {
        self.sequence += 1;
        self.queue.insert((at.max(self.now), self.sequence), what);
    }

    /// Something will happen after so many nanoseconds.
    pub fn after(&mut self, after: Nanos, what: Happening) {
        self.at(self.now + after, what);
    }

    /// When something happens next.
    pub fn next_at(&self) -> Option<Nanos> {
        let queued = self.queue.first_key_value().map(|((at, _), _)| *at);
        [queued, self.timer].into_iter().flatten().min()
    }

    /// Nothing more happens until this time.
    pub fn pass(&mut self, end: Nanos) {
        self.now = self.now.max(end);
    }

    /// Time goes on, unless it is the same still.
    fn go_on(&mut self, at: Nanos) {
        if at > self.now {
            (self.now, self.timers) = (at, 0);
        }
    }

    /// Goes on to the next thing that happens.
    ///
    /// # Errors
    /// It goes on for ever.
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

    /// Sets the shell's timer to what the engine wants; `late` says by how many nanoseconds it
    /// misses that.
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
