//! The entries of the ready queues: two words, a pointer to a job and the function that runs it.
//! The job of a `join` lies on the stack of the nano-thread that waits for it; a spawned one lies
//! on the heap.

use std::any::Any;
use std::cell::UnsafeCell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use crate::latch::Latch;

/// The payload of a panic.
pub type Payload = Box<dyn Any + Send>;

/// A job in a queue. It must be executed exactly once, or taken back by its owner.
#[derive(Clone, Copy)]
pub struct Job {
    data: *const (),
    execute: unsafe fn(*const ()),
}

// SAFETY: jobs are made only from closures that are `Send` (see `StackJob::job` and `heap`).
unsafe impl Send for Job {}

impl Job {
    /// Are these the same job?
    #[inline]
    pub fn is(&self, other: &Self) -> bool {
        std::ptr::eq(self.data, other.data)
    }

    /// Runs it. It does not unwind.
    ///
    /// # Safety
    /// Once for each job, while the data it borrows are alive.
    #[inline]
    pub unsafe fn execute(self) {
        // SAFETY: `data` and `execute` were made for each other.
        unsafe { (self.execute)(self.data) }
    }
}

/// A job on the stack of the nano-thread that waits for it.
pub struct StackJob<F, R> {
    latch: Latch,
    closure: UnsafeCell<Option<F>>,
    result: UnsafeCell<Option<Result<R, Payload>>>,
}

impl<F: FnOnce() -> R + Send, R: Send> StackJob<F, R> {
    /// A job that is in no queue yet.
    #[inline]
    pub fn new(closure: F) -> Self {
        Self { latch: Latch::new(), closure: UnsafeCell::new(Some(closure)), result: UnsafeCell::new(None) }
    }

    /// The entry for a queue.
    ///
    /// # Safety
    /// `self` stays where it is until the latch is set or the job was taken back unexecuted.
    #[inline]
    pub unsafe fn job(&self) -> Job {
        Job { data: std::ptr::from_ref(self).cast(), execute: Self::execute }
    }

    unsafe fn execute(data: *const ()) {
        let this = data.cast::<Self>();
        // SAFETY: the owner waits for the latch, so `this` lives; nobody else touches the cells
        // before it is set.
        unsafe {
            let closure = (*(*this).closure.get()).take();
            if let Some(closure) = closure {
                *(*this).result.get() = Some(catch_unwind(AssertUnwindSafe(closure)));
            }
            Latch::set(&raw const (*this).latch);
        }
    }

    /// Waits until it has been executed.
    pub fn wait(&self) {
        self.latch.wait();
    }

    /// The closure, to run it here.
    ///
    /// # Safety
    /// The job was taken back from the queue, so nobody else will execute it.
    #[inline]
    pub unsafe fn take_back(self) -> F {
        match self.closure.into_inner() {
            Some(closure) => closure,
            None => unreachable!("a job that was taken back has been executed"),
        }
    }

    /// Its result; goes on with its panic if it panicked. Call it after [`wait`](Self::wait).
    pub fn into_result(self) -> R {
        match self.result.into_inner() {
            Some(Ok(value)) => value,
            Some(Err(payload)) => resume_unwind(payload),
            None => unreachable!("the latch was set without a result"),
        }
    }
}

/// A job on the heap. `closure` must not unwind.
///
/// # Safety
/// The data that `closure` borrows outlive its execution.
pub unsafe fn heap<F: FnOnce() + Send>(closure: F) -> Job {
    unsafe fn execute<F: FnOnce()>(data: *const ()) {
        // SAFETY: made by `heap` below, executed once.
        let closure = unsafe { Box::from_raw(data.cast_mut().cast::<F>()) };
        closure();
    }
    // A closure without captures has no address of its own; it does not need one.
    Job { data: Box::into_raw(Box::new(closure)).cast_const().cast(), execute: execute::<F> }
}
