//! The protocols of this crate under the interleavings that the memory model allows, for small
//! cases: `RUSTFLAGS="--cfg loom" cargo test -p numaestro-nanothreads --lib --release`. A wake that
//! is lost shows as a run without end, which loom reports.

use loom::sync::Arc;
use loom::sync::atomic::{AtomicBool, AtomicUsize, Ordering, fence};
use loom::thread;

use crate::barrier::Barrier;
use crate::inbox::{Inbox, Linked};
use crate::latch::{CountLatch, Latch};
use crate::seats::Seats;

/// All interleavings with at most so many preemptions; without a bound they do not end.
fn check(preemptions: usize, model: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.check(model);
}

struct Node {
    value: usize,
    next: *mut Node,
}

impl Linked for Node {
    unsafe fn link(this: *mut Self) -> *mut *mut Self {
        // SAFETY: live, as the caller promises.
        unsafe { &raw mut (*this).next }
    }
}

/// Two threads push, one takes: each node comes out once, and those of each pusher in order.
#[test]
fn nothing_is_lost_in_an_inbox() {
    check(3, || {
        let inbox = Arc::new(Inbox::new());
        let push = |inbox: &Inbox<Node>, value| {
            let node = Box::into_raw(Box::new(Node { value, next: std::ptr::null_mut() }));
            // SAFETY: new, and in no inbox.
            unsafe { inbox.push(node) };
        };
        let other = {
            let inbox = Arc::clone(&inbox);
            thread::spawn(move || push(&inbox, 10))
        };
        let pusher = {
            let inbox = Arc::clone(&inbox);
            thread::spawn(move || {
                push(&inbox, 1);
                push(&inbox, 2);
            })
        };
        let mut values = Vec::new();
        // SAFETY: made by `push` above.
        let mut take = |inbox: &Inbox<Node>| inbox.take(|node| values.push(unsafe { Box::from_raw(node) }.value));
        take(&inbox);
        other.join().unwrap();
        pusher.join().unwrap();
        take(&inbox);
        let own: Vec<_> = values.iter().filter(|&&value| value < 10).collect();
        assert_eq!((values.len(), own), (3, vec![&1, &2]));
    });
}

/// A waiter of a latch sees all writes before the set.
#[test]
fn a_latch_wakes_its_waiter() {
    check(3, || {
        let shared = Arc::new((Latch::new(), AtomicUsize::new(0)));
        let setter = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || {
                shared.1.store(1, Ordering::Relaxed);
                // SAFETY: the `Arc` keeps it alive.
                unsafe { Latch::set(&raw const shared.0) };
            })
        };
        shared.0.wait();
        assert_eq!(shared.1.load(Ordering::Relaxed), 1);
        setter.join().unwrap();
    });
}

#[test]
fn a_count_ends_when_all_have_ended() {
    check(3, || {
        let shared = Arc::new((CountLatch::new(), AtomicUsize::new(0)));
        let threads: Vec<_> = (0..2)
            .map(|_| {
                let shared = Arc::clone(&shared);
                shared.0.increment();
                thread::spawn(move || {
                    shared.1.fetch_add(1, Ordering::Relaxed);
                    // SAFETY: the `Arc` keeps it alive.
                    unsafe { CountLatch::decrement(&raw const shared.0) };
                })
            })
            .collect();
        shared.0.wait();
        assert_eq!(shared.1.load(Ordering::Relaxed), 2);
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    });
}

/// Two meetings in a row: no party is early, and each meeting has one last party.
#[test]
fn a_barrier_can_be_used_again() {
    check(2, || {
        let shared = Arc::new((Barrier::new(2), AtomicUsize::new(0), AtomicUsize::new(0)));
        let party = |shared: &(Barrier, AtomicUsize, AtomicUsize)| {
            for round in 1..=2 {
                shared.1.fetch_add(1, Ordering::Relaxed);
                shared.2.fetch_add(usize::from(shared.0.wait()), Ordering::Relaxed);
                assert!(shared.1.load(Ordering::Relaxed) >= 2 * round);
            }
        };
        let other = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || party(&shared))
        };
        party(&shared);
        other.join().unwrap();
        assert_eq!(shared.2.load(Ordering::Relaxed), 2);
    });
}

/// A processor that comes while another is being given back is not lost: the virtual processor goes
/// on.
#[test]
fn a_processor_that_comes_is_given_to_who_just_parked() {
    check(3, || {
        let seats = Arc::new(Seats::new(2, 2));
        seats.set_target(1, |_| false);
        let leaver = {
            let seats = Arc::clone(&seats);
            thread::spawn(move || {
                seats.release(1, false, |_| false);
                seats.wait_seated(1);
            })
        };
        seats.set_target(2, |_| false);
        leaver.join().unwrap();
        assert_eq!((seats.active(), seats.target()), (2, 2));
        assert!(seats.processor(0) != seats.processor(1));
    });
}

/// Only as many virtual processors give back as are asked to.
#[test]
fn no_more_processors_are_given_back_than_asked_for() {
    check(3, || {
        let seats = Arc::new(Seats::new(2, 2));
        seats.set_target(1, |_| false);
        let other = {
            let seats = Arc::clone(&seats);
            thread::spawn(move || seats.release(1, false, |_| false))
        };
        let here = seats.release(0, false, |_| false);
        assert!(here != other.join().unwrap());
        assert_eq!(seats.active(), 1);
    });
}

/// A virtual processor that falls asleep hears of work that comes at the same moment.
#[test]
fn a_sleeper_is_woken_for_what_comes() {
    check(3, || {
        let shared = Arc::new((Seats::new(1, 1), AtomicBool::new(false)));
        let sleeper = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || {
                while !shared.1.load(Ordering::Relaxed) {
                    shared.0.sleep(0, None, || shared.1.load(Ordering::Relaxed));
                }
            })
        };
        shared.1.store(true, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        shared.0.wake_one();
        sleeper.join().unwrap();
    });
}

/// The three-party race: a nano-thread becomes ready on a virtual processor that is just parking,
/// while the only other one is falling asleep. The other one must recover it.
#[test]
fn what_becomes_ready_on_the_parked_is_recovered() {
    check(2, || {
        let shared = Arc::new((Seats::new(2, 2), AtomicBool::new(false)));
        shared.0.set_target(1, |_| false);
        let first = shared.0.processor(0);
        let parking = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || {
                let ready = |vp: usize| vp == 1 && shared.1.load(Ordering::Relaxed);
                shared.0.release(1, false, ready);
                shared.0.wait_seated(1);
                assert!(shared.1.load(Ordering::Relaxed));
            })
        };
        let idle = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || {
                let ready = |vp: usize| vp == 1 && shared.1.load(Ordering::Relaxed);
                while shared.0.hand_over(0, false, ready).is_none() {
                    shared.0.sleep(0, None, || shared.0.any_preempted(ready));
                }
            })
        };
        shared.1.store(true, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        shared.0.wake_for(1);
        parking.join().unwrap();
        idle.join().unwrap();
        assert_eq!(shared.0.processor(1), first);
    });
}

/// At the end no virtual processor stays parked, even if it was just parking or falling asleep.
#[test]
fn the_end_wakes_everybody() {
    check(3, || {
        let seats = Arc::new(Seats::new(2, 2));
        seats.set_target(1, |_| false);
        let leaver = {
            let seats = Arc::clone(&seats);
            thread::spawn(move || {
                seats.release(1, false, |_| false);
                seats.wait_seated(1);
            })
        };
        seats.close();
        leaver.join().unwrap();
        assert!(seats.is_closed());
    });
}
