//! Makes, uses and ends a runtime.

use std::sync::atomic::AtomicU64;
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle as Thread;
use std::time::Duration;

use crossbeam_deque::{Injector, Worker};
use crossbeam_utils::CachePadded;

use crate::affinity;
use crate::allocation::{Allocation, Fixed, processors_at_most, processors_of_the_mask};
use crate::inbox::Inbox;
use crate::job::StackJob;
use crate::latch::CountLatch;
use crate::manager::Manager;
use crate::registry::{Counter, Registry};
use crate::seats::Seats;
use crate::sync::{AtomicU32, Ordering};
use crate::vp::{self, Vp};

/// Default stack of a nano-thread, bytes: half of a thread's stack in the standard library. Only
/// the used part costs memory.
const STACK_BYTES: usize = 1 << 20;

/// Time that an idle virtual processor searches before it sleeps: about the cost of waking it.
const SEARCH: Duration = Duration::from_micros(50);

/// More virtual processors than this are refused.
const VPS_MAX: usize = 256;

/// The reason why a runtime could not be made.
#[derive(Debug)]
pub enum BuildError {
    /// The number of virtual processors is 0 or above 256.
    Vps(usize),
    /// The operating system refused a thread.
    Thread(std::io::Error),
}

impl std::fmt::Display for BuildError {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Vps(vps) => write!(out, "{vps} virtual processors were asked for; 1 to {VPS_MAX} are possible"),
            Self::Thread(error) => write!(out, "cannot create the thread of a virtual processor: {error}"),
        }
    }
}

impl std::error::Error for BuildError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Vps(_) => None,
            Self::Thread(error) => Some(error),
        }
    }
}

/// The options of a runtime; see [`Runtime::builder`].
pub struct Builder {
    vps: Option<usize>,
    allocation: Option<Box<dyn Allocation>>,
    untied: bool,
    recovery: bool,
    bind: bool,
    search: Duration,
    stack_bytes: usize,
}

impl Builder {
    /// Number of virtual processors: the most processors the program can use at a time. Default: as
    /// many as it may ever get, i.e. those of the affinity mask with which `numaestro run`, or the
    /// program itself, was started.
    #[must_use]
    pub fn vps(mut self, vps: usize) -> Self {
        self.vps = Some(vps);
        self
    }

    /// The source of the number of processors. Default: the manager, or without one the affinity
    /// mask.
    #[must_use]
    pub fn allocation(mut self, allocation: impl Allocation + 'static) -> Self {
        self.allocation = Some(Box::new(allocation));
        self
    }

    /// Lets a nano-thread that has waited go on with any virtual processor instead of the one it
    /// began on. So nano-threads at a barrier follow the processors as they come and go, without
    /// hand-overs.
    ///
    /// # Safety
    /// No nano-thread of this runtime may keep a reference to thread-local data, or anything else
    /// that must stay on its thread, while it waits (in [`join`](crate::join()),
    /// [`scope`](crate::scope()), [`Barrier::wait`](crate::Barrier),
    /// [`JoinHandle::join`](crate::JoinHandle), and what is built on them).
    #[must_use]
    pub unsafe fn untied(mut self) -> Self {
        self.untied = true;
        self
    }

    /// `false`: virtual processors keep their processors even if they are asked back, and hand none
    /// over, like a team of threads without a manager. For comparison.
    #[must_use]
    pub fn recovery(mut self, recovery: bool) -> Self {
        self.recovery = recovery;
        self
    }

    /// Without a manager, binds each virtual processor to the processor of the affinity mask that
    /// it holds: for programs that have the machine to themselves. A manager binds in any case.
    /// Default: the operating system decides.
    #[must_use]
    pub fn bind(mut self, bind: bool) -> Self {
        self.bind = bind;
        self
    }

    /// Time that an idle virtual processor searches for work before it sleeps. Default: 50
    /// microseconds, about the cost of waking it.
    #[must_use]
    pub fn search(mut self, time: Duration) -> Self {
        self.search = time;
        self
    }

