//! What this machine's buses carry and how full they are, again and again, and which sources of
//! rates there are: to try the sensing by hand.
//!
//! `bus [ATTEMPTS]`

use std::path::Path;
use std::time::Duration;

use numaestro_host::affinity;
use numaestro_host::sense::prober::{Found, Order, Prober};
use numaestro_host::sense::{LINE_BYTES, Ladder};

fn gigabytes(rate: u32) -> f64 {
    f64::from(rate) * LINE_BYTES as f64 / 1e6
}

fn main() -> Result<(), numaestro_host::HostError> {
    let attempts = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(10);
    for state in Ladder::open(Path::new("/"), None).states() {
        let lacking = if state.lacking.is_empty() { "there" } else { &state.lacking };
        println!(
            "{:9} error {:3} permille ({}): {lacking}",
            state.rung.name(),
            state.rung.error_permille(),
            state.rung.caveat()
        );
    }
    let cpus: Vec<u32> = affinity::get(0)?.iter().collect();
    let mut prober = Prober::new()?;
    let mut base = None;
    for _ in 0..attempts {
        prober.order(Order::Burst(0, cpus.clone()));
        prober.order(Order::Probe(0, cpus.clone()));
        while !prober.is_idle() {
            match prober.wait(Duration::from_secs(10)) {
                Some(Found::Burst(_, Some(burst))) => {
                    let (all, one) = (gigabytes(burst.saturation), gigabytes(burst.alone.stream));
                    println!("{} processors together {all:.1} GB/s, one reading alone {one:.1} GB/s", cpus.len());
                    base = Some(burst.alone);
                }
                Some(Found::Probe(_, Some(probe), cost_ns)) => {
                    let stretch = base.map(|base| probe.stretch_milli(&base));
                    println!(
                        "probe {:.1} GB/s, stretch {stretch:?} thousandths, {cost_ns} ns",
                        gigabytes(probe.stream)
                    );
                }
                Some(_) => println!("disturbed"),
                None => break,
            }
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    Ok(())
}
