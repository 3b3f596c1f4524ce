//! `spawn`: a nano-thread on its own, and the handle to wait for it.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Mutex, PoisonError};

use crate::job::{self, Payload};
use crate::latch::{CountLatch, Latch};
use crate::registry::Registry;
use crate::runtime::present_registry;
use crate::vp;

struct Packet<R> {
    latch: Latch,
    result: Mutex<Option<Result<R, Payload>>>,
}

/// A spawned nano-thread. Dropping the handle lets it run by itself; its panic is then lost.
pub struct JoinHandle<R>(Arc<Packet<R>>);

impl<R> JoinHandle<R> {
    /// Waits for it: a nano-thread is suspended, any other thread sleeps. Its panic goes on here.
    pub fn join(self) -> R {
        match self.outcome() {
            Ok(value) => value,
            Err(payload) => resume_unwind(payload),
        }
    }

    /// Waits for it and returns its result, or the payload of its panic.
    pub fn outcome(self) -> std::thread::Result<R> {
        self.0.latch.wait();
        let result = self.0.result.lock().unwrap_or_else(PoisonError::into_inner).take();
        match result {
            Some(result) => result,
            None => unreachable!("the latch was set without a result"),
        }
    }

    /// Has it ended?
    pub fn is_finished(&self) -> bool {
        self.0.latch.is_set()
    }
}

/// Starts a nano-thread on the runtime the caller runs on, or on the global one.
pub fn spawn<R: Send + 'static>(work: impl FnOnce() -> R + Send + 'static) -> JoinHandle<R> {
    spawn_in(&present_registry(), work)
}

pub fn spawn_in<R, F>(registry: &Arc<Registry>, work: F) -> JoinHandle<R>
where
    R: Send + 'static,
    F: FnOnce() -> R + Send + 'static,
{
    let packet = Arc::new(Packet { latch: Latch::new(), result: Mutex::new(None) });
    let theirs = Arc::clone(&packet);
    let owner = Arc::clone(registry);
    registry.alive.increment();
    // SAFETY: the closure borrows nothing; `theirs` keeps the latch alive past its set.
    let job = unsafe {
        job::heap(move || {
            let result = catch_unwind(AssertUnwindSafe(work));
            *theirs.result.lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
            Latch::set(&raw const theirs.latch);
            drop(theirs);
            CountLatch::decrement(&raw const *owner.alive);
        })
    };
    match vp::current() {
        Some(vp) if std::ptr::eq(vp.registry(), &raw const **registry) => {
            vp.push(job);
            vp.safe_point();
        }
        _ => registry.inject(job),
    }
    JoinHandle(packet)
}
