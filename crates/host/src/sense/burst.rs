//! Measures the rate at which a bus is saturated (SBTR): for some milliseconds one thread on each
//! of its processors moves lines as fast as it can, first reading, then writing; the better of the
//! two counts. In the same go one thread reads, and computes, while the others only hold their
//! processors. These rates of a thread alone are the base that [`super::probe`] compares with.
//!
//! Because all processors of the bus are held, nothing else runs there meanwhile, and the
//! measurement is right on a busy machine too. It only takes more attempts there, because an
//! attempt in which any thread lost its processor is dropped.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread;

use super::kernel::{self, Buffer};
use super::probe::{Probe, lines_per_ms, per_second, rounds_until};
use crate::{affinity, monotonic_ns};

/// Length of one slice.
const SLICE_NS: u64 = 600_000;
/// From the moment when all threads are ready until the first slice: the news must reach them.
const START_NS: u64 = 50_000;
/// A thread that is ready waits so long for the others.
const PATIENCE_NS: u64 = 5_000_000;

/// The measured rates of a bus.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Burst {
    /// All its processors together, transactions per millisecond (SBTR).
    pub saturation: u32,
    /// The rates of one thread alone.
    pub alone: Probe,
}

/// The kind of a slice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// The first thread reads, the others hold their processors.
    AloneRead,
    /// The first thread computes, the others hold their processors.
    AloneCompute,
    Read,
    Write,
}

/// Slices, one after the other; the best of the slices with all threads counts.
const PLAN: [Kind; 6] = [Kind::AloneRead, Kind::AloneCompute, Kind::Read, Kind::Read, Kind::Write, Kind::Write];

/// Rounds and nanoseconds of one thread in every slice; `None` where it lost its processor.
type Slices = Vec<Option<(u64, u64)>>;

/// The common start of all threads.
#[derive(Debug)]
struct Start {
    /// Threads that are not ready yet.
    missing: AtomicUsize,
    /// Start of the first slice, `CLOCK_MONOTONIC` nanoseconds; 0 while a thread is missing.
    at_ns: AtomicU64,
}

impl Start {
    /// Says that one more is ready and waits for the others, without letting go of the processor.
    /// `None` if somebody does not come.
    fn wait(&self) -> Option<u64> {
        if self.missing.fetch_sub(1, Ordering::Relaxed) == 1 {
            self.at_ns.store(monotonic_ns() + START_NS, Ordering::Relaxed);
        }
        let until_ns = monotonic_ns() + PATIENCE_NS;
        loop {
            match self.at_ns.load(Ordering::Relaxed) {
                0 if monotonic_ns() >= until_ns => return None,
                0 => std::hint::spin_loop(),
                at_ns => return Some(at_ns),
            }
        }
    }
}

/// One thread's part: on its processor, slice after slice from the common start on.
fn worker(cpu: u32, first: bool, start: &Start) -> Slices {
    let mut buffer = Buffer::new();
    let placed = affinity::set(0, &std::iter::once(cpu).collect()).is_ok();
    let Some(start_ns) = start.wait() else { return Slices::new() };
    let slice = |(index, kind): (usize, &Kind)| {
        let begin_ns = start_ns + index as u64 * SLICE_NS;
        // All at the same time or not at all: a late thread does not count.
        let late = monotonic_ns() > begin_ns + SLICE_NS / 4;
        while monotonic_ns() < begin_ns {
            std::hint::spin_loop();
        }
        let rounds = rounds_until(begin_ns + SLICE_NS, || match kind {
            Kind::AloneRead if first => buffer.read(),
            Kind::AloneCompute if first => kernel::compute(),
            Kind::AloneRead | Kind::AloneCompute => std::hint::spin_loop(),
            Kind::Read => buffer.read(),
            Kind::Write => buffer.write(),
        });
        rounds.filter(|_| placed && !late)
    };
    PLAN.iter().enumerate().map(slice).collect()
}

/// The first thread's part of a slice of this kind in which nobody was disturbed.
fn alone(threads: &[Slices], kind: Kind) -> Option<(u64, u64)> {
    let slice = PLAN.iter().position(|planned| *planned == kind)?;
    let undisturbed = threads.iter().all(|seen| seen.get(slice).copied().flatten().is_some());
    threads.first()?.get(slice).copied().flatten().filter(|_| undisturbed)
}

