//! A program for `numaestro bench`: rayon's work stealing over the parts of an array, checked, with
//! one line of JSON.
//!
//! It says nothing about threads: rayon takes as many as it may use processors.

#[path = "load/program.rs"]
mod program;

use program::{option, repetitions, report, step};
use rayon::prelude::*;
use std::time::Instant;

/// Numbers in the array without `--length N`, and in one part of it.
const LENGTH: u64 = 1 << 16;
const PART: usize = 1 << 11;

fn main() -> std::process::ExitCode {
    let reps = repetitions(std::env::args(), 150);
    let length = option("--length", std::env::args(), LENGTH);
    let mut numbers: Vec<u64> = (0..length).collect();
    let begin = Instant::now();
    for _ in 0..reps {
        numbers.par_chunks_mut(PART).for_each(|part| part.iter_mut().for_each(|x| *x = step(*x)));
    }
    let wall_s = begin.elapsed().as_secs_f64();
    // Every hundredth number is computed again, alone.
    let mut alone = (0..length).zip(&numbers).step_by(100);
    let right = alone.all(|(i, number)| *number == (0..reps).fold(i, |x, _| step(x)));
    report("rayon", numbers.len(), reps, wall_s, right)
}
