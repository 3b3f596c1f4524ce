//! The Student t interval of a mean, from which other intervals are made.

use super::moments::Moments;
use serde::Serialize;
use statrs::distribution::{ContinuousCDF, StudentsT};

/// Confidence that is usual in this project.
pub const LEVEL: f64 = 0.90;

/// A mean and the distance within which the true mean lies.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Interval {
    /// The mean of the samples.
    pub mean: f64,
    /// The true mean is within this distance of it, with confidence `level`.
    pub half_width: f64,
    /// Between 0 and 1.
    pub level: f64,
    /// Number of samples.
    pub n: u64,
}

impl Interval {
    /// The interval of the mean of independent samples. `None` below two samples.
    ///
    /// # Panics
    /// If `level` is not between 0 and 1.
    pub fn of(samples: &[f64], level: f64) -> Option<Self> {
        Self::from_moments(&Moments::of(samples), level)
    }

    /// The interval from the moments of samples.
    ///
    /// # Panics
    /// If `level` is not between 0 and 1.
    pub fn from_moments(moments: &Moments, level: f64) -> Option<Self> {
        let (mean, error) = (moments.mean()?, moments.standard_error()?);
        let half_width = t_quantile(f64::midpoint(1.0, level), moments.n() - 1) * error;
        Some(Self { mean, half_width, level, n: moments.n() })
    }

    /// Its lower end.
    pub fn low(&self) -> f64 {
        self.mean - self.half_width
    }

    /// Its upper end.
    pub fn high(&self) -> f64 {
        self.mean + self.half_width
    }

    /// Whether `x` is in it.
    pub fn contains(&self, x: f64) -> bool {
        (x - self.mean).abs() <= self.half_width
    }

    /// Half its width as a share of the mean's size; infinite around 0.
    pub fn relative(&self) -> f64 {
        if self.half_width == 0.0 { 0.0 } else { self.half_width / self.mean.abs() }
    }
}

/// The quantile of Student's t distribution.
///
/// # Panics
/// If `part` is not between 0 and 1, or without a degree of freedom.
pub fn t_quantile(part: f64, degrees: u64) -> f64 {
    assert!(part > 0.0 && part < 1.0, "a quantile of {part}");
    student(degrees).inverse_cdf(part)
}

/// Probability that a Student t variable is at least this far from 0, either way.
///
/// # Panics
/// Without a degree of freedom.
pub fn t_two_sided(statistic: f64, degrees: u64) -> f64 {
    if statistic.is_infinite() {
        return 0.0;
    }
    (2.0 * student(degrees).cdf(-statistic.abs())).min(1.0)
}

fn student(degrees: u64) -> StudentsT {
    StudentsT::new(0.0, 1.0, degrees as f64).expect("at least one degree of freedom")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_of_the_printed_table() {
        // Any table of Student's t: degrees of freedom, 95 %, 97.5 %, 99.5 %.
        let table = [
            (1, 6.314, 12.706, 63.657),
            (2, 2.920, 4.303, 9.925),
            (9, 1.833, 2.262, 3.250),
            (29, 1.699, 2.045, 2.756),
            (100, 1.660, 1.984, 2.626),
        ];
        for (degrees, p95, p975, p995) in table {
            for (part, expected) in [(0.95, p95), (0.975, p975), (0.995, p995)] {
                let found = t_quantile(part, degrees);
                assert!((found - expected).abs() < 6e-4, "{degrees} {part}: {found}");
            }
        }
    }

    #[test]
    fn tails_are_the_quantiles_read_backwards() {
        for degrees in [1, 4, 9, 60] {
            for part in [0.95, 0.975, 0.9995] {
                let tail = t_two_sided(t_quantile(part, degrees), degrees);
                assert!((tail - 2.0 * (1.0 - part)).abs() < 1e-9, "{degrees} {part}: {tail}");
            }
        }
        assert!(t_two_sided(f64::INFINITY, 3).abs() < f64::MIN_POSITIVE && (t_two_sided(0.0, 3) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn the_example_of_law_and_kelton() {
        // Ten observations, 90 %: 1.34 ± 0.24 (their example 4.26).
        let samples = [1.20, 1.50, 1.68, 1.89, 0.95, 1.49, 1.58, 1.55, 0.50, 1.09];
        let interval = Interval::of(&samples, 0.90).expect("ten samples");
        assert!((interval.mean - 1.343).abs() < 1e-9 && (interval.half_width - 0.24).abs() < 5e-3, "{interval:?}");
        assert!(interval.contains(1.5) && !interval.contains(1.0));
    }

    #[test]
    fn equal_samples_leave_no_doubt_and_one_leaves_all() {
        let interval = Interval::of(&[3.0, 3.0, 3.0], 0.9).expect("three samples");
        assert!(interval.half_width == 0.0 && interval.relative() == 0.0);
        assert!(Interval::of(&[3.0], 0.9).is_none());
    }

    #[test]
    fn it_covers_the_mean_as_often_as_it_says() {
        let mut covered = 0;
        for seed in 0..2000 {
            let mut stream = crate::random::Stream::new(seed, crate::random::Purpose::Statistics, 0);
            let samples: Vec<f64> = (0..8).map(|_| stream.normal() + 5.0).collect();
            covered += u32::from(Interval::of(&samples, 0.90).expect("eight").contains(5.0));
        }
        assert!((1740..=1860).contains(&covered), "{covered} of 2000");
    }
}
