//! A thread: its work, its place and its debts. [`Threads`] keeps all of them; their places are
//! used again.

use crate::Nanos;
use crate::memory::Pace;
use std::ops::Index;

/// No thread, no processor, no application.
pub const NONE: u32 = u32::MAX;

/// The state of a thread for the scheduler.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// It has not run yet.
    New,
    /// It waits for a processor.
    Ready,
    /// It has a processor.
    Running,
    /// It wants no processor.
    Blocked,
    /// It wants a processor, but its application is stopped or its processor was taken.
    Held,
}

impl State {
    /// Whether the thread has something to do and so keeps its processor busy or wants one.
    pub const fn is_active(self) -> bool {
        matches!(self, Self::Ready | Self::Running)
    }
}

/// The use that a thread makes of a processor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Doing {
    /// It does nothing: it is parked in its application's pool.
    Nothing,
    /// It does a serial phase.
    Serial,
    /// It does its part of an iteration.
    Part,
    /// It is in the critical section of an iteration and holds the lock.
    Critical,
    /// It does a task.
    Task,
    /// It creates a thread.
    Create,
    /// It waits for its team.
    Meet,
    /// It waits for the lock.
    Lock,
    /// It waits for the engine's answer.
    Answer,
}

impl Doing {
    /// Whether it waits: on the processor as long as its phase says, then off it.
    pub const fn waits(self) -> bool {
        matches!(self, Self::Meet | Self::Lock | Self::Answer)
    }
}

/// A thread.
#[derive(Debug, Clone)]
pub struct Thread {
    /// Its application's place.
    pub app: u32,
    /// 0 is the master.
    pub number: u32,
    /// Threads before it in the whole run, modulo 2³²: unlike its place, no other thread gets it
    /// after its end.
    pub born: u32,
    pub state: State,
    pub doing: Doing,
    /// It may run on every processor of its application's set; if not, only on `pu`.
    pub floats: bool,
    /// Its pace must be asked for before it works on.
    pub unpaced: bool,
    /// The processor where it runs, waits, or will run when it wakes.
    pub pu: u32,
    /// The processor where it ran last.
    pub last_pu: u32,
    /// The number of its own part of the data.
    pub part: u32,
    /// Work to do, nanoseconds at full speed.
    pub left: Nanos,
    /// Work of the present segment at its beginning, nanoseconds.
    pub given: Nanos,
    /// Critical section that follows, nanoseconds.
    pub critical: Nanos,
    /// Costs to pay before it works on, nanoseconds: switches, migrations, page faults, creations.
    pub overhead: Nanos,
    /// Refill of its cache to pay before it works on, nanoseconds.
    pub reload: Nanos,
    /// Nanoseconds for which it still waits on the processor.
    pub spin: Nanos,
    /// Lines that had entered its cache when it last left it.
    pub entered: u64,
    /// Transactions since its counters were read; below 0 if the reading took more than has been
    /// booked.
    pub moved: f64,
    /// Nanoseconds on a processor since then; below 0 in the same case.
    pub ran: i64,
    pub pace: Pace,
}

impl Thread {
    /// A new thread of an application.
    fn new(app: u32, number: u32, born: u32) -> Self {
        Self {
            app,
            number,
            born,
            state: State::New,
            doing: Doing::Nothing,
            floats: false,
            unpaced: true,
            pu: NONE,
            last_pu: NONE,
            part: number,
            left: 0,
            given: 0,
            critical: 0,
            overhead: 0,
            reload: 0,
            spin: 0,
            entered: 0,
            moved: 0.0,
            ran: 0,
            pace: Pace::FREE,
        }
    }
}

/// All threads, by place.
#[derive(Debug, Default)]
pub struct Threads {
    entries: Vec<Thread>,
    free: Vec<u32>,
    /// Birth of the next thread.
    born: u32,
}

impl Threads {
    /// Adds a parked thread of an application.
    pub(super) fn spawn(&mut self, app: u32, number: u32) -> u32 {
        let thread = Thread::new(app, number, self.born);
        // `NONE` means that no thread has run there.
        self.born = (self.born + 1) % NONE;
        if let Some(id) = self.free.pop() {
            self.entries[id as usize] = thread;
            return id;
        }
        self.entries.push(thread);
        self.entries.len() as u32 - 1
    }

    /// A thread owes the system so many nanoseconds before it works on.
    pub fn owe(&mut self, id: u32, cost: Nanos) {
        self.get_mut(id).overhead += cost;
    }

    /// The cost of its references has changed.
    pub fn unpace(&mut self, id: u32) {
        self.get_mut(id).unpaced = true;
    }

    /// A critical section of so many nanoseconds follows its part.
    pub fn set_critical(&mut self, id: u32, critical: Nanos) {
        self.get_mut(id).critical = critical;
    }

    /// A thread is gone.
    pub(super) fn retire(&mut self, id: u32) {
        self.free.push(id);
    }

    /// A thread, to be changed.
    pub(super) fn get_mut(&mut self, id: u32) -> &mut Thread {
        &mut self.entries[id as usize]
    }
}

impl Index<u32> for Threads {
    type Output = Thread;

    fn index(&self, id: u32) -> &Thread {
        &self.entries[id as usize]
    }
}
