//! Compares two systems on the same random numbers.
//!
//! Both have run the same jobs, so the effects of the seeds on both cancel. The difference has an
//! interval of its own, usually far narrower than the two means' (Law and Kelton §10.2: paired t,
//! common random numbers).

use super::interval::{Interval, t_two_sided};
use serde::Serialize;

/// The mean of paired differences, first minus second.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Difference {
    /// The interval of the differences.
    pub interval: Interval,
    /// Probability of a difference at least this large if there were none.
    pub p: f64,
}

/// The geometric mean of paired ratios, first over second.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Ratio {
    /// The ratio.
    pub ratio: f64,
    /// Lower end of its interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Confidence.
    pub level: f64,
    /// Pairs.
    pub n: u64,
    /// Probability of a ratio at least this far from 1 if it were 1.
    pub p: f64,
}

/// First minus second, pair by pair. `None` below two pairs.
///
/// # Panics
/// If the two have different lengths, or `level` is not between 0 and 1.
pub fn difference(first: &[f64], second: &[f64], level: f64) -> Option<Difference> {
    assert_eq!(first.len(), second.len(), "they are no pairs");
    let differences: Vec<f64> = first.iter().zip(second).map(|(a, b)| a - b).collect();
    let interval = Interval::of(&differences, level)?;
    Some(Difference { interval, p: p_of(&interval, &differences) })
}

/// First over second on the scale of logarithms, so that double and half weigh the same. `None`
/// below two pairs or where a sample is not positive.
///
/// # Panics
/// As [`difference`].
pub fn ratio(first: &[f64], second: &[f64], level: f64) -> Option<Ratio> {
    assert_eq!(first.len(), second.len(), "they are no pairs");
    let positive = |samples: &[f64]| samples.iter().all(|&x| x > 0.0 && x.is_finite());
    if !positive(first) || !positive(second) {
        return None;
    }
    let logs: Vec<f64> = first.iter().zip(second).map(|(a, b)| libm::log(a / b)).collect();
    let interval = Interval::of(&logs, level)?;
    Some(Ratio {
        ratio: libm::exp(interval.mean),
        low: libm::exp(interval.low()),
        high: libm::exp(interval.high()),
        level,
        n: interval.n,
        p: p_of(&interval, &logs),
    })
}

fn p_of(interval: &Interval, samples: &[f64]) -> f64 {
    let error = super::Moments::of(samples).standard_error().unwrap_or(0.0);
    if interval.mean == 0.0 { 1.0 } else { t_two_sided(interval.mean / error, interval.n - 1) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Hours of extra sleep of ten patients under two drugs (Cushny and Peebles 1905, the example
    /// of Student 1908).
    const FIRST: [f64; 10] = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0];
    const SECOND: [f64; 10] = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4];

    #[test]
    fn the_sleep_of_student() {
        // R: t.test(extra ~ group, paired): t = -4.0621, df = 9, p = 0.002833, mean -1.58, 95 %
        // interval -2.4598858 to -0.7001142.
        let found = difference(&FIRST, &SECOND, 0.95).expect("ten pairs");
        assert!((found.interval.mean + 1.58).abs() < 1e-12, "{found:?}");
        assert!(
            (found.interval.low() + 2.459_885_8).abs() < 1e-6 && (found.interval.high() + 0.700_114_2).abs() < 1e-6
        );
        assert!((found.p - 0.002_833).abs() < 1e-6, "{}", found.p);
    }

    #[test]
    fn ratios_read_the_same_both_ways() {
        let (a, b) = ([2.0, 4.2, 7.9, 16.5], [1.0, 2.0, 4.0, 8.0]);
        let (up, down) = (ratio(&a, &b, 0.9).expect("pairs"), ratio(&b, &a, 0.9).expect("pairs"));
        assert!((up.ratio * down.ratio - 1.0).abs() < 1e-12 && (up.low * down.high - 1.0).abs() < 1e-12);
        assert!((up.p - down.p).abs() < 1e-12 && up.low > 1.9 && up.high < 2.2, "{up:?}");
    }

    #[test]
    fn no_difference_and_nothing_but_difference() {
        let same = difference(&[1.0, 2.0], &[1.0, 2.0], 0.9).expect("pairs");
        assert!((same.p - 1.0).abs() < f64::EPSILON && same.interval.half_width == 0.0);
        let apart = difference(&[2.0, 3.0], &[1.0, 2.0], 0.9).expect("pairs");
        assert!(apart.p == 0.0 && apart.interval.half_width == 0.0);
    }

    #[test]
    fn what_has_no_ratio() {
        assert!(ratio(&[1.0, 0.0], &[1.0, 1.0], 0.9).is_none());
        assert!(ratio(&[1.0], &[1.0], 0.9).is_none());
    }
}
