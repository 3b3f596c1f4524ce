//! Watches a running program from outside, at short intervals: the processor time that its threads
//! used, or that they were ready to use while others had the processors.
//!
//! Processor time alone would show a pause wherever another program was in the way.

use numaestro_host::procfs;
use numaestro_sim::learn::samples::Sample;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Time between two samples.
const INTERVAL: Duration = Duration::from_millis(6);
/// Samples between two looks for child processes, which read all of `/proc`.
const LOOK_EACH: usize = 40;
/// Samples at the beginning, when children are born, that each have such a look.
const LOOKS_FIRST: usize = 10;

/// Samples of `pid` and its descendants since `origin`, until `over` is set.
pub fn samples(pid: u32, origin: Instant, over: &AtomicBool) -> Vec<Sample> {
    let mut samples: Vec<Sample> = Vec::new();
    let mut tree = vec![pid];
    let (mut used_before, mut before) = (0, Sample { at: 0, used_ns: 0 });
    while !over.load(Ordering::Relaxed) {
        if samples.len() < LOOKS_FIRST || samples.len().is_multiple_of(LOOK_EACH) {
            tree = procfs::tree(pid, &BTreeSet::new()).unwrap_or_else(|_| vec![pid]);
        }
        let (at, used, ready) = (nanos(origin.elapsed()), used(&tree), ready(&tree));
        // A process that has ended takes its time with it.
        let more = used.saturating_sub(used_before).max(ready * (at - before.at));
        used_before = used.max(used_before);
        before = Sample { at, used_ns: before.used_ns + more };
        samples.push(before);
        std::thread::sleep(INTERVAL);
    }
    samples
}

/// Processor time of these processes so far, nanoseconds.
fn used(tree: &[u32]) -> u64 {
    tree.iter().filter_map(|&pid| procfs::cpu_clock_ns(pid)).sum()
}

/// Threads of these processes that run or are ready to.
fn ready(tree: &[u32]) -> u64 {
    let threads = tree.iter().filter_map(|&pid| procfs::thread_times(pid).ok()).flatten();
    threads.filter(|(_, _, ready)| *ready).count() as u64
}

/// A duration as the simulator has it.
pub fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
