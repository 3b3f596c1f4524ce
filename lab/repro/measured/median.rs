//! A median with an interval that assumes nothing of how samples are spread.
//!
//! Each sample lies below the true median with probability one half. So the numbers of samples on
//! both sides are those of tosses of a coin, and the k-th smallest and k-th largest sample enclose
//! the true median with a probability that binomials give. One run that something disturbed moves
//! neither end far, which a mean's interval would.

use numaestro_sim::stats::moments::{percentile, sorted};
use serde::Serialize;
use std::fmt;

/// Smallest probability with which an interval contains the true median.
const LEVEL_MIN: f64 = 0.9;

/// A median and the samples that enclose it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct MedianInterval {
    /// The median.
    pub median: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Probability (0 to 1) with which the interval contains the true median; 0.9 at least.
    pub level: f64,
    /// Number of samples.
    pub samples: u32,
}

impl MedianInterval {
    /// The narrowest such interval of these samples; `None` below five samples, which have none.
    pub fn of(samples: &[f64]) -> Option<Self> {
        let order = sorted(samples);
        let count = order.len();
        let median = percentile(&order, 0.5)?;
        let (cut, level) =
            (0..count / 2).map(|cut| (cut, level(count, cut))).rfind(|(_, level)| *level >= LEVEL_MIN)?;
        Some(Self { median, low: order[cut], high: order[count - 1 - cut], level, samples: count as u32 })
    }
}

impl fmt::Display for MedianInterval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.3} ({:.3} to {:.3})", self.median, self.low, self.high)
    }
}

/// Probability that the true median lies between the samples of which `cut` are further out on each
/// side: neither `cut` or fewer samples are below it, nor `cut` or fewer above.
fn level(count: usize, cut: usize) -> f64 {
    let mut tosses = 0.5_f64.powi(i32::try_from(count).unwrap_or(i32::MAX));
    let mut outside = 0.0;
    for below in 0..=cut {
        outside += tosses;
        tosses *= (count - below) as f64 / (below + 1) as f64;
    }
    1.0 - 2.0 * outside
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_those_of_tables() {
        // Tables of the sign test (Conover 1999, A3): n = 5, 6, 11, 20.
        for (count, cut, expected) in [(5, 0, 0.9375), (6, 0, 0.96875), (11, 2, 0.934_57), (20, 5, 0.958_61)] {
            assert!((level(count, cut) - expected).abs() < 1e-5, "{count} {cut}: {}", level(count, cut));
        }
    }

    #[test]
    fn the_narrowest_interval_of_ninety_percent() {
        let samples: Vec<f64> = (1..=11).rev().map(f64::from).collect();
        let found = MedianInterval::of(&samples).unwrap();
        assert_eq!((found.low, found.median, found.high, found.samples), (3.0, 6.0, 9.0, 11));
        assert!(MedianInterval::of(&samples[..4]).is_none(), "no four samples enclose it so surely");
        assert_eq!(MedianInterval::of(&samples[..5]).map(|five| (five.low, five.high)), Some((7.0, 11.0)));
    }

    #[test]
    fn one_disturbed_run_moves_no_end() {
        let mut samples: Vec<f64> = (1..=11).map(f64::from).collect();
        samples[10] = 1000.0;
        assert_eq!(MedianInterval::of(&samples).map(|found| found.high), Some(9.0));
    }

    /// The share of intervals of skewed samples that contain the true median, 0.
    #[test]
    fn intervals_contain_the_true_median_as_often_as_they_say() {
        const TRIES: u32 = 4000;
        let mut state = 7_u64;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let uniform = (state >> 11) as f64 / (1_u64 << 53) as f64 - 0.5;
            // Skewed: the upper half reaches ten times as far.
            if uniform > 0.0 { 10.0 * uniform } else { uniform }
        };
        let mut inside = 0;
        for _ in 0..TRIES {
            let samples: Vec<f64> = (0..11).map(|_| next()).collect();
            let found = MedianInterval::of(&samples).unwrap();
            inside += u32::from(found.low <= 0.0 && 0.0 <= found.high);
        }
        let share = f64::from(inside) / f64::from(TRIES);
        assert!((share - 0.9346).abs() < 0.015, "{share}");
    }
}
