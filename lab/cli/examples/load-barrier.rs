//! A program for `numaestro bench`: threads that wait for each other at a blocking barrier,
//! checked, with one line of JSON.
//!
//! It takes as many threads as it may use processors, once, at its start.

#[path = "load/program.rs"]
mod program;

use program::{repetitions, report, step};
use std::sync::Barrier;
use std::thread;
use std::time::Instant;

/// Numbers in the array.
const LENGTH: usize = 1 << 16;

fn main() -> std::process::ExitCode {
    let reps = repetitions(std::env::args(), 150);
    let asked = std::env::var("RAYON_NUM_THREADS").ok().and_then(|text| text.parse().ok());
    let threads = asked.or_else(|| thread::available_parallelism().ok().map(Into::into)).unwrap_or(1).max(1);
    let mut numbers: Vec<u64> = (0..LENGTH as u64).collect();
    let barrier = Barrier::new(threads);
    let begin = Instant::now();
    thread::scope(|scope| {
        for part in numbers.chunks_mut(LENGTH.div_ceil(threads)) {
            let barrier = &barrier;
            scope.spawn(move || {
                for _ in 0..reps {
                    for x in part.iter_mut() {
                        *x = step(*x);
                    }
                    barrier.wait();
                }
            });
        }
    });
    let wall_s = begin.elapsed().as_secs_f64();
    let right = (0..LENGTH).step_by(100).all(|i| numbers[i] == (0..reps).fold(i as u64, |x, _| step(x)));
    report("barrier", LENGTH, reps, wall_s, right)
}
