//! A virtual processor: one operating-system thread, its ready queue, and the trampoline that
//! resumes fibers.
//!
//! `idle` decides what to do next.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::sync::Arc;

use crossbeam_deque::Worker;

use crate::affinity;
use crate::fiber::{self, ANYWHERE, Command, FiberRef};
use crate::inbox::Inbox;
use crate::job::Job;
use crate::latch::Waiter;
use crate::registry::{Counter, Registry};

/// At most this many empty stacks are kept for reuse on each virtual processor.
const STACKS_KEPT: usize = 64;

/// The data that only one virtual processor's thread touches; others see it through the registry
/// (stealer, inbox, seat).
pub struct Vp {
    /// Its number, from 0.
    pub index: usize,
    registry: Arc<Registry>,
    /// The local ready queue: last in, first out for the owner, first in, first out for thieves.
    pub deque: Worker<Job>,
    /// Resumed nano-threads that this virtual processor must go on with, oldest first.
    pub resumed: RefCell<VecDeque<FiberRef>>,
    running: Cell<Option<FiberRef>>,
    stacks: RefCell<Vec<FiberRef>>,
    /// State of the generator that picks victims; never zero.
    pub random: Cell<u32>,
    /// Number of visits of the ready queues: some of them look at the global queue first.
    pub visits: Cell<u32>,
    /// Number of nano-threads that wait or are ready, and that no other may go on with.
    pub tied: Cell<usize>,
    /// The processor its thread was last bound to.
    bound_to: Cell<usize>,
    /// It was just given a processor by a hand-over and has done nothing with it yet.
    pub fresh: Cell<bool>,
}

thread_local! {
    static CURRENT: Cell<*const Vp> = const { Cell::new(std::ptr::null()) };
}

/// The virtual processor the caller runs on. Never inlined: an untied nano-thread may come back
/// from a wait on another thread, and must not find the former thread's address in a register.
#[inline(never)]
fn current_pointer() -> *const Vp {
    CURRENT.get()
}

/// The virtual processor the caller runs on, if it runs on one. Good until the caller next waits.
#[inline]
pub fn current<'a>() -> Option<&'a Vp> {
    // SAFETY: null, or the `Vp` on the stack of this very thread, which ends after everything that
    // runs on it.
    unsafe { current_pointer().as_ref() }
}

impl Vp {
    /// The runtime it belongs to.
    #[inline]
    pub fn registry(&self) -> &Registry {
        &self.registry
    }

    /// The runtime it belongs to, to keep.
    pub fn registry_arc(&self) -> Arc<Registry> {
        Arc::clone(&self.registry)
    }

    /// The fiber that runs on it.
    pub fn running(&self) -> FiberRef {
        match self.running.get() {
            Some(fiber) => fiber,
            None => unreachable!("no nano-thread runs while the trampoline does"),
        }
    }

    /// Puts a job into the local ready queue and wakes at most one sleeper for it.
    #[inline]
    pub fn push(&self, job: Job) {
        self.deque.push(job);
        if self.registry.seats.somebody_sleeps() {
            self.registry.wake_a_searcher();
        }
    }

    /// The virtual processor that a nano-thread is on after a call that may have made it wait.
    #[inline]
    pub fn refreshed(&self) -> &Self {
        if self.registry.untied {
            match current() {
                Some(vp) => vp,
                None => unreachable!("nano-threads run on virtual processors only"),
            }
        } else {
            self
        }
    }

    /// A point where a nano-thread can be interrupted (spawn, join, chunk of a loop): if processors
    /// are asked back, the virtual processor gives its own back here, in the middle of its
    /// nano-thread. Others can steal the jobs in its queue meanwhile.
    #[inline]
    pub fn safe_point(&self) {
        self.registry.poll();
        if self.registry.asked_back() {
            self.interrupt();
        }
    }

    /// An untied nano-thread makes way, and the idle loop gives the processor back. A tied one
    /// parks with its virtual processor and is recovered; but if the manager parks, it goes on,
    /// because the manager recovers only virtual processors that it has stolen from itself, and the
    /// idle loop gives the processor back when nothing is tied to it.
    #[cold]
    fn interrupt(&self) {
        let registry = self.registry();
        if !registry.recovery {
        } else if registry.untied && !std::thread::panicking() {
            fiber::make_way();
        } else if registry.manager.is_none() {
            self.give_back(true);
        }
    }

