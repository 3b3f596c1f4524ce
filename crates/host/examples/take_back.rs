//! How long it takes to move all threads of a process from outside: `take_back [THREADS] [ROUNDS]`,
//! microseconds.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use numaestro_host::{affinity, procfs};
use numaestro_topology::CpuSet;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let argument = |index: usize, default: usize| std::env::args().nth(index).map_or(Ok(default), |text| text.parse());
    let (threads, rounds) = (argument(1, 64)?, argument(2, 200)?.max(1));
    let stop = Arc::new(AtomicBool::new(false));
    let crowd: Vec<_> = (0..threads)
        .map(|_| {
            let stop = stop.clone();
            std::thread::spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    std::thread::park();
                }
            })
        })
        .collect();
    let all = affinity::get(0)?;
    let one: CpuSet = all.iter().take(1).collect();
    let pid = std::process::id();
    let process = measure(rounds, |round| {
        affinity::set_process(pid, if round % 2 == 0 { &one } else { &all }, &mut affinity::anybody).map(drop)
    })?;
    let tree = measure(rounds, |round| {
        affinity::set_tree(
            pid,
            &std::collections::BTreeSet::new(),
            if round % 2 == 0 { &one } else { &all },
            &mut affinity::anybody,
        )
        .map(drop)
    })?;
    let table = measure(rounds, |_| procfs::ProcessTable::read().map(drop))?;
    println!("{threads} threads, {rounds} rounds, {} processes on the machine", procfs::all()?.len());
    for (what, [p50, p99]) in [("process", process), ("tree", tree), ("reading all processes", table)] {
        println!("{what}: p50 {p50} us, p99 {p99} us");
    }
    stop.store(true, Ordering::Relaxed);
    for thread in crowd {
        thread.thread().unpark();
        thread.join().map_err(|_| "a thread panicked")?;
    }
    Ok(())
}

fn measure<E>(rounds: usize, mut work: impl FnMut(usize) -> Result<(), E>) -> Result<[u128; 2], E> {
    let mut taken = Vec::with_capacity(rounds);
    for round in 0..rounds {
        let begun = Instant::now();
        work(round)?;
        taken.push(begun.elapsed().as_micros());
    }
    taken.sort_unstable();
    Ok([taken[rounds / 2], taken[rounds * 99 / 100]])
}
