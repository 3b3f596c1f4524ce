//! Activities of a program from samples of its processor time.
//!
//! Between two samples a program kept, or would have kept, a mean number of processors busy. About
//! none is a pause, about one is serial work, more is parallel work. On one processor, serial and
//! parallel work look the same. A thread that spins counts as busy, so a serial part that is
//! shorter than the spinning of the others cannot be told from a parallel one; it is then part of
//! the speedup.

use super::measured::{Activity, Measured, Span};
use crate::Nanos;

/// Fewer busy processors than this are a pause.
const BUSY_LEAST: f64 = 0.25;
/// More busy processors than this are parallel work.
const SERIAL_MOST: f64 = 1.25;

/// The processor time of a program at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sample {
    /// Time since its start, nanoseconds.
    pub at: Nanos,
    /// Processor time that its threads have used so far or were ready to use, nanoseconds.
    pub used_ns: Nanos,
}

/// The run on so many processors that has these samples, in order of time, and this length.
/// Activities that are shorter than `least` nanoseconds are not told apart.
pub fn measured(samples: &[Sample], processors: u32, length_ns: Nanos, least: Nanos) -> Measured {
    let mut spans = Vec::with_capacity(samples.len());
    let mut before = Sample { at: 0, used_ns: 0 };
    for sample in samples.iter().filter(|sample| sample.at <= length_ns) {
        let passed = sample.at.saturating_sub(before.at);
        if passed > 0 {
            let busy = sample.used_ns.saturating_sub(before.used_ns) as f64 / passed as f64;
            spans.push(Span { activity: activity(busy, processors), processors, length_ns: passed });
            before = *sample;
        }
    }
    // Nobody has looked after the last sample; it goes on as it was.
    let rest = length_ns - before.at;
    let activity = spans.last().map_or(Activity::Parallel, |span| span.activity);
    spans.push(Span { activity, processors, length_ns: rest });
    Measured { spans, ..Measured::default() }.without_short_spans(least)
}

fn activity(busy: f64, processors: u32) -> Activity {
    if busy < BUSY_LEAST {
        Activity::Paused
    } else if processors > 1 && busy <= SERIAL_MOST {
        Activity::Serial
    } else {
        Activity::Parallel
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Samples each 10 units of a program that kept so many tenths of a processor busy.
    fn samples(tenths: &[u64]) -> Vec<Sample> {
        let mut used_ns = 0;
        let one = |(number, tenths): (u64, &u64)| {
            used_ns += tenths;
            Sample { at: 10 * number, used_ns }
        };
        (1..).zip(tenths).map(one).collect()
    }

    fn told(tenths: &[u64], processors: u32) -> Vec<(Activity, Nanos)> {
        let length = 10 * tenths.len() as u64 + 4;
        let found = measured(&samples(tenths), processors, length, 15);
        assert_eq!(found.length(), length);
        found.spans.iter().map(|span| (span.activity, span.length_ns)).collect()
    }

    #[test]
    fn serial_paused_and_parallel_parts_are_told_apart() {
        use Activity::{Parallel, Paused, Serial};
        let found = told(&[10, 10, 0, 1, 0, 19, 20, 18, 10, 11], 2);
        assert_eq!(found, [(Serial, 20), (Paused, 30), (Parallel, 30), (Serial, 24)]);
        assert_eq!(told(&[10, 10, 0, 0, 10, 10], 1), [(Parallel, 20), (Paused, 20), (Parallel, 24)]);
    }

    #[test]
    fn a_single_odd_sample_changes_nothing() {
        assert_eq!(told(&[20, 20, 10, 20, 20], 2), [(Activity::Parallel, 54)]);
    }

    #[test]
    fn without_samples_the_run_is_busy() {
        assert_eq!(measured(&[], 2, 7, 15), Measured::busy(2, 7));
    }
}