    /// `cpus_release_self`, if processors are still asked back.
    pub fn give_back(&self, interrupted: bool) {
        let registry = self.registry();
        if registry.recovery && registry.seats.release(self.index, interrupted, |vp| registry.has_resumed(vp)) {
            registry.count(self.index, Counter::Releases);
            self.wait_seated();
        }
    }

    /// Parks until there is a processor for it, and follows that one.
    pub fn wait_seated(&self) {
        self.registry.pass_wake_on();
        self.registry.seats.wait_seated(self.index);
        let processors = &self.registry.bound_to;
        if !processors.is_empty() {
            let processor = processors[self.registry.seats.processor(self.index) % processors.len()];
            if self.bound_to.replace(processor) != processor {
                affinity::bind(processor);
            }
        }
    }

    /// Moves nano-threads that others have made ready into the list this virtual processor takes
    /// from.
    pub fn take_inbox(&self) {
        let inbox: &Inbox<_> = &self.registry.inboxes[self.index];
        // SAFETY: it came out of an inbox of fibers.
        inbox.take(|fiber| self.resumed.borrow_mut().push_back(unsafe { FiberRef::from_inbox(fiber) }));
    }

    fn fresh_stack(&self) -> FiberRef {
        let kept = self.stacks.borrow_mut().pop();
        kept.unwrap_or_else(|| match FiberRef::new(&self.registry, self.registry.stack_bytes) {
            Ok(fiber) => fiber,
            Err(error) => panic!("no memory for the stack of a nano-thread: {error}"),
        })
    }

    fn keep_stack(&self, fiber: FiberRef) {
        let mut stacks = self.stacks.borrow_mut();
        if stacks.len() < STACKS_KEPT {
            stacks.push(fiber);
        } else {
            // SAFETY: it has asked to be kept, so there is nothing on its stack.
            unsafe { fiber.free() };
        }
    }

    /// The trampoline: runs until the idle loop ends.
    fn run(&self) {
        let mut fiber = self.fresh_stack();
        loop {
            self.running.set(Some(fiber));
            // SAFETY: the fiber is ours: new, from the pool, or out of a queue.
            let command = unsafe { fiber.resume(self) };
            self.running.set(None);
            match command {
                None => break,
                Some(Command::Switch(next)) => {
                    // SAFETY: at rest, and out of a queue.
                    self.tied.update(|tied| tied - usize::from(unsafe { next.is_tied() }));
                    self.keep_stack(fiber);
                    fiber = next;
                }
                Some(Command::Wait(register)) => {
                    // The thread counts its panics, so a nano-thread that waits while unwinding
                    // stays on it.
                    let tied = !self.registry.untied || std::thread::panicking();
                    self.tied.update(|count| count + usize::from(tied));
                    // SAFETY: the fiber is at rest until the waiter is released, and the closure is
                    // on its stack.
                    let registered = unsafe {
                        fiber.set_home(if tied { self.index } else { ANYWHERE });
                        register.register(Waiter::fiber(fiber))
                    };
                    if registered {
                        self.registry.count(self.index, Counter::Suspensions);
                        fiber = self.fresh_stack();
                    } else {
                        self.tied.update(|count| count - usize::from(tied));
                    }
                }
            }
        }
        // SAFETY: the last fiber has ended, and those kept are at rest and empty.
        unsafe {
            fiber.free();
            self.stacks.borrow_mut().drain(..).for_each(|fiber| fiber.free());
        }
    }
}

/// The body of a virtual processor's thread.
pub fn main(index: usize, registry: Arc<Registry>, deque: Worker<Job>) {
    let vp = Vp {
        index,
        registry,
        deque,
        resumed: RefCell::default(),
        running: Cell::new(None),
        stacks: RefCell::default(),
        random: Cell::new(0x9E37_79B9 ^ (index as u32 + 1)),
        visits: Cell::new(0),
        tied: Cell::new(0),
        bound_to: Cell::new(usize::MAX),
        fresh: Cell::new(false),
    };
    CURRENT.set(&raw const vp);
    if let Some(manager) = &vp.registry.manager {
        manager.register(index);
    }
    vp.wait_seated();
    vp.run();
    CURRENT.set(std::ptr::null());
}
