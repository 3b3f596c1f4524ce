//! The cost of nano-threads on a fixed allocation: fork-join and loops, turn by turn with rayon.
//!
//!     cargo run --release -p numaestro-nanothreads --example against_rayon [-- ROUNDS [NAME]]
//!
//! Both bind their threads to the processors. Printed is the ratio of throughputs (above 1:
//! nano-threads are faster), from medians of interleaved runs.

use std::hint::black_box;
use std::process::Command;
use std::time::Instant;

use nanothreads::{Fixed, Runtime};

/// The two libraries behind one face, so that both run the very same code.
trait Library: Sync {
    fn join<A: Send, B: Send>(a: impl FnOnce() -> A + Send, b: impl FnOnce() -> B + Send) -> (A, B);
    fn sum_loop(length: usize, grain: usize, body: impl Fn(usize) + Sync);
    fn spawn_all(count: usize, body: impl Fn(usize) + Sync);
}

struct Nano;

impl Library for Nano {
    fn join<A: Send, B: Send>(a: impl FnOnce() -> A + Send, b: impl FnOnce() -> B + Send) -> (A, B) {
        nanothreads::join(a, b)
    }

    fn sum_loop(length: usize, grain: usize, body: impl Fn(usize) + Sync) {
        nanothreads::parallel_for(0..length, grain, body);
    }

    fn spawn_all(count: usize, body: impl Fn(usize) + Sync) {
        let body = &body;
        nanothreads::scope(|scope| (0..count).for_each(|index| scope.spawn(move |_| body(index))));
    }
}

struct Rayon;

impl Library for Rayon {
    fn join<A: Send, B: Send>(a: impl FnOnce() -> A + Send, b: impl FnOnce() -> B + Send) -> (A, B) {
        rayon::join(a, b)
    }

    fn sum_loop(length: usize, grain: usize, body: impl Fn(usize) + Sync) {
        use rayon::prelude::*;
        (0..length).into_par_iter().with_min_len(grain.max(1)).for_each(&body);
    }

    fn spawn_all(count: usize, body: impl Fn(usize) + Sync) {
        let body = &body;
        rayon::scope(|scope| (0..count).for_each(|index| scope.spawn(move |_| body(index))));
    }
}

/// Nothing but joins: what one costs.
fn fib<L: Library>(n: u32) -> u64 {
    if n < 2 {
        return u64::from(n);
    }
    let (a, b) = L::join(|| fib::<L>(n - 1), || fib::<L>(n - 2));
    a + b
}

/// The same with leaves of some hundred nanoseconds, as programs have.
fn fib_with_leaves<L: Library>(n: u32) -> u64 {
    if n < 12 {
        return serial_fib(black_box(n));
    }
    let (a, b) = L::join(|| fib_with_leaves::<L>(n - 1), || fib_with_leaves::<L>(n - 2));
    a + b
}

fn serial_fib(n: u32) -> u64 {
    if n < 2 { u64::from(n) } else { serial_fib(n - 1) + serial_fib(n - 2) }
}

/// Counts placements of queens: a search tree that is nowhere even.
fn queens<L: Library>(size: u32, columns: u32, left: u32, right: u32, row: u32) -> u64 {
    let free = !(columns | left | right) & ((1 << size) - 1);
    if row == size {
        return 1;
    }
    if row > size / 2 {
        return serial_queens(size, columns, left, right);
    }
    choices::<L>(size, columns, left, right, row, free)
}

fn choices<L: Library>(size: u32, columns: u32, left: u32, right: u32, row: u32, free: u32) -> u64 {
    if free == 0 {
        return 0;
    }
    let bit = free & free.wrapping_neg();
    let one = || queens::<L>(size, columns | bit, (left | bit) << 1, (right | bit) >> 1, row + 1);
    if free == bit {
        return one();
    }
    let (a, b) = L::join(one, || choices::<L>(size, columns, left, right, row, free & !bit));
    a + b
}