    /// Bytes of a nano-thread's stack. Default: 1 MiB, of which only the used part costs memory.
    #[must_use]
    pub fn stack_bytes(mut self, bytes: usize) -> Self {
        self.stack_bytes = bytes;
        self
    }

    /// Makes the runtime and starts its threads.
    ///
    /// # Errors
    /// [`BuildError::Vps`] or [`BuildError::Thread`].
    pub fn build(self) -> Result<Runtime, BuildError> {
        let vps = self.vps.unwrap_or_else(processors_at_most);
        if !(1..=VPS_MAX).contains(&vps) {
            return Err(BuildError::Vps(vps));
        }
        let manager = if self.allocation.is_none() { Manager::attach(vps) } else { None };
        // The manager parks virtual processors itself: as far as this crate's table goes, all of
        // them run.
        let processors = if manager.is_some() { vps } else { processors_of_the_mask() };
        let allocation = self.allocation.unwrap_or_else(|| Box::new(Fixed(processors)));
        let deques: Vec<_> = (0..vps).map(|_| Worker::new_lifo()).collect();
        let counters = || CachePadded::new(std::array::from_fn(|_| AtomicU64::new(0)));
        let registry = Arc::new(Registry {
            seats: Seats::new(vps, allocation.processors()),
            stealers: deques.iter().map(Worker::stealer).collect(),
            inboxes: (0..vps).map(|_| CachePadded::new(Inbox::new())).collect(),
            injector: Injector::new(),
            resumed: Injector::new(),
            searching: CachePadded::new(AtomicU32::new(0)),
            alive: CachePadded::new(CountLatch::new()),
            polled: allocation.changes(),
            allocation,
            bound_to: if self.bind && manager.is_none() { affinity::mask() } else { Vec::new() },
            manager,
            untied: self.untied,
            recovery: self.recovery,
            search: self.search,
            stack_bytes: self.stack_bytes,
            counters: (0..vps).map(|_| counters()).collect(),
        });
        let mut runtime = Runtime { registry, threads: Vec::new() };
        for (index, deque) in deques.into_iter().enumerate() {
            let registry = Arc::clone(&runtime.registry);
            let thread = std::thread::Builder::new()
                .name(format!("nth-vp-{index}"))
                .spawn(move || vp::main(index, registry, deque))
                .map_err(BuildError::Thread)?;
            runtime.threads.push(thread);
        }
        Ok(runtime)
    }
}

/// Counts of events in a runtime so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Jobs taken from another virtual processor's queue.
    pub steals: u64,
    /// Times a nano-thread had to wait and left its virtual processor to others.
    pub suspensions: u64,
    /// Times a virtual processor handed its processor to one that had lost its own in the middle of
    /// work.
    pub hand_overs: u64,
    /// Times a processor was given back because the manager asked for it.
    pub releases: u64,
    /// Times a virtual processor went to sleep for want of work.
    pub sleeps: u64,
}

/// Virtual processors and their queues. Dropping it waits for all jobs that were spawned on it.
pub struct Runtime {
    registry: Arc<Registry>,
    threads: Vec<Thread<()>>,
}

impl Runtime {
    /// A builder with the default options.
    pub fn builder() -> Builder {
        Builder {
            vps: None,
            allocation: None,
            untied: false,
            recovery: true,
            bind: false,
            search: SEARCH,
            stack_bytes: STACK_BYTES,
        }
    }

    /// Runs `work` as a nano-thread of this runtime and waits for it. A panic in it goes on here.
    pub fn install<R: Send>(&self, work: impl FnOnce() -> R + Send) -> R {
        if vp::current().is_some_and(|vp| self.owns(vp)) {
            return work();
        }
        let job = StackJob::new(work);
        // SAFETY: `job` stays here until it has been executed.
        self.registry.inject(unsafe { job.job() });
        job.wait();
        job.into_result()
    }

