//! A thread: what it does, where it is, and what it still has to do. Knows nothing of other threads.

use crate::Nanos;
use crate::machine::System;
use crate::memory::Pace;

/// No thread, no processor, no application.
pub(super) const NONE: u32 = u32::MAX;

/// Where a thread stands with the operating system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// Has not run yet.
    New,
    /// Waits for a processor.
    Ready,
    /// Has one.
    Running,
    /// Wants none.
    Blocked,
    /// Wants one, but its application is stopped.
    Held,
}

/// What a thread does with a processor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Doing {
    /// Nothing: parked in its application's pool.
    Nothing,
    /// A serial phase.
    Serial,
    /// Its part of an iteration.
    Part,
    /// The critical section of an iteration; it holds the lock.
    Critical,
    /// A task.
    Task,
    /// Creates a thread.
    Create,
    /// Waits for its team.
    Meet,
    /// Waits for the lock.
    Lock,
    /// Waits for what the engine says to what it asked.
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
pub(super) struct Thread {
    pub app: u32,
    /// 0 is the master.
    pub number: u32,
    /// Threads before it in the whole run, modulo 2³²: unlike its place in the list of threads, no other one gets it after its end.
    pub born: u32,
    pub state: State,
    pub doing: Doing,
    /// It may run on every processor of its application's set; if not, only on `pu`.
    pub floats: bool,
    /// Its pace must be asked for before it works on.
    pub unpaced: bool,
    /// Where it runs, waits for a processor, or will when it wakes.
    pub pu: u32,
    /// Where it ran last.
    pub last_pu: u32,
    /// Behind it in its processor's queue.
    pub next: u32,
    /// What it refers to as its own part.
    pub part: u32,
    /// Work to do, nanoseconds at full speed.
    pub left: Nanos,
    /// Work of the present segment at its beginning.
    pub given: Nanos,
    /// Critical section that follows.
    pub critical: Nanos,
    /// Costs to pay before it works on: switches, migrations, page faults, creations.
    pub overhead: Nanos,
    /// Refill of its cache to pay before it works on.
    pub reload: Nanos,
    /// How long it still waits on the processor.
    pub spin: Nanos,
    /// Lines that had entered its cache when it last left it.
    pub entered: u64,
    /// When it became ready: order of all ready threads.
    pub queued: u64,
    /// Time left in this epoch (Linux 2.4), or processor time used lately (IRIX).
    pub counter: Nanos,
    /// When `counter` last decayed (IRIX).
    pub decayed: Nanos,
    /// Best priority for so long (IRIX).
    pub favoured: Nanos,
    /// Transactions and time on a processor since its counters were read; below 0 if more was read than has been booked.
    pub moved: f64,
    pub ran: i64,
    pub pace: Pace,
}

impl Thread {
    /// A new one, of an application, with its number and its birth.
    pub fn new(app: u32, number: u32, born: u32, system: System, quantum: Nanos, favoured: bool) -> Self {
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
            next: NONE,
            part: number,
            left: 0,
            given: 0,
            critical: 0,
            overhead: 0,
            reload: 0,
            spin: 0,
            entered: 0,
            queued: 0,
            counter: if system == System::Linux24 { quantum } else { 0 },
            decayed: 0,
            favoured: if favoured { quantum } else { 0 },
            moved: 0.0,
            ran: 0,
            pace: Pace::FREE,
        }
    }

    /// Whether it has something to do and so keeps its processor busy or wants one.
    pub const fn is_active(&self) -> bool {
        matches!(self.state, State::Ready | State::Running)
    }
}
