//! The idle loop of a virtual processor with nothing to run, in the order of the nano-threads
//! library (Martorell et al. 2000, Fig. 4). First give back the processor if the manager asks for
//! one; else recover preempted work by handing this processor to it; else take work from the local
//! ready queue, else from the global one, else from another virtual processor's.

use std::hint::spin_loop;
use std::time::{Duration, Instant};

use corosensei::Yielder;
use crossbeam_deque::Steal;

use crate::fiber::{Command, FiberRef};
use crate::job::Job;
use crate::registry::Counter;
use crate::sync::Ordering;
use crate::vp::{self, Vp};

/// The global queue comes before the local one in one visit out of so many, so that a job that
/// spawns its successor again and again cannot keep other work waiting for ever.
const GLOBAL_FIRST: u32 = 61;

/// The first sleep ends by itself after this, the later ones after longer and longer times up to a
/// second: a virtual processor that pushes to its own queue looks for sleepers without a fence, so
/// it can miss one that is just falling asleep.
const FIRST_SLEEP: Duration = Duration::from_millis(1);

/// Pauses of the processor between two looks: some hundred nanoseconds, so that a search leaves
/// others' lines in peace.
const PAUSES: u32 = 8;

/// An idle virtual processor keeps its processor for so long, then the manager may give it to
/// another program. If that is not possible yet, it tries again after twice the time, and so on up
/// to `LENT_AFTER_MOST`.
const LENT_AFTER: Duration = Duration::from_millis(10);
const LENT_AFTER_MOST: Duration = Duration::from_secs(1);

/// After so many looks a search lets another thread have the processor: if the operating system has
/// put two virtual processors on one, the other one may be the one with the work.
const LOOKS_PER_YIELD: u32 = 4;

enum Next {
    Run(Job),
    GoOn(FiberRef),
    End,
}

/// The body of every fiber.
///
/// # Safety
/// `vp` is the virtual processor whose trampoline has resumed this fiber, and every resumption
/// passes the right one.
pub unsafe fn run(yielder: &Yielder<*const Vp, Command>, mut vp: *const Vp) {
    loop {
        // SAFETY: the virtual processor outlives everything that runs on it.
        match next(unsafe { &*vp }) {
            Next::End => return,
            Next::GoOn(fiber) => vp = yielder.suspend(Command::Switch(fiber)),
            Next::Run(job) => {
                // SAFETY: it was taken from a queue, so it is ours to execute.
                unsafe { job.execute() };
                // The job may have waited and come back elsewhere.
                if let Some(here) = vp::current() {
                    vp = here;
                }
            }
        }
    }
}

fn next(vp: &Vp) -> Next {
    let registry = vp.registry();
    let mut sleeps = 0;
    loop {
        registry.poll();
        vp.take_inbox();
        if registry.asked_back() {
            give_back(vp);
        }
        // A virtual processor that was just given a processor uses it before it hands it on.
        if !vp.fresh.replace(false) && recover(vp) {
            vp.fresh.set(true);
            continue;
        }
        if let Some(next) = take(vp) {
            return next;
        }
        if registry.seats.is_closed() {
            return Next::End;
        }
        if let Some(next) = search(vp) {
            return next;
        }
        if something_urgent(vp) {
            continue;
        }
        rest(vp, sleeps);
        sleeps += 1;
    }
}

fn give_back(vp: &Vp) {
    let registry = vp.registry();
    if registry.manager.is_some() {
        release_to_manager(vp);
    } else {
        let interrupted = !vp.resumed.borrow().is_empty();
        vp.give_back(interrupted);
    }
    vp.take_inbox();
}

/// Gives the processor back, but only without tied nano-threads: the manager would not see that
/// there is work to recover.
fn release_to_manager(vp: &Vp) {
    let registry = vp.registry();
    if let Some(manager) = &registry.manager
        && registry.recovery
        && vp.tied.get() == 0
    {
        manager.release(vp.index, |lowers| parks(vp, Counter::Releases, lowers));
    }
}

fn parks(vp: &Vp, counter: Counter, lowers: bool) {
    let registry = vp.registry();
    registry.count(vp.index, counter);
    // Before `sleeps_elsewhere`: wake a sleeper of this runtime, and ask the manager for no
    // processor while leaving.
    if registry.has_queued() {
        registry.seats.wake_one();
    }
    if lowers {
        registry.seats.sleeps_elsewhere(true);
    }
}

/// Hands this processor to a virtual processor that lost its own in the middle of work, and parks
/// until there is one for this again.
fn recover(vp: &Vp) -> bool {
    let registry = vp.registry();
    if !registry.recovery || !registry.any_preempted() {
        return false;
    }
    if let Some(manager) = &registry.manager {
        // The heir may be asleep for want of work, and no other may be left to wake it.
        let wake = |heir| _ = registry.seats.wake(heir);
        return vp.tied.get() == 0 && manager.hand_over(vp.index, wake, |lowers| parks(vp, Counter::HandOvers, lowers));
    }
    let interrupted = !vp.resumed.borrow().is_empty();
    let heir = registry.seats.hand_over(vp.index, interrupted, |other| registry.has_resumed(other));
    if heir.is_some() {
        registry.count(vp.index, Counter::HandOvers);
        vp.wait_seated();
    }
    heir.is_some()
}