    /// [`join`](crate::join()) on this runtime.
    pub fn join<A: Send, B: Send>(&self, a: impl FnOnce() -> A + Send, b: impl FnOnce() -> B + Send) -> (A, B) {
        self.install(|| crate::join(a, b))
    }

    /// [`scope`](crate::scope()) on this runtime.
    pub fn scope<'scope, R: Send>(&self, body: impl FnOnce(&crate::Scope<'scope>) -> R + Send) -> R {
        self.install(|| crate::scope(body))
    }

    /// [`parallel_for`](crate::parallel_for()) on this runtime.
    pub fn parallel_for(&self, range: std::ops::Range<usize>, grain: usize, body: impl Fn(usize) + Sync) {
        let body = &body;
        self.install(|| crate::parallel_for(range, grain, body));
    }

    /// [`spawn`](crate::spawn()) on this runtime.
    pub fn spawn<R: Send + 'static>(&self, work: impl FnOnce() -> R + Send + 'static) -> crate::JoinHandle<R> {
        crate::spawn::spawn_in(&self.registry, work)
    }

    /// Processors allotted now: the number for which parallelism is worth generating.
    pub fn processors(&self) -> usize {
        self.registry.processors()
    }

    /// Number of virtual processors, the most processors this runtime can use.
    pub fn vps(&self) -> usize {
        self.registry.inboxes.len()
    }

    /// Tells the manager how many processors this program wants (`cpus_request`); 0 withdraws the
    /// wish. `false`: there is no manager.
    pub fn request(&self, processors: usize) -> bool {
        self.registry.manager.as_ref().is_some_and(|manager| manager.wish(processors, self.vps()))
    }

    /// Tells the manager the speedup with so many processors, in thousandths. `false`: there is no
    /// manager.
    pub fn report_speedup(&self, processors: usize, milli: u32) -> bool {
        self.registry.manager.as_ref().is_some_and(|manager| manager.report_speedup(processors, milli))
    }

    /// Counts of events so far, over all virtual processors.
    pub fn statistics(&self) -> Statistics {
        let sum = |counter: Counter| {
            self.registry.counters.iter().map(|line| line[counter as usize].load(Ordering::Relaxed)).sum()
        };
        Statistics {
            steals: sum(Counter::Steals),
            suspensions: sum(Counter::Suspensions),
            hand_overs: sum(Counter::HandOvers),
            releases: sum(Counter::Releases),
            sleeps: sum(Counter::Sleeps),
        }
    }

    fn owns(&self, vp: &Vp) -> bool {
        std::ptr::eq(vp.registry(), &raw const *self.registry)
    }
}

impl Drop for Runtime {
    fn drop(&mut self) {
        let registry = Arc::clone(&self.registry);
        let threads = std::mem::take(&mut self.threads);
        let inside = vp::current().is_some_and(|vp| self.owns(vp));
        let end = move || {
            registry.alive.wait();
            registry.seats.close();
            for thread in threads {
                // Jobs catch their panics; a thread that panicked all the same has said so.
                let _ = thread.join();
            }
        };
        if inside {
            // One of its own nano-threads drops it: that one must end first, so another thread
            // waits for it.
            let _ = std::thread::Builder::new().name("nth-end".to_owned()).spawn(end);
        } else {
            end();
        }
    }
}

/// The runtime that free functions use outside of any other: made at its first use, never ended.
pub fn global() -> &'static Runtime {
    static GLOBAL: OnceLock<Runtime> = OnceLock::new();
    GLOBAL.get_or_init(|| match Runtime::builder().build() {
        Ok(runtime) => runtime,
        Err(error) => panic!("no runtime for nano-threads: {error}"),
    })
}

/// The registry of the runtime the caller runs on, or of the global one.
pub fn present_registry() -> Arc<Registry> {
    match vp::current() {
        Some(vp) => vp.registry_arc(),
        None => Arc::clone(&global().registry),
    }
}
