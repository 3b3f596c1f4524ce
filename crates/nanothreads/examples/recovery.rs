//! Time waited at barriers when there are twice as many virtual processors as processors, with and
//! without recovery of preempted work (Martorell et al. 2000, §3.2: nobody waits for a preempted
//! partner).
//!
//!     cargo run --release -p numaestro-nanothreads --example recovery [-- ROUNDS]
//!
//! Four nano-threads, one on each of four virtual processors, work and meet at a barrier. Then two
//! processors are taken away. Without recovery the virtual processors do what a team of threads
//! does: wait actively for a while, then sleep.

use std::hint::black_box;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use nanothreads::{Barrier, Runtime, Scripted, Statistics};

const PARTIES: usize = 4;
/// So long a nano-thread waits for the others to begin; it holds its processor meanwhile, so not
/// for ever.
const PATIENCE: Duration = Duration::from_millis(50);
const PHASES: usize = 500;
/// About 100 microseconds.
const STEPS: u64 = 100_000;

/// Mean time from a nano-thread's arrival to its going on, in seconds, and what the runtime did.
fn waited(recovery: bool, search: Duration) -> Result<(f64, Statistics), Box<dyn std::error::Error>> {
    let processors = Scripted::new(PARTIES);
    let allocation = processors.clone();
    let runtime =
        Runtime::builder().vps(PARTIES).allocation(allocation).bind(true).recovery(recovery).search(search).build()?;
    let (barrier, started) = (Barrier::new(PARTIES), AtomicUsize::new(0));
    let waits = Mutex::new(Vec::new());
    runtime.scope(|scope| {
        for _ in 0..PARTIES {
            scope.spawn(|_| {
                let start = Instant::now();
                started.fetch_add(1, Ordering::Relaxed);
                while started.load(Ordering::Relaxed) < PARTIES && start.elapsed() < PATIENCE {
                    std::thread::yield_now();
                }
                processors.set(PARTIES / 2);
                let mut wait = Duration::ZERO;
                for phase in 0..PHASES {
                    (0..STEPS).for_each(|step| _ = black_box(step));
                    let arrived = Instant::now();
                    barrier.wait();
                    // The first phases are the change itself.
                    wait += if phase < 10 { Duration::ZERO } else { arrived.elapsed() };
                }
                waits.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push(wait);
            });
        }
    });
    let waits = waits.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    let mean = waits.iter().sum::<Duration>().as_secs_f64() / (PARTIES * (PHASES - 10)) as f64;
    Ok((mean, runtime.statistics()))
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let rounds: usize = std::env::args().nth(1).map_or(Ok(7), |text| text.parse())?;
    let kinds = [
        ("with recovery", true, Duration::from_micros(50)),
        ("without, waiting 3 ms actively (as libgomp)", false, Duration::from_millis(3)),
        ("without, waiting 50 us actively", false, Duration::from_micros(50)),
    ];
    let mut means = vec![Vec::new(); kinds.len()];
    let mut last = vec![Statistics::default(); kinds.len()];
    for _ in 0..rounds {
        for (index, &(_, recovery, search)) in kinds.iter().enumerate() {
            let (mean, statistics) = waited(recovery, search)?;
            means[index].push(mean);
            last[index] = statistics;
        }
    }
    println!("{PARTIES} virtual processors on {} processors, {rounds} interleaved rounds", PARTIES / 2);
    let mut first = None;
    for (index, (name, ..)) in kinds.iter().enumerate() {
        means[index].sort_by(f64::total_cmp);
        let median = means[index][rounds / 2];
        let ours = *first.get_or_insert(median);
        println!("{name:<45} {:>9.1} us a barrier, ratio {:.3}, {:?}", median * 1e6, ours / median, last[index]);
    }
    Ok(())
}
