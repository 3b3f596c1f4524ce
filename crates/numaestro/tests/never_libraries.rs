//! Numerical libraries and thread pools give the same results, and do not wait for ever, while
//! their allocation changes.

mod support;

use numaestro_skip::skip;
use rayon::prelude::*;
use std::sync::{Arc, Barrier};
use std::time::{Duration, Instant};
use support::ended;
use support::manager::{Manager, alone};
use support::programs::{program, python, source};
use support::shaker::Shaker;

const SECONDS: &str = "0.7";

#[track_caller]
fn same_result(what: &str, words: &[&str], options: &[&str]) {
    let manager = Manager::started();
    for threads in ["", "4"] {
        let set = |command: &mut std::process::Command| {
            if !threads.is_empty() {
                command.env("OMP_NUM_THREADS", threads).env("OPENBLAS_NUM_THREADS", threads);
            }
        };
        let mut bare = alone(words);
        set(&mut bare);
        let bare = ended::run(&mut bare);
        assert!(bare.status.success(), "{what} is wrong without numaestro: {}{}", bare.stdout, bare.stderr);
        let _shaker = Shaker::start(&manager);
        let mut steered = manager.command(["run"]);
        steered.args(options).arg("--").args(words);
        set(&mut steered);
        let steered = ended::run(&mut steered);
        steered.expect(&format!("{what}, {threads:?} threads"), &bare.stdout);
        eprintln!("{what}: {:?}", steered.sizes());
    }
    manager.expect_all_free();
}

/// Its OpenMP build waits for ever when a team is smaller than it asked for.
#[test]
fn openblas_built_with_openmp() {
    let Some(path) = program("gcc", "blas-openblas-openmp") else { skip!("no OpenBLAS with OpenMP for gcc") };
    same_result("OpenBLAS with OpenMP", &[&path, "0.3"], &[]);
    same_result("OpenBLAS with OpenMP, malleable", &[&path, "0.3"], &["--class", "malleable"]);
}

#[test]
fn openblas_built_with_threads() {
    let Some(path) = program("gcc", "blas-openblas-threads") else { skip!("no OpenBLAS with threads for gcc") };
    same_result("OpenBLAS with threads", &[&path, "0.3"], &[]);
}

#[test]
fn blis() {
    let Some(path) = program("gcc", "blas-blis") else { skip!("no BLIS for gcc") };
    same_result("BLIS", &[&path, "0.3"], &[]);
}

#[test]
fn onetbb() {
    let Some(path) = program("gcc", "tbb") else { skip!("no oneTBB for gcc") };
    same_result("oneTBB", &[&path, SECONDS], &[]);
}

#[test]
fn fortran() {
    let Some(path) = program("gcc", "fortran") else { skip!("gfortran is not here") };
    same_result("Fortran", &[&path, SECONDS], &[]);
}

#[test]
fn numpy() {
    let Some(python) = python() else { skip!("no Python that has NumPy; NUMAESTRO_PYTHON names one") };
    same_result("NumPy", &[&python, &source("arrays.py"), SECONDS], &[]);
}

/// This test program is started again by itself, managed, as a program that uses rayon and the
/// standard library's threads.
#[test]
fn rayon_and_standard_threads() {
    let me = std::env::current_exe().expect("this program");
    let me = me.to_str().expect("a plain path");
    for pool in ["pool_of_rayon", "pool_of_standard_threads"] {
        let manager = Manager::started();
        let _shaker = Shaker::start(&manager);
        let steered = manager.run([me, "--exact", pool, "--ignored", "--nocapture"]);
        assert!(steered.status.success(), "{pool}: {}{}", steered.stdout, steered.stderr);
        assert!(steered.stdout.contains(&format!("{pool} is right")), "{pool} did not run: {}", steered.stdout);
    }
}

fn for_a_second(mut round: impl FnMut()) {
    let until = Instant::now() + Duration::from_secs(1);
    while Instant::now() < until {
        round();
    }
}

#[test]
#[ignore = "the managed program of `rayon_and_standard_threads`"]
fn pool_of_rayon() {
    let numbers: Vec<u64> = (0..200_000).collect();
    for_a_second(|| {
        assert_eq!(numbers.par_iter().map(|n| n * 3).sum::<u64>(), 3 * 199_999 * 200_000 / 2);
        let mut sorted: Vec<u64> = numbers.iter().map(|n| n * 7919 % 200_003).collect();
        sorted.par_sort_unstable();
        assert!(sorted.windows(2).all(|pair| pair[0] < pair[1]));
    });
    println!("pool_of_rayon is right");
}

#[test]
#[ignore = "the managed program of `rayon_and_standard_threads`"]
fn pool_of_standard_threads() {
    for_a_second(|| {
        let barrier = Arc::new(Barrier::new(4));
        let threads = (0..4_u64).map(|me| {
            let barrier = barrier.clone();
            std::thread::spawn(move || {
                (0..50_u64).map(|step| me * step + u64::from(barrier.wait().is_leader())).sum::<u64>()
            })
        });
        let threads: Vec<_> = threads.collect();
        let sum: u64 = threads.into_iter().map(|thread| thread.join().expect("does not panic")).sum();
        assert_eq!(sum, 6 * 49 * 50 / 2 + 50);
    });
    println!("pool_of_standard_threads is right");
}