/// Sleeps, because there is nothing to do. If there is a manager and still no work after a while,
/// others may have the processor.
fn rest(vp: &Vp, sleeps: u32) {
    let registry = vp.registry();
    let managed = registry.manager.is_some();
    let timeout = match sleeps {
        0 => FIRST_SLEEP,
        _ => LENT_AFTER.saturating_mul(1 << (sleeps - 1).min(10)).min(LENT_AFTER_MOST),
    };
    registry.count(vp.index, Counter::Sleeps);
    registry.seats.sleep(vp.index, Some(timeout), || something_to_do(vp));
    if managed && sleeps > 0 && !something_to_do(vp) {
        release_to_manager(vp);
    }
}

/// One visit of the ready queues.
fn take(vp: &Vp) -> Option<Next> {
    if let Some(fiber) = vp.resumed.borrow_mut().pop_front() {
        return Some(Next::GoOn(fiber));
    }
    let visits = vp.visits.get().wrapping_add(1);
    vp.visits.set(visits);
    if visits.is_multiple_of(GLOBAL_FIRST) {
        global(vp).or_else(|| vp.deque.pop().map(Next::Run)).or_else(|| steal(vp))
    } else {
        vp.deque.pop().map(Next::Run).or_else(|| global(vp)).or_else(|| steal(vp))
    }
}

fn global(vp: &Vp) -> Option<Next> {
    let registry = vp.registry();
    if !registry.resumed.is_empty()
        && let Some(fiber) = until_sure(|| registry.resumed.steal())
    {
        return Some(Next::GoOn(fiber));
    }
    if registry.injector.is_empty() {
        return None;
    }
    until_sure(|| registry.injector.steal()).map(Next::Run)
}

fn until_sure<T>(mut attempt: impl FnMut() -> Steal<T>) -> Option<T> {
    loop {
        match attempt() {
            Steal::Success(value) => return Some(value),
            Steal::Empty => return None,
            Steal::Retry => spin_loop(),
        }
    }
}

fn steal(vp: &Vp) -> Option<Next> {
    let registry = vp.registry();
    let count = registry.stealers.len();
    let mut random = vp.random.get();
    random ^= random << 13;
    random ^= random >> 17;
    random ^= random << 5;
    vp.random.set(random);
    let start = random as usize % count;
    (start..start + count).map(|other| other % count).filter(|&other| other != vp.index).find_map(|other| {
        let job = until_sure(|| registry.stealers[other].steal())?;
        registry.count(vp.index, Counter::Steals);
        Some(Next::Run(job))
    })
}

/// Looks again and again for a short time: work often comes at once, and a wake costs much. If the
/// last searcher finds a job, it wakes another to search, so that many jobs wake many sleepers, but
/// one at a time.
fn search(vp: &Vp) -> Option<Next> {
    let registry = vp.registry();
    registry.searching.fetch_add(1, Ordering::SeqCst);
    let mut found = None;
    let start = Instant::now();
    let mut looks = 0_u32;
    while start.elapsed() < registry.search && !is_crowded(vp) {
        looks += 1;
        if registry.recovery && looks.is_multiple_of(LOOKS_PER_YIELD) {
            std::thread::yield_now();
        }
        (0..PAUSES).for_each(|_| spin_loop());
        vp.take_inbox();
        found = take(vp);
        if found.is_some() || registry.seats.is_closed() {
            break;
        }
    }
    if registry.searching.fetch_sub(1, Ordering::SeqCst) == 1 && found.is_some() {
        registry.wake_one();
    }
    found
}

/// Asks the idle loop's first two questions. If the answer to either is yes, the search ends: the
/// processor is wanted elsewhere.
fn is_crowded(vp: &Vp) -> bool {
    let registry = vp.registry();
    registry.poll();
    registry.recovery && (registry.asked_back() || registry.any_preempted())
}

/// Says whether a virtual processor has to stay awake although there is no work.
fn something_urgent(vp: &Vp) -> bool {
    let registry = vp.registry();
    // Tied nano-threads keep it from following the manager (see `release_to_manager`); then it
    // sleeps all the same.
    let follows = registry.manager.is_none() || vp.tied.get() == 0;
    follows && is_crowded(vp) || registry.seats.is_closed()
}

/// The last look before falling asleep.
fn something_to_do(vp: &Vp) -> bool {
    let registry = vp.registry();
    registry.has_resumed(vp.index) || registry.has_queued() || something_urgent(vp)
}
