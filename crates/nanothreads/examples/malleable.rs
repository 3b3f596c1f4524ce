//! A program that follows the manager: it works for so many seconds and says ten times a second how
//! many processors it has and how fast it is.
//!
//!     numaestro run -- target/release/examples/malleable [SECONDS [untied] [team]]
//!
//! With `team` the work is done by as many nano-threads as there are processors in all, which never
//! end and meet at a barrier after each hundred pieces; otherwise it is one loop. Start a second
//! one meanwhile, or any other parallel program, and see the first one shrink and grow in the
//! middle.

use std::hint::black_box;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use nanothreads::{Barrier, Runtime};

/// About 10 microseconds.
const STEPS: u64 = 10_000;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let seconds: f64 = std::env::args().nth(1).map_or(Ok(5.0), |text| text.parse())?;
    let builder = Runtime::builder();
    #[allow(unsafe_code)]
    // SAFETY: this program keeps no thread-local data.
    let builder = if std::env::args().any(|word| word == "untied") { unsafe { builder.untied() } } else { builder };
    let runtime = builder.build()?;
    let (done, end) = (AtomicUsize::new(0), AtomicBool::new(false));
    let piece = || {
        (0..STEPS).for_each(|step| _ = black_box(step));
        done.fetch_add(1, Ordering::Relaxed);
    };
    let barrier = Barrier::new(runtime.vps());
    let team = std::env::args().any(|word| word == "team");
    std::thread::scope(|threads| {
        threads.spawn(|| {
            if team {
                runtime.scope(|scope| {
                    for _ in 0..runtime.vps() {
                        scope.spawn(|_| {
                            while !end.load(Ordering::Relaxed) {
                                (0..100).for_each(|_| piece());
                                barrier.wait();
                            }
                        });
                    }
                });
            } else {
                runtime.parallel_for(0..usize::MAX / 2, 4, |_| {
                    if !end.load(Ordering::Relaxed) {
                        piece();
                    }
                });
            }
        });
        let start = Instant::now();
        let mut former = 0;
        while start.elapsed().as_secs_f64() < seconds {
            std::thread::sleep(Duration::from_millis(100));
            let now = done.load(Ordering::Relaxed);
            println!(
                "{:6.1} s  {} processors  {:6} pieces",
                start.elapsed().as_secs_f64(),
                runtime.processors(),
                now - former
            );
            former = now;
        }
        end.store(true, Ordering::Relaxed);
        println!("{:?}", runtime.statistics());
        // What is left of the loop is too much even to be skipped.
        std::process::exit(0);
    })
}