/// The sum over threads of the best slice of this kind in which nobody was disturbed, lines per
/// millisecond.
fn together(threads: &[Slices], kind: Kind) -> Option<u32> {
    let rate =
        |seen: &Slices, slice: usize| seen.get(slice).copied().flatten().map(|rounds| u64::from(lines_per_ms(rounds)));
    let sum = |slice: usize| threads.iter().map(|seen| rate(seen, slice)).sum::<Option<u64>>();
    let slices = PLAN.iter().enumerate().filter(|(_, planned)| **planned == kind);
    let best = slices.filter_map(|(slice, _)| sum(slice)).max()?;
    Some(u32::try_from(best).unwrap_or(u32::MAX))
}

fn burst_of(threads: &[Slices]) -> Option<Burst> {
    let stream = lines_per_ms(alone(threads, Kind::AloneRead)?);
    let arithmetic = per_second(alone(threads, Kind::AloneCompute)?);
    let alone = Probe { stream, arithmetic, cost_ns: 0 };
    // Reading and writing may differ by a factor of two: without either it is not known which one
    // is the better.
    let together = together(threads, Kind::Read)?.max(together(threads, Kind::Write)?);
    // All together carry no less than one alone: if it seems so, they were disturbed in a way that
    // the clocks do not show.
    Some(Burst { saturation: together.max(stream), alone })
}

/// Measures the bus that these processors (OS indices) share. Takes some milliseconds; `None` if it
/// was disturbed, or a thread could not be had.
pub fn measure(cpus: &[u32]) -> Option<Burst> {
    let start = Arc::new(Start { missing: AtomicUsize::new(cpus.len()), at_ns: AtomicU64::new(0) });
    let spawn = |(index, &cpu): (usize, &u32)| {
        let start = Arc::clone(&start);
        thread::Builder::new().name("burst".to_owned()).spawn(move || worker(cpu, index == 0, &start))
    };
    let threads: Vec<_> = cpus.iter().enumerate().map(spawn).collect();
    let slices =
        threads.into_iter().map(|thread| thread.ok().and_then(|thread| thread.join().ok()).unwrap_or_default());
    let slices: Vec<Slices> = slices.collect();
    if slices.is_empty() { None } else { burst_of(&slices) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One round takes a millisecond.
    fn seen(rounds: [Option<u64>; 6]) -> Slices {
        rounds.into_iter().map(|rounds| Some((rounds?, 1_000_000))).collect()
    }

    #[test]
    fn the_best_slice_in_which_nobody_was_disturbed_counts() {
        let first = seen([Some(7), Some(3), Some(1), Some(5), Some(9), Some(1)]);
        let second = seen([Some(0), Some(0), Some(2), Some(5), None, Some(2)]);
        let lines = |rounds: u32| rounds * kernel::LINES as u32;
        let alone = Probe { stream: lines(7), arithmetic: 3000, cost_ns: 0 };
        assert_eq!(burst_of(&[first.clone(), second.clone()]), Some(Burst { saturation: lines(10), alone }));
        let disturbed = seen([None, Some(0), Some(2), Some(5), None, Some(9)]);
        assert_eq!(burst_of(&[first.clone(), disturbed]), None, "somebody else may have run beside the first one");
        let never_wrote = seen([Some(0), Some(0), Some(2), Some(5), None, None]);
        assert_eq!(burst_of(&[first.clone(), never_wrote]), None, "writing may be the better of the two");
        assert_eq!(burst_of(&[first, Slices::new()]), None, "a thread could not be had");
        assert_eq!(measure(&[]), None);
    }

    #[test]
    fn this_machine_carries_something() {
        let cpus: Vec<u32> = affinity::get(0).unwrap().iter().take(2).collect();
        // Beside other tests most attempts are disturbed, perhaps all: then nothing is said, and
        // nothing made up.
        if let Some(burst) = (0..50).find_map(|_| measure(&cpus)) {
            assert!(burst.alone.stream > 0 && burst.saturation >= burst.alone.stream, "{burst:?}");
            assert!(burst.alone.arithmetic > 0);
        }
    }
}
