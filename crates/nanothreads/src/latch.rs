//! One-shot events for which one party waits: a nano-thread, which is suspended, or an
//! operating-system thread from outside, which sleeps.
//!
//! `fiber` makes a nano-thread ready.

use std::ptr;
use std::sync::Arc;

use crate::fiber::{self, FiberRef};
use crate::sync::{AtomicU32, AtomicUsize, Ordering, futex_wait, futex_wake};

/// The place where a thread from outside sleeps.
#[derive(Default)]
pub struct Parker {
    told: AtomicU32,
}

impl Parker {
    fn wait(&self) {
        while self.told.load(Ordering::Acquire) == 0 {
            futex_wait(&self.told, 0, None);
        }
    }

    fn tell(&self) {
        self.told.store(1, Ordering::Release);
        futex_wake(&self.told);
    }
}

/// The party that waits, in one word: a nano-thread's address, or a [`Parker`]'s address with the
/// lowest bit set.
#[derive(Clone, Copy)]
pub struct Waiter(usize);

impl Waiter {
    /// A suspended nano-thread.
    pub fn fiber(fiber: FiberRef) -> Self {
        Self(fiber.address())
    }

    /// A sleeping thread; the word holds one count of the `Arc`.
    fn parker(parker: Arc<Parker>) -> Self {
        Self(Arc::into_raw(parker).expose_provenance() | 1)
    }

    /// Lets it go on.
    ///
    /// # Safety
    /// Each waiter is released once, and not before it is suspended or about to sleep.
    pub unsafe fn release(self) {
        if self.0 & 1 == 0 {
            // SAFETY: made in `fiber`, released once.
            unsafe { fiber::ready(FiberRef::from_address(self.0)) };
        } else {
            // SAFETY: made in `parker`, released once.
            let parker = unsafe { Arc::from_raw(ptr::with_exposed_provenance::<Parker>(self.0 & !1)) };
            parker.tell();
        }
    }
}

/// Blocks the calling operating-system thread until the waiter made for it is released. `register`
/// says whether it has been registered; if not, the event it waits for has happened.
pub fn block(register: impl FnOnce(Waiter) -> bool) {
    let parker = Arc::new(Parker::default());
    let waiter = Waiter::parker(Arc::clone(&parker));
    if register(waiter) {
        parker.wait();
    } else {
        parker.tell();
        // SAFETY: nobody else has this waiter, and its count must be given back.
        unsafe { waiter.release() };
    }
}

const UNSET: usize = 0;
const SET: usize = 1;
/// Added to a waiter's word so that it is neither `UNSET` nor `SET`: bit 1 is free in every address
/// used here.
const WAITING: usize = 2;

/// An event that is set once; at most one party waits for it.
#[derive(Default)]
pub struct Latch {
    state: AtomicUsize,
}

impl Latch {
    /// An unset latch.
    pub fn new() -> Self {
        Self { state: AtomicUsize::new(UNSET) }
    }

    /// Has it been set? If so, all writes before the set are visible.
    #[inline]
    pub fn is_set(&self) -> bool {
        self.state.load(Ordering::Acquire) == SET
    }

    /// Registers the waiter; `false` if the latch is set already. After `true` the latch's owner
    /// may go on at any time.
    pub fn register(&self, waiter: Waiter) -> bool {
        let word = waiter.0 | WAITING;
        self.state.compare_exchange(UNSET, word, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }

    /// Sets it and lets the waiter go on.
    ///
    /// # Safety
    /// `this` is live when called. It may be gone as soon as it is set: nothing of it is touched
    /// afterwards.
    pub unsafe fn set(this: *const Self) {
        // SAFETY: live until this swap, by the caller's promise.
        let former = unsafe { (*this).state.swap(SET, Ordering::AcqRel) };
        if former != UNSET && former != SET {
            // SAFETY: the registered waiter is suspended, and only the first set gets its word.
            unsafe { Waiter(former & !WAITING).release() };
        }
    }

    /// Waits until it is set: a nano-thread is suspended, any other thread sleeps.
    pub fn wait(&self) {
        if !self.is_set() {
            fiber::wait(|waiter| self.register(waiter));
        }
    }
}

/// A [`Latch`] that is set when a count has come down to zero.
pub struct CountLatch {
    count: AtomicUsize,
    latch: Latch,
}

impl CountLatch {
    /// A latch whose count starts at 1: its owner counts too.
    pub fn new() -> Self {
        Self { count: AtomicUsize::new(1), latch: Latch::new() }
    }

    /// Adds 1 to the count, which is not zero.
    pub fn increment(&self) {
        self.count.fetch_add(1, Ordering::Relaxed);
    }

    /// Takes 1 off the count.
    ///
    /// # Safety
    /// As [`Latch::set`]: `this` may be gone as soon as the count is zero.
    pub unsafe fn decrement(this: *const Self) {
        // SAFETY: live while the count is not zero, and this call's own share of it is not given
        // back yet.
        if unsafe { (*this).count.fetch_sub(1, Ordering::AcqRel) } == 1 {
            // SAFETY: live until the latch is set.
            unsafe { Latch::set(&raw const (*this).latch) };
        }
    }

    /// Gives the owner's count back and waits for the others.
    pub fn wait(&self) {
        // SAFETY: `self` is borrowed for the whole call.
        unsafe { Self::decrement(self) };
        self.latch.wait();
    }
}
