//! Watches a running program from outside: its processor time at short intervals.
//!
//! One system call for each process and interval, so that watching takes next to nothing.

use numaestro_host::procfs;
use numaestro_sim::learn::samples::Sample;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Time between two samples.
const INTERVAL: Duration = Duration::from_millis(5);
/// Samples between two looks for child processes, which read all of `/proc`.
const LOOK_EACH: usize = 40;
/// Samples at the beginning, when children are born, that each have such a look.
const LOOKS_FIRST: usize = 10;

/// Samples of `pid` and its descendants since `origin`, until `over` is set.
pub fn samples(pid: u32, origin: Instant, over: &AtomicBool) -> Vec<Sample> {
    let mut samples: Vec<Sample> = Vec::new();
    let mut tree = vec![pid];
    let mut used_ns = 0;
    while !over.load(Ordering::Relaxed) {
        if samples.len() < LOOKS_FIRST || samples.len().is_multiple_of(LOOK_EACH) {
            tree = procfs::tree(pid, &BTreeSet::new()).unwrap_or_else(|_| vec![pid]);
        }
        let used: u64 = tree.iter().filter_map(|&pid| procfs::cpu_clock_ns(pid)).sum();
        // A process that has ended takes its time with it.
        used_ns = used.max(used_ns);
        samples.push(Sample { at: nanos(origin.elapsed()), used_ns });
        std::thread::sleep(INTERVAL);
    }
    samples
}

/// A duration as the simulator has it.
pub fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
