//! What a program sees: joins, scopes, loops, barriers, graphs, panics, the end of a runtime. How
//! many processors there are at the time must not be seen at all; `resize.rs` changes it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use nanothreads::{Barrier, Cycle, Fixed, Graph, Runtime, join, parallel_for, parallel_for_chunks, scope};

fn runtime(vps: usize) -> Runtime {
    Runtime::builder().vps(vps).allocation(Fixed(vps)).build().expect("a runtime")
}

fn fib(n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (a, b) = join(|| fib(n - 1), || fib(n - 2));
    a + b
}

#[test]
fn joins_give_what_calls_give() {
    for vps in [1, 2, 5] {
        assert_eq!(runtime(vps).install(|| fib(20)), 6765);
    }
}

#[test]
fn joins_work_without_a_runtime_of_ones_own() {
    assert_eq!(fib(15), 610);
}

#[test]
fn a_scope_waits_for_all_it_has_spawned() {
    let runtime = runtime(3);
    let count = AtomicUsize::new(0);
    runtime.scope(|scope| {
        for _ in 0..100 {
            scope.spawn(|scope| {
                scope.spawn(|_| _ = count.fetch_add(1, Ordering::Relaxed));
                count.fetch_add(1, Ordering::Relaxed);
            });
        }
    });
    assert_eq!(count.into_inner(), 200);
}

#[test]
fn a_loop_visits_every_index_once() {
    let runtime = runtime(3);
    for (length, grain) in [(0, 1), (1, 1), (7, 3), (1000, 1), (1000, 0), (4096, 100), (10, 1000)] {
        let visits: Vec<AtomicUsize> = (0..length).map(|_| AtomicUsize::new(0)).collect();
        runtime.parallel_for(0..length, grain, |index| _ = visits[index].fetch_add(1, Ordering::Relaxed));
        assert!(visits.iter().all(|visits| visits.load(Ordering::Relaxed) == 1), "{length} by {grain}");
    }
}

#[test]
fn chunks_are_no_larger_than_the_grain_and_cover_the_range() {
    let chunks = Mutex::new(Vec::new());
    runtime(2).install(|| parallel_for_chunks(5..1005, 16, |chunk| chunks.lock().unwrap().push(chunk)));
    let mut chunks = chunks.into_inner().unwrap();
    chunks.sort_by_key(|chunk| chunk.start);
    assert!(chunks.iter().all(|chunk| (1..=16).contains(&chunk.len())));
    assert_eq!(chunks.first().unwrap().start, 5);
    assert_eq!(chunks.last().unwrap().end, 1005);
    assert!(chunks.windows(2).all(|pair| pair[0].end == pair[1].start));
}

#[test]
fn loops_nest() {
    let sum = AtomicUsize::new(0);
    runtime(3).install(|| {
        parallel_for(0..30, 1, |i| parallel_for(0..30, 1, |j| _ = sum.fetch_add(i * j, Ordering::Relaxed)));
    });
    assert_eq!(sum.into_inner(), 435 * 435);
}

/// More nano-threads than virtual processors meet at a barrier: on bare threads this would never
/// end.
#[test]
fn a_barrier_lets_nobody_pass_before_all_have_come() {
    for vps in [1, 2, 3] {
        let (parties, rounds) = (16, 50);
        let (barrier, arrived, leaders) = (Barrier::new(parties), AtomicUsize::new(0), AtomicUsize::new(0));
        runtime(vps).scope(|scope| {
            for _ in 0..parties {
                scope.spawn(|_| {
                    for round in 1..=rounds {
                        arrived.fetch_add(1, Ordering::Relaxed);
                        leaders.fetch_add(usize::from(barrier.wait()), Ordering::Relaxed);
                        assert!(arrived.load(Ordering::Relaxed) >= parties * round);
                        barrier.wait();
                    }
                });
            }
        });
        assert_eq!(arrived.into_inner(), parties * rounds);
        assert_eq!(leaders.into_inner(), rounds);
    }
}

#[test]
fn both_halves_of_a_join_may_wait_for_each_other() {
    let barrier = Barrier::new(2);
    let wait = || barrier.wait();
    let (a, b) = runtime(1).join(wait, wait);
    assert!(a != b);
}

#[test]
fn threads_from_outside_meet_nano_threads_at_a_barrier() {
    let barrier = std::sync::Arc::new(Barrier::new(3));
    let runtime = runtime(1);
    let handles: Vec<_> = (0..2)
        .map(|_| {
            let barrier = std::sync::Arc::clone(&barrier);
            runtime.spawn(move || barrier.wait())
        })
        .collect();
    let here = barrier.wait();
    let leaders = handles.into_iter().map(|handle| usize::from(handle.join())).sum::<usize>() + usize::from(here);
    assert_eq!(leaders, 1);
}

/// More parties than the barrier is for are several meetings, not undefined behaviour.
#[test]
fn a_barrier_can_be_used_by_more_than_its_parties() {
    let barrier = Barrier::new(4);
    let leaders = AtomicUsize::new(0);
    runtime(3).scope(|scope| {
        for _ in 0..400 {
            scope.spawn(|_| _ = leaders.fetch_add(usize::from(barrier.wait()), Ordering::Relaxed));
        }
    });
    assert_eq!(leaders.into_inner(), 100);
}

#[test]
fn thousands_of_nano_threads_wait_at_once() {
    let parties = 5000;
    let barrier = Barrier::new(parties);
    let runtime = Runtime::builder().vps(2).allocation(Fixed(2)).stack_bytes(32 << 10).build().unwrap();
    runtime.scope(|scope| (0..parties).for_each(|_| scope.spawn(|_| _ = barrier.wait())));
    assert!(runtime.statistics().suspensions >= parties as u64 - 1);
}

