//! The common state of a team: a parallel region with its meetings and its lock, or a set of tasks.
//! The state is numbers only; the operating system has the threads and processors.

use super::super::os::NONE;
use crate::program::Wait;
use std::collections::VecDeque;

/// A parallel region, or the rest of the one before.
#[derive(Debug)]
pub struct Region {
    /// Threads of the team.
    size: u32,
    /// Most threads of the team.
    width: u32,
    /// Threads still to be created before it begins.
    creating: u32,
    /// Meetings so far.
    iteration: u32,
    iterations: u32,
    /// Threads at the meeting.
    arrived: u32,
    wait: Wait,
    /// Thread that holds the lock of critical sections.
    holder: u32,
    /// Threads that wait for the lock.
    lockers: VecDeque<u32>,
}

impl Default for Region {
    fn default() -> Self {
        let (wait, lockers) = (Wait::Spin, VecDeque::new());
        Self { size: 0, width: 0, creating: 0, iteration: 0, iterations: 0, arrived: 0, wait, holder: NONE, lockers }
    }
}

impl Region {
    /// A region begins, of the master alone so far, for a team of at most `width`.
    pub fn begin(&mut self, width: u32, iterations: u32, wait: Wait) {
        self.clear();
        (self.size, self.width, self.iterations, self.wait) = (1, width.max(1), iterations.max(1), wait);
    }

    /// There is no region.
    pub fn clear(&mut self) {
        let lockers = std::mem::take(&mut self.lockers);
        *self = Self { lockers, ..Self::default() };
    }

    /// Threads of the team.
    pub fn size(&self) -> u32 {
        self.size
    }

    /// Most threads of the team.
    pub fn width(&self) -> u32 {
        self.width
    }

    /// Meetings so far.
    pub fn iteration(&self) -> u32 {
        self.iteration
    }

    /// The way in which its threads wait.
    pub fn wait(&self) -> Wait {
        self.wait
    }

    /// Its team has another size.
    pub fn set_size(&mut self, size: u32) {
        self.size = size;
    }

    /// Share of its possible partners that a thread has.
    pub fn partners(&self) -> f64 {
        if self.width <= 1 { 1.0 } else { f64::from(self.size.saturating_sub(1)) / f64::from(self.width - 1) }
    }

    /// The region lacks so many threads, which have to be created before it begins.
    pub fn lacks(&mut self, threads: u32) {
        self.creating = threads;
    }

    /// A thread has been created. True if others have not.
    pub fn created(&mut self) -> bool {
        self.creating -= 1;
        self.creating > 0
    }

    /// An iteration begins.
    pub fn begin_iteration(&mut self) {
        self.arrived = 0;
    }

    /// A thread has come to the meeting. Returns whether it is the last one, and whether the region
    /// is over then.
    pub fn arrive(&mut self) -> (bool, bool) {
        self.arrived += 1;
        (self.arrived == self.size, self.iteration + 1 == self.iterations)
    }

    /// A thread wants the lock. False if it has to wait.
    pub fn acquire(&mut self, id: u32) -> bool {
        let free = self.holder == NONE;
        if free {
            self.holder = id;
        } else {
            self.lockers.push_back(id);
        }
        free
    }

    /// Its holder gives the lock back. Returns the next holder: the thread that waits longest.
    pub fn release(&mut self) -> Option<u32> {
        let next = self.lockers.pop_front();
        self.holder = next.unwrap_or(NONE);
        next
    }

    /// All threads have met. True if the region is over.
    pub fn meet(&mut self) -> bool {
        self.iteration += 1;
        self.iteration >= self.iterations
    }
}

/// Tasks that were forked at once.
#[derive(Debug, Clone, Copy, Default)]
pub struct Tasks {
    /// Tasks that no thread has begun.
    left: u32,
    all: u32,
    /// Tasks that a thread is doing.
    running: u32,
}

impl Tasks {
    /// A set of `count` tasks.
    pub fn new(count: u32) -> Self {
        Self { left: count, all: count, running: 0 }
    }

    /// Whether there never were any.
    pub fn is_none(self) -> bool {
        self.all == 0
    }

    /// Tasks that no thread has begun.
    pub fn left(self) -> u32 {
        self.left
    }

    /// Tasks that a thread is doing.
    pub fn running(self) -> u32 {
        self.running
    }

    /// Takes a task; returns its number.
    pub fn take(&mut self) -> u32 {
        let number = self.all - self.left;
        self.left -= 1;
        self.running += 1;
        number
    }

    /// A task has been done.
    pub fn end(&mut self) {
        self.running -= 1;
    }
}
