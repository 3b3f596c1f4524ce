//! Programs under allocations that change while they run. Whatever the script does, results are
//! those of a runtime that is left alone, and everything ends.

#![allow(unsafe_code)] // `Builder::untied` wants a promise.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use nanothreads::{Barrier, Graph, Runtime, Scripted, join, parallel_for, scope};
use proptest::prelude::*;

fn fib(n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (a, b) = join(|| fib(n - 1), || fib(n - 2));
    a + b
}

/// Nano-threads that meet at a barrier after each piece of work.
fn phases(parties: usize, rounds: usize) -> usize {
    let (barrier, count) = (Barrier::new(parties), AtomicUsize::new(0));
    scope(|scope| {
        for _ in 0..parties {
            scope.spawn(|_| {
                for round in 1..=rounds {
                    count.fetch_add(1, Ordering::Relaxed);
                    barrier.wait();
                    assert!(count.load(Ordering::Relaxed) >= round * parties);
                    barrier.wait();
                }
            });
        }
    });
    count.into_inner()
}

fn loops() -> usize {
    let sum = AtomicUsize::new(0);
    parallel_for(0..64, 1, |i| {
        parallel_for(0..64, 4, |j| _ = sum.fetch_add(i + j, Ordering::Relaxed));
    });
    sum.into_inner()
}

/// Layers of tasks, each after all of the layer before.
fn layers() -> usize {
    let count = AtomicUsize::new(0);
    let mut graph = Graph::new();
    let mut former = Vec::new();
    for layer in 0..8 {
        let count = &count;
        let tasks: Vec<_> =
            (0..6).map(|_| graph.task(move || assert!(count.fetch_add(1, Ordering::Relaxed) >= layer * 6))).collect();
        for &task in &tasks {
            graph.after(task, &former);
        }
        former = tasks;
    }
    graph.run().expect("no circle");
    count.into_inner()
}

fn handles() -> usize {
    let handles: Vec<_> = (0..50).map(|index| nanothreads::spawn(move || index + fib(5) as usize)).collect();
    handles.into_iter().map(nanothreads::JoinHandle::join).sum()
}

fn everything() -> [usize; 5] {
    let (first, second) =
        join(|| join(|| fib(16) as usize, || phases(6, 20)), || join(loops, || join(layers, handles)));
    [first.0, first.1, second.0, second.1.0, second.1.1]
}

const EXPECTED: [usize; 5] = [987, 120, 64 * 64 * 63, 48, 49 * 25 + 250];

/// Runs `work` while the script plays over and over: so many processors for so many microseconds.
fn play<R: Send>(
    vps: usize,
    (untied, bind): (bool, bool),
    script: &[(usize, u64)],
    work: impl Fn() -> R + Send + Sync,
) -> Vec<R> {
    let processors = Scripted::new(vps);
    let builder =
        Runtime::builder().vps(vps).allocation(processors.clone()).bind(bind).search(Duration::from_micros(5));
    // SAFETY: these tests keep no thread-local data.
    let builder = if untied { unsafe { builder.untied() } } else { builder };
    let runtime = builder.build().expect("a runtime");
    let end = AtomicBool::new(false);
    std::thread::scope(|threads| {
        threads.spawn(|| {
            while !end.load(Ordering::Relaxed) {
                for &(count, microseconds) in script {
                    processors.set(count);
                    std::thread::sleep(Duration::from_micros(microseconds));
                }
            }
        });
        let results = (0..3).map(|_| runtime.install(&work)).collect();
        end.store(true, Ordering::Relaxed);
        results
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn results_do_not_depend_on_the_allocation(
        vps in 1_usize..6,
        kind: (bool, bool),
        script in prop::collection::vec((0_usize..7, 0_u64..400), 1..8),
    ) {
        prop_assert_eq!(play(vps, kind, &script, everything), vec![EXPECTED; 3]);
    }
}

/// A virtual processor is taken away in the middle of a nano-thread that others wait for: it is
/// recovered, and is not left until there are two processors again, which is never.
#[test]
fn what_was_interrupted_is_recovered() {
    let processors = Scripted::new(2);
    let runtime = Runtime::builder().vps(2).allocation(processors.clone()).build().unwrap();
    let (started, parked) = (AtomicUsize::new(0), AtomicBool::new(false));
    let half = || {
        // On a virtual processor each.
        started.fetch_add(1, Ordering::Relaxed);
        while started.load(Ordering::Relaxed) < 2 {
            std::thread::yield_now();
        }
        processors.set(1);
        // Each goes through safe points until one of the two has had to park.
        while runtime.statistics().releases == 0 && !parked.load(Ordering::Relaxed) {
            join(|| (), || ());
        }
        parked.store(true, Ordering::Relaxed);
        fib(15)
    };
    assert_eq!(runtime.join(half, half), (610, 610));
    let statistics = runtime.statistics();
    assert!(statistics.releases >= 1, "{statistics:?}");
    assert!(statistics.hand_overs >= 1, "{statistics:?}");
}

/// With one processor for four virtual processors, what meets at a barrier is handed the processor
/// in turn.
#[test]
fn tied_nano_threads_get_the_processor_in_turn() {
    let processors = Scripted::new(4);
    let runtime = Runtime::builder().vps(4).allocation(processors.clone()).build().unwrap();
    let (here, go) = (AtomicUsize::new(0), Barrier::new(4));
    runtime.scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|_| {
                // All four are on virtual processors of their own before the processors go.
                here.fetch_add(1, Ordering::Relaxed);
                while here.load(Ordering::Relaxed) < 4 {
                    std::thread::yield_now();
                }
                processors.set(1);
                (0..100).for_each(|_| _ = go.wait());
            });
        }
    });
    let statistics = runtime.statistics();
    assert!(statistics.releases >= 3, "{statistics:?}");
    assert!(statistics.hand_overs >= 100, "{statistics:?}");
}

/// A loop that begins on one processor is shared when there are more.
#[test]
fn a_loop_grows_in_the_middle() {
    let processors = Scripted::new(1);
    let runtime = Runtime::builder().vps(3).allocation(processors.clone()).build().unwrap();
    let threads = std::sync::Mutex::new(std::collections::BTreeSet::new());
    runtime.parallel_for(0..3000, 1, |index| {
        if index == 100 {
            processors.set(3);
        }
        threads.lock().unwrap().insert(format!("{:?}", std::thread::current().id()));
        std::thread::sleep(Duration::from_micros(20));
    });
    assert!(threads.into_inner().unwrap().len() > 1);
}
