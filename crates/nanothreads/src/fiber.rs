//! Stacks that a job can leave and come back to. Every job runs on one; a job that never waits
//! never leaves it.
//!
//! A virtual processor's thread runs the trampoline (`vp`), the trampoline resumes a fiber, the
//! fiber runs the idle loop (`idle`) and, on top of it, jobs. A job that must wait leaves its fiber
//! to the waker, and the trampoline goes on with a fresh fiber. So no job is ever buried under
//! another, and spawning costs no stack.

use std::ptr::NonNull;
use std::sync::Arc;

use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, Yielder};

use crate::inbox::Linked;
use crate::latch::{Waiter, block};
use crate::registry::Registry;
use crate::sync::{Ordering, fence};
use crate::vp::{self, Vp};

/// A request of a fiber to the trampoline. The trampoline carries it out when the fiber's stack is
/// at rest.
pub enum Command {
    /// Register this fiber for the event it waits for; if that has happened already, go on with it.
    Wait(Register),
    /// The stack of this fiber is empty: keep it and go on with that one.
    Switch(FiberRef),
}

/// A closure on the stack of a fiber that is at rest.
pub struct Register {
    closure: *mut (),
    call: unsafe fn(*mut (), Waiter) -> bool,
}

impl Register {
    fn new<F: FnMut(Waiter) -> bool>(closure: &mut F) -> Self {
        unsafe fn call<F: FnMut(Waiter) -> bool>(closure: *mut (), waiter: Waiter) -> bool {
            // SAFETY: made from a `&mut F` whose owner is at rest.
            unsafe { (*closure.cast::<F>())(waiter) }
        }
        Self { closure: std::ptr::from_mut(closure).cast(), call: call::<F> }
    }

    /// Registers the fiber. `false`: the event it wants to wait for has happened.
    ///
    /// # Safety
    /// Once, while the fiber that asked for it is at rest.
    pub unsafe fn register(self, waiter: Waiter) -> bool {
        // SAFETY: `call` and `closure` were made for each other.
        unsafe { (self.call)(self.closure, waiter) }
    }
}

type Stackful = Coroutine<*const Vp, Command, (), DefaultStack>;

/// A stack and its state.
pub struct Fiber {
    coroutine: Stackful,
    /// The link to the trampoline; null before the fiber has first run.
    yielder: *const Yielder<*const Vp, Command>,
    /// The runtime it belongs to. It outlives every suspended fiber, because it waits for all
    /// spawned jobs.
    registry: *const Registry,
    /// The virtual processor that must go on with it, or [`ANYWHERE`].
    home: usize,
    next: *mut Fiber,
}

/// The home of a nano-thread that is not tied.
pub const ANYWHERE: usize = usize::MAX;

impl Linked for Fiber {
    unsafe fn link(this: *mut Self) -> *mut *mut Self {
        // SAFETY: live, as the caller promises.
        unsafe { &raw mut (*this).next }
    }
}

/// A fiber that is at rest, or the one that runs. Its holder may make it ready once.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct FiberRef(NonNull<Fiber>);

// SAFETY: a fiber is resumed by one thread at a time. Data on its stack cross threads only if the
// runtime is untied, and then its builder has promised that this is sound (`Builder::untied`).
unsafe impl Send for FiberRef {}

impl FiberRef {
    /// A new fiber that runs the idle loop.
    ///
    /// # Errors
    /// There is no memory for the stack.
    pub fn new(registry: &Registry, stack_bytes: usize) -> std::io::Result<Self> {
        let stack = DefaultStack::new(stack_bytes)?;
        let body = |yielder: &Yielder<*const Vp, Command>, vp: *const Vp| {
            // SAFETY: the trampoline passes its own virtual processor, which outlives the
            // resumption, and has noted this fiber as the running one.
            unsafe {
                (*vp).running().set_yielder(yielder);
                crate::idle::run(yielder, vp);
            }
        };
        let fiber = Fiber {
            coroutine: Coroutine::with_stack(stack, body),
            yielder: std::ptr::null(),
            registry,
            home: ANYWHERE,
            next: std::ptr::null_mut(),
        };
        Ok(Self(NonNull::from(Box::leak(Box::new(fiber)))))
    }

    /// As one word; the two lowest bits are zero.
    pub fn address(self) -> usize {
        self.0.as_ptr().expose_provenance()
    }

    /// The fiber of a word.
    ///
    /// # Safety
    /// The word came from [`address`](Self::address) of a fiber that lives.
    pub unsafe fn from_address(address: usize) -> Self {
        // SAFETY: never null, as the caller promises.
        Self(unsafe { NonNull::new_unchecked(std::ptr::with_exposed_provenance_mut(address)) })
    }