fn serial_queens(size: u32, columns: u32, left: u32, right: u32) -> u64 {
    let all = (1 << size) - 1;
    if columns == all {
        return 1;
    }
    let mut free = !(columns | left | right) & all;
    let mut count = 0;
    while free != 0 {
        let bit = free & free.wrapping_neg();
        free &= !bit;
        count += serial_queens(size, columns | bit, (left | bit) << 1, (right | bit) >> 1);
    }
    count
}

fn work(index: usize, rounds: usize) {
    let mut value = index as u64;
    for _ in 0..rounds {
        value = black_box(value.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1));
    }
}

type Bench = (&'static str, fn(), fn());

fn benches() -> Vec<Bench> {
    fn loops<L: Library>() {
        L::sum_loop(10_000_000, 0, |index| work(index, 4));
    }
    fn uneven<L: Library>() {
        L::sum_loop(30_000, 16, |index| work(index, index / 20));
    }
    fn short_loops<L: Library>() {
        (0..2000).for_each(|_| L::sum_loop(4_000, 50, |index| work(index, 10)));
    }
    fn spawns<L: Library>() {
        L::spawn_all(100_000, |index| work(index, 50));
    }
    vec![
        ("fib(30), joins only", || _ = black_box(fib::<Nano>(30)), || _ = black_box(fib::<Rayon>(30))),
        (
            "fib(34), serial below 12",
            || _ = black_box(fib_with_leaves::<Nano>(34)),
            || {
                _ = black_box(fib_with_leaves::<Rayon>(34));
            },
        ),
        (
            "12 queens",
            || _ = black_box(queens::<Nano>(12, 0, 0, 0, 0)),
            || {
                _ = black_box(queens::<Rayon>(12, 0, 0, 0, 0));
            },
        ),
        ("loop of 10 000 000", loops::<Nano>, loops::<Rayon>),
        ("uneven loop", uneven::<Nano>, uneven::<Rayon>),
        ("2000 loops of 10 us", short_loops::<Nano>, short_loops::<Rayon>),
        ("100 000 spawns", spawns::<Nano>, spawns::<Rayon>),
    ]
}

/// Binds the calling thread to a processor, as `Builder::bind` does.
fn bind(index: usize) {
    let done = Command::new("taskset").args(["-p", "-c", &index.to_string(), &thread_id()]).output();
    assert!(done.is_ok_and(|output| output.status.success()), "taskset (util-linux) is needed");
}

fn thread_id() -> String {
    let link = std::fs::read_link("/proc/thread-self").unwrap_or_default();
    link.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn seconds(run: impl FnOnce()) -> f64 {
    let start = Instant::now();
    run();
    start.elapsed().as_secs_f64()
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let rounds = std::env::args().nth(1).map_or(Ok(21), |text| text.parse())?;
    let wanted = std::env::args().nth(2).unwrap_or_default();
    let vps = std::thread::available_parallelism()?.get();
    let nano = Runtime::builder().vps(vps).allocation(Fixed(vps)).bind(true).build()?;
    let rayon = rayon::ThreadPoolBuilder::new().num_threads(vps).start_handler(bind).build()?;
    println!("{vps} processors, {rounds} interleaved rounds, medians");
    println!("{:<26} {:>14} {:>12} {:>12}", "", "nano-threads", "rayon", "throughput");
    for (name, ours, theirs) in benches().into_iter().filter(|(name, ..)| name.contains(&wanted)) {
        let (mut us, mut them) = (Vec::new(), Vec::new());
        nano.install(ours);
        rayon.install(theirs);
        for round in 0..rounds {
            // Who comes first alternates, so that neither always finds the caches as the other left
            // them.
            for turn in [round % 2, 1 - round % 2] {
                if turn == 0 {
                    us.push(seconds(|| nano.install(ours)));
                } else {
                    them.push(seconds(|| rayon.install(theirs)));
                }
            }
        }
        let (us, them) = (median(us), median(them));
        println!("{name:<26} {:>11.2} ms {:>9.2} ms {:>12.3}", us * 1e3, them * 1e3, them / us);
    }
    Ok(())
}
