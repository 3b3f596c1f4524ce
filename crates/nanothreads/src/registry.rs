//! The data that the virtual processors of one runtime share.
//!
//! `idle` takes jobs out of it, all other modules put them in.

use std::sync::atomic::AtomicU64;
use std::time::Duration;

use crossbeam_deque::{Injector, Stealer};
use crossbeam_utils::CachePadded;

use crate::allocation::Allocation;
use crate::fiber::{Fiber, FiberRef};
use crate::inbox::Inbox;
use crate::job::Job;
use crate::latch::CountLatch;
use crate::manager::Manager;
use crate::seats::Seats;
use crate::sync::{AtomicU32, Ordering, fence};

/// The events that are counted; see `Statistics`.
#[derive(Clone, Copy)]
pub enum Counter {
    Steals,
    Suspensions,
    HandOvers,
    Releases,
    Sleeps,
}

/// Counts on a virtual processor's own line.
pub type Counters = CachePadded<[AtomicU64; 5]>;

/// The shared data of one runtime.
pub struct Registry {
    pub seats: Seats,
    /// The thieves' ends of the local ready queues.
    pub stealers: Box<[Stealer<Job>]>,
    /// Resumed nano-threads that only one virtual processor may go on with.
    pub inboxes: Box<[CachePadded<Inbox<Fiber>>]>,
    /// The global ready queue: jobs from outside.
    pub injector: Injector<Job>,
    /// The global ready queue's second half: resumed nano-threads that are not tied.
    pub resumed: Injector<FiberRef>,
    /// Number of virtual processors that look for work and have not found any yet.
    pub searching: CachePadded<AtomicU32>,
    /// Count of the owner and the spawned jobs that must end before the runtime may.
    pub alive: CachePadded<CountLatch>,
    pub allocation: Box<dyn Allocation>,
    /// The manager, if it decides the allocation: then it parks virtual processors, and in `seats`
    /// all of them run.
    pub manager: Option<Manager>,
    /// The allocation changes by itself, so the runtime must ask it.
    pub polled: bool,
    /// Processors that virtual processors are bound to, by their number in `seats`; empty if they
    /// are not bound here.
    pub bound_to: Vec<usize>,
    pub untied: bool,
    pub recovery: bool,
    /// Time to search before sleeping.
    pub search: Duration,
    pub stack_bytes: usize,
    pub counters: Box<[Counters]>,
}

impl Registry {
    /// Puts a job from outside into the global ready queue.
    pub fn inject(&self, job: Job) {
        self.injector.push(job);
        fence(Ordering::SeqCst);
        self.wake_one();
    }

    /// There is new work: wakes a sleeper, unless another virtual processor is searching already
    /// and will find it.
    #[cold]
    pub fn wake_a_searcher(&self) {
        if self.searching.load(Ordering::Relaxed) == 0 {
            self.wake_one();
        }
    }

    /// Wakes one virtual processor that sleeps for want of work; if all with a processor are awake,
    /// asks the manager for a processor.
    pub fn wake_one(&self) {
        if self.seats.somebody_sleeps()
            && !self.seats.wake_one()
            && let Some(manager) = &self.manager
            && manager.want_more()
        {
            self.seats.sleeps_elsewhere(false);
        }
    }

    /// Is there a job that any virtual processor may take?
    pub fn has_queued(&self) -> bool {
        !self.resumed.is_empty() || !self.injector.is_empty() || self.stealers.iter().any(|stealer| !stealer.is_empty())
    }

    /// Wakes another: a virtual processor that parks may have been woken for a job that it now
    /// leaves to others.
    pub fn pass_wake_on(&self) {
        if self.has_queued() {
            self.wake_one();
        }
    }

    /// Are processors asked back?
    #[inline]
    pub fn asked_back(&self) -> bool {
        match &self.manager {
            None => self.seats.asked_back(),
            Some(manager) => manager.asked_back(),
        }
    }

    /// Number of processors to generate parallelism for.
    pub fn processors(&self) -> usize {
        self.poll();
        self.manager.as_ref().map_or_else(|| self.seats.target(), Manager::processors)
    }

    /// Adopts the present allocation, if the runtime must ask it.
    #[inline]
    pub fn poll(&self) {
        if self.polled {
            let processors = self.allocation.processors();
            if processors != self.seats.target() {
                self.set_target(processors);
            }
        }
    }

    /// Sets a new allocation.
    #[cold]
    pub fn set_target(&self, processors: usize) {
        // More than there are virtual processors is as good as all of them, and must not look like
        // a change each time.
        let processors = processors.clamp(1, self.inboxes.len());
        if processors != self.seats.target() {
            self.seats.set_target(processors, |vp| self.has_resumed(vp));
        }
    }

    /// Has this virtual processor got resumed nano-threads that no other may go on with?
    pub fn has_resumed(&self, vp: usize) -> bool {
        !self.inboxes[vp].is_empty()
    }

    /// Is there a virtual processor with work and without a processor?
    pub fn any_preempted(&self) -> bool {
        if let Some(manager) = &self.manager {
            return manager.any_preempted();
        }
        self.seats.active() < self.inboxes.len() && self.seats.any_preempted(|vp| self.has_resumed(vp))
    }

    /// Counts an event on `vp`'s line; only `vp` itself calls this.
    pub fn count(&self, vp: usize, counter: Counter) {
        let counter = &self.counters[vp][counter as usize];
        counter.store(counter.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }
}
