//! `scope`: any number of nano-threads that may borrow from the nano-thread that waits for them.

use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::Mutex;

use crossbeam_utils::CachePadded;

use crate::job::{self, Payload};
use crate::latch::CountLatch;
use crate::registry::Registry;
use crate::runtime::{global, present_registry};
use crate::vp;

/// A scope for spawning nano-threads that end before [`scope`] returns.
pub struct Scope<'scope> {
    registry: Arc<Registry>,
    /// On a line of its own: each end of a nano-thread writes it, and every spawn reads the rest.
    running: CachePadded<CountLatch>,
    /// The first panic; the others are dropped, as there is only one way to go on.
    panic: Mutex<Option<Payload>>,
    /// Invariant: borrowed data live exactly as long as `'scope`.
    marker: PhantomData<fn(&'scope ()) -> &'scope ()>,
}

/// A scope's address for its nano-threads.
struct Address<'scope>(*const Scope<'scope>);

// SAFETY: a scope is `Sync`, and outlives all nano-threads spawned in it.
unsafe impl Send for Address<'_> {}

impl<'scope> Address<'scope> {
    /// # Safety
    /// The scope still waits for the caller.
    unsafe fn scope(&self) -> &Scope<'scope> {
        // SAFETY: it lives, says the caller.
        unsafe { &*self.0 }
    }
}

/// Runs `body`, which may spawn nano-threads that borrow data that outlive the scope, and returns
/// when all of them have ended. If any of them panics, or `body` does, the panic goes on here after
/// all have ended.
pub fn scope<'scope, R: Send>(body: impl FnOnce(&Scope<'scope>) -> R + Send) -> R {
    if vp::current().is_none() {
        return global().install(|| scope(body));
    }
    let scope = Scope {
        registry: present_registry(),
        running: CachePadded::new(CountLatch::new()),
        panic: Mutex::new(None),
        marker: PhantomData,
    };
    let result = catch_unwind(AssertUnwindSafe(|| body(&scope)));
    scope.running.wait();
    let panicked = scope.panic.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    match (result, panicked) {
        (Ok(value), None) => value,
        (Err(payload), _) | (_, Some(payload)) => resume_unwind(payload),
    }
}

impl<'scope> Scope<'scope> {
    /// Spawns a nano-thread into the local ready queue. It may spawn others.
    pub fn spawn(&self, work: impl FnOnce(&Scope<'scope>) + Send + 'scope) {
        self.running.increment();
        let address = Address(self);
        // SAFETY: the scope waits for this nano-thread, so it and the data borrowed for `'scope`
        // live until this gives the count back as its last step.
        let job = unsafe {
            job::heap(move || {
                let address = address;
                let scope = address.scope();
                let running: *const CountLatch = &raw const *scope.running;
                if let Err(payload) = catch_unwind(AssertUnwindSafe(|| work(scope))) {
                    let mut panic = scope.panic.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                    panic.get_or_insert(payload);
                }
                CountLatch::decrement(running);
            })
        };
        match vp::current() {
            Some(vp) if std::ptr::eq(vp.registry(), &raw const *self.registry) => {
                vp.push(job);
                vp.safe_point();
            }
            _ => self.registry.inject(job),
        }
    }
}
