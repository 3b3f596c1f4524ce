//! A program for `numaestro bench`: a pool of threads that works for a while, then all sleep while
//! one waits as for a device, again and again; checked, with one line of JSON. It has no parallel
//! regions that anybody could count.
//!
//! It takes as many threads as the machine has processors, as pools do that ask the C library. With
//! `--late` it begins with the wait, so that two of them can take turns.

#[path = "load/program.rs"]
mod program;

use program::{repetitions, report, step};
use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

/// Numbers in the array.
const LENGTH: usize = 1 << 16;
/// Meetings of the threads in a phase, and steps of each number between two.
const MEETINGS: u64 = 20;
const STEPS: u64 = 15;
const WAIT: Duration = Duration::from_millis(60);

/// Every number takes so many steps, and all threads meet, again and again.
fn compute(part: &mut [u64], barrier: &Barrier) {
    for _ in 0..MEETINGS {
        for x in part.iter_mut() {
            *x = (0..STEPS).fold(*x, |x, _| step(x));
        }
        barrier.wait();
    }
}

/// One thread waits, and the others wait for it.
fn wait(first: bool, barrier: &Barrier) {
    if first {
        thread::sleep(WAIT);
    }
    barrier.wait();
}

/// Processors of the machine, whatever this program's affinity.
fn processors() -> Option<usize> {
    let text = std::fs::read_to_string("/proc/cpuinfo").ok()?;
    Some(text.lines().filter(|line| line.starts_with("processor")).count())
}

fn main() -> std::process::ExitCode {
    let late = std::env::args().any(|argument| argument == "--late");
    let reps = repetitions(std::env::args(), 4);
    let asked = std::env::var("RAYON_NUM_THREADS").ok().and_then(|text| text.parse().ok());
    let threads = asked.or_else(processors).unwrap_or(1).max(1);
    let mut numbers: Vec<u64> = (0..LENGTH as u64).collect();
    let parts = numbers.chunks_mut(LENGTH.div_ceil(threads));
    let barrier = Barrier::new(parts.len());
    let begin = Instant::now();
    thread::scope(|scope| {
        for (number, part) in parts.enumerate() {
            let barrier = &barrier;
            scope.spawn(move || {
                for _ in 0..reps {
                    if late {
                        wait(number == 0, barrier);
                    }
                    compute(part, barrier);
                    if !late {
                        wait(number == 0, barrier);
                    }
                }
            });
        }
    });
    let wall_s = begin.elapsed().as_secs_f64();
    let steps = reps * MEETINGS * STEPS;
    let right = (0..LENGTH).step_by(LENGTH / 8).all(|i| numbers[i] == (0..steps).fold(i as u64, |x, _| step(x)));
    report("phases", LENGTH, reps, wall_s, right)
}