    /// The fiber of a pointer from an inbox.
    ///
    /// # Safety
    /// The pointer came out of an [`Inbox`](crate::inbox::Inbox) of fibers.
    pub unsafe fn from_inbox(pointer: *mut Fiber) -> Self {
        // SAFETY: never null, as the caller promises.
        Self(unsafe { NonNull::new_unchecked(pointer) })
    }

    fn set_yielder(self, yielder: *const Yielder<*const Vp, Command>) {
        // SAFETY: only the fiber itself calls this, on its first resumption.
        unsafe { (*self.0.as_ptr()).yielder = yielder };
    }

    /// Notes the virtual processor that must go on with it.
    ///
    /// # Safety
    /// The fiber is at rest and not ready.
    pub unsafe fn set_home(self, home: usize) {
        // SAFETY: nobody else looks at a fiber at rest.
        unsafe { (*self.0.as_ptr()).home = home };
    }

    /// Must one virtual processor go on with it?
    ///
    /// # Safety
    /// The fiber is at rest, and the caller's.
    pub unsafe fn is_tied(self) -> bool {
        // SAFETY: nobody else looks at it.
        unsafe { (*self.0.as_ptr()).home != ANYWHERE }
    }

    /// Runs it until it asks for something; `None` when it has ended.
    ///
    /// # Safety
    /// The fiber is at rest, the caller is the trampoline of `vp`, and nobody else resumes it.
    pub unsafe fn resume(self, vp: *const Vp) -> Option<Command> {
        // SAFETY: exclusive, as the caller promises.
        unsafe { (*self.0.as_ptr()).coroutine.resume(vp).as_yield() }
    }

    /// Frees a fiber that has nothing on its stack but the idle loop.
    ///
    /// # Safety
    /// It is at rest, in no queue, and not used again.
    pub unsafe fn free(self) {
        // SAFETY: it came from `Box::leak`; the idle loop's frames own nothing, so they can be
        // forgotten.
        unsafe {
            let mut fiber = Box::from_raw(self.0.as_ptr());
            if fiber.coroutine.started() && !fiber.coroutine.done() {
                fiber.coroutine.force_reset();
            }
        }
    }
}

/// Suspends the calling nano-thread, or puts a thread from outside to sleep, until the [`Waiter`]
/// that `register` gets is released. If `register` returns `false`, it goes on at once. After it
/// has let others see the waiter, `register` must not touch its borrowed data, because the caller
/// may have gone on.
pub fn wait(mut register: impl FnMut(Waiter) -> bool) {
    let Some(vp) = vp::current() else {
        return block(register);
    };
    let command = Command::Wait(Register::new(&mut register));
    // SAFETY: this fiber runs, so it has a yielder. The closure stays on this stack, which is at
    // rest when the trampoline calls it.
    unsafe { (*(*vp.running().0.as_ptr()).yielder).suspend(command) };
}

/// Leaves the virtual processor to others; any of them, or this one, goes on with the calling
/// nano-thread.
pub fn make_way() {
    wait(|waiter| {
        // SAFETY: the fiber is at rest when this is called, and this is the last step before it may
        // go on.
        unsafe { waiter.release() };
        true
    });
}

/// Makes a suspended nano-thread ready: in its home's inbox, or in the global queue if any virtual
/// processor may go on with it.
///
/// # Safety
/// The fiber is suspended and this is called once for each suspension.
pub unsafe fn ready(fiber: FiberRef) {
    // SAFETY: at rest until it is in a queue.
    let (registry, home) = unsafe { ((*fiber.0.as_ptr()).registry, (*fiber.0.as_ptr()).home) };
    // Once the fiber is in a queue it may end, and with it the last reason for the runtime to live;
    // a virtual processor of that runtime keeps it alive by itself.
    let own = vp::current().is_some_and(|vp| std::ptr::eq(vp.registry(), registry));
    // SAFETY: the runtime lives while it has a suspended fiber, and it is always inside an `Arc`.
    let _alive = (!own).then(|| unsafe {
        Arc::increment_strong_count(registry);
        Arc::from_raw(registry)
    });
    // SAFETY: as above.
    let registry = unsafe { &*registry };
    if home == ANYWHERE {
        registry.resumed.push(fiber);
    } else {
        // SAFETY: the fiber is in no other queue.
        unsafe { registry.inboxes[home].push(fiber.0.as_ptr()) };
    }
    fence(Ordering::SeqCst);
    if home == ANYWHERE {
        registry.wake_one();
    } else {
        registry.seats.wake_for(home);
    }
}