#[test]
fn handles_give_results_and_wait_in_nano_threads_too() {
    let runtime = runtime(2);
    let outer = runtime.spawn(|| {
        let inner: Vec<_> = (0..100).map(|index| nanothreads::spawn(move || index * index)).collect();
        inner.into_iter().map(nanothreads::JoinHandle::join).sum::<usize>()
    });
    assert_eq!(outer.join(), 328_350);
}

#[test]
fn nano_threads_of_two_runtimes_wait_for_each_other() {
    let (first, second) = (runtime(1), runtime(1));
    let sum = first.install(|| second.install(|| fib(10)) + first.install(|| fib(10)));
    assert_eq!(sum, 110);
    let handle = second.spawn(|| 5);
    assert_eq!(first.install(|| handle.join()), 5);
}

#[test]
fn a_graph_runs_each_task_after_those_it_comes_after() {
    let order = Mutex::new(Vec::new());
    let note = |name: &'static str| {
        let order = &order;
        move || order.lock().unwrap().push(name)
    };
    let mut graph = Graph::new();
    let last = graph.task(note("last"));
    let middle = [graph.task(note("left")), graph.task(note("right"))];
    let first = graph.task(note("first"));
    graph.after(last, &middle);
    for task in middle {
        graph.after(task, &[first]);
    }
    runtime(2).install(|| graph.run()).unwrap();
    let order = order.into_inner().unwrap();
    assert_eq!((order.len(), order[0], order[3]), (4, "first", "last"));
}

#[test]
fn a_graph_with_a_circle_is_refused() {
    let ran = AtomicBool::new(false);
    let mut graph = Graph::new();
    let a = graph.task(|| ran.store(true, Ordering::Relaxed));
    let b = graph.task(|| ran.store(true, Ordering::Relaxed));
    graph.after(a, &[b]);
    graph.after(b, &[a]);
    assert_eq!(graph.run(), Err(Cycle));
    assert!(!ran.into_inner());
}

fn panic_of(work: impl FnOnce()) -> String {
    let payload = catch_unwind(AssertUnwindSafe(work)).expect_err("it panics");
    (*payload.downcast::<&str>().expect("a string")).to_owned()
}

#[test]
fn panics_go_on_where_somebody_waits() {
    let runtime = runtime(2);
    assert_eq!(panic_of(|| runtime.install(|| panic!("in install"))), "in install");
    assert_eq!(panic_of(|| _ = runtime.join(|| panic!("in a"), || ())), "in a");
    assert_eq!(panic_of(|| _ = runtime.join(|| (), || panic!("in b"))), "in b");
    assert_eq!(panic_of(|| runtime.scope(|scope| scope.spawn(|_| panic!("in a scope")))), "in a scope");
    assert_eq!(panic_of(|| runtime.parallel_for(0..100, 1, |i| assert!(i != 50, "in a loop"))), "in a loop");
    assert_eq!(panic_of(|| runtime.spawn(|| panic!("in a spawn")).join()), "in a spawn");
    assert_eq!(fib(10), 55, "and the runtime goes on");
}

#[test]
fn a_scope_whose_nano_thread_panics_still_waits_for_the_others() {
    let count = AtomicUsize::new(0);
    let runtime = runtime(2);
    let text = panic_of(|| {
        runtime.scope(|scope| {
            scope.spawn(|_| panic!("one"));
            (0..50).for_each(|_| scope.spawn(|_| _ = count.fetch_add(1, Ordering::Relaxed)));
        });
    });
    assert_eq!((text.as_str(), count.into_inner()), ("one", 50));
}

#[test]
fn what_comes_after_a_task_that_panics_is_not_run() {
    let ran = AtomicBool::new(false);
    let text = panic_of(|| {
        let mut graph = Graph::new();
        let bad = graph.task(|| panic!("bad"));
        let after = graph.task(|| ran.store(true, Ordering::Relaxed));
        graph.after(after, &[bad]);
        graph.run().unwrap();
    });
    assert_eq!((text.as_str(), ran.into_inner()), ("bad", false));
}

#[test]
fn dropping_a_runtime_waits_for_what_was_spawned() {
    static DONE: AtomicUsize = AtomicUsize::new(0);
    let runtime = runtime(2);
    for _ in 0..100 {
        drop(runtime.spawn(|| {
            nanothreads::spawn(|| DONE.fetch_add(1, Ordering::Relaxed)).join();
        }));
    }
    drop(runtime);
    assert_eq!(DONE.load(Ordering::Relaxed), 100);
}

#[test]
fn a_runtime_can_be_dropped_by_its_own_nano_thread() {
    let runtime = runtime(2);
    let (send, receive) = std::sync::mpsc::channel::<Runtime>();
    let handle = runtime.spawn(move || drop(receive.recv()));
    send.send(runtime).unwrap();
    handle.join();
}

#[test]
fn numbers_out_of_range_are_refused() {
    for vps in [0, 257] {
        assert!(Runtime::builder().vps(vps).build().is_err());
    }
}

/// A tied nano-thread finds its thread's own data again after each wait.
#[test]
fn tied_nano_threads_stay_on_their_threads() {
    let barrier = Barrier::new(8);
    runtime(3).scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|_| {
                let thread = std::thread::current().id();
                for _ in 0..50 {
                    barrier.wait();
                    assert_eq!(std::thread::current().id(), thread);
                }
            });
        }
    });
}

#[test]
fn a_scope_can_borrow() {
    let mut data = [1, 2, 3, 4];
    scope(|scope| data.iter_mut().for_each(|value| scope.spawn(move |_| *value *= 10)));
    assert_eq!(data, [10, 20, 30, 40]);
}
