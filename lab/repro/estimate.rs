//! A mean over independent runs with its 90 % interval.

use numaestro_sim::stats::{Interval, LEVEL};
use serde::Serialize;
use std::fmt;

/// A mean over independent runs, with half the width of its 90 % interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Estimate {
    /// Mean over the runs.
    pub mean: f64,
    /// Half the width of the interval; 0 where the value is exact.
    pub half: f64,
    /// Number of runs; 0 where the value is exact.
    pub runs: u32,
}

impl Estimate {
    /// The estimate of independent values, one for each run.
    ///
    /// # Panics
    /// Without a value.
    pub fn of(values: &[f64]) -> Self {
        assert!(!values.is_empty(), "a mean needs a value");
        let interval = Interval::of(values, LEVEL);
        let mean = interval.map_or(values[0], |interval| interval.mean);
        let half = interval.map_or(0.0, |interval| interval.half_width);
        Self { mean, half, runs: values.len() as u32 }
    }

    /// A value that was computed, not measured.
    pub const fn exact(value: f64) -> Self {
        Self { mean: value, half: 0.0, runs: 0 }
    }

    /// Lower end of the interval.
    pub fn low(&self) -> f64 {
        self.mean - self.half
    }

    /// Upper end of the interval.
    pub fn high(&self) -> f64 {
        self.mean + self.half
    }

    /// The part of a ratio above 1, in percent.
    #[must_use]
    pub fn percent_over_one(self) -> Self {
        Self { mean: 100.0 * (self.mean - 1.0), half: 100.0 * self.half, runs: self.runs }
    }

    /// Whether this is below `other` with disjoint intervals: "significantly" in the papers.
    pub fn clearly_below(&self, other: &Self) -> bool {
        self.high() < other.low()
    }
}

/// Improvement of `new` over `old` in percent of `old`, run by run: the runs share their random
/// numbers.
///
/// # Panics
/// If they are of different length or empty.
pub fn improvement(new: &[f64], old: &[f64]) -> Estimate {
    assert_eq!(new.len(), old.len(), "paired runs");
    let percents: Vec<f64> = new.iter().zip(old).map(|(new, old)| 100.0 * (1.0 - new / old)).collect();
    Estimate::of(&percents)
}

/// `new / old`, run by run.
///
/// # Panics
/// If they are of different length or empty.
pub fn ratio(new: &[f64], old: &[f64]) -> Estimate {
    assert_eq!(new.len(), old.len(), "paired runs");
    let ratios: Vec<f64> = new.iter().zip(old).map(|(new, old)| new / old).collect();
    Estimate::of(&ratios)
}

impl fmt::Display for Estimate {
    /// Prints as many places as the interval deserves: `4.93 ±0.01`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let places = f.precision().unwrap_or(match self.mean.abs() {
            large if large >= 100.0 => 0,
            large if large >= 10.0 => 1,
            large if large >= 1.0 => 2,
            _ => 3,
        });
        write!(f, "{:.places$}", self.mean)?;
        if self.runs > 1 { write!(f, " ±{:.places$}", self.half) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_by_hand() {
        // Mean 3, s² 2.5, t(4) 2.132: 2.132·√(2.5/5).
        let five = Estimate::of(&[1.0, 2.0, 3.0, 4.0, 5.0]);
        assert!((five.mean - 3.0).abs() < 1e-12);
        assert!((five.half - 2.132 * 0.5_f64.sqrt()).abs() < 1e-3);
        assert_eq!(Estimate::of(&[7.0]).half.to_bits(), 0.0_f64.to_bits());
    }

    #[test]
    fn pairs_cancel_what_runs_share() {
        let old = [10.0, 20.0, 40.0];
        let new = [5.0, 10.0, 20.0];
        let gain = improvement(&new, &old);
        assert!((gain.mean - 50.0).abs() < 1e-12 && gain.half < 1e-9);
        assert!((ratio(&new, &old).mean - 0.5).abs() < 1e-12);
        assert!(!Estimate::of(&new).clearly_below(&Estimate::of(&old)));
        assert!(Estimate::of(&[1.0, 1.1]).clearly_below(&Estimate::of(&[9.0, 9.1])));
    }

    #[test]
    fn written_with_the_places_it_deserves() {
        assert_eq!(Estimate::of(&[4.92, 4.94]).to_string(), "4.93 ±0.06");
        assert_eq!(Estimate::exact(37.0).to_string(), "37.0");
        assert_eq!(format!("{:.0}", Estimate::exact(37.0)), "37");
    }
}
