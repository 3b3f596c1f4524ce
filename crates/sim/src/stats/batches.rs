//! One long run cut into batches whose means are nearly independent (Law and Kelton §9.5.3). Knows nothing of warm-up.

use super::interval::Interval;
use super::moments::Moments;
use serde::Serialize;

/// The means of batches.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Batches {
    /// Of the mean, from the batches' means.
    pub interval: Interval,
    /// Samples in each batch; up to one batch less one of the first samples are left out.
    pub size: usize,
    /// Correlation of neighbouring batches.
    pub lag_1: f64,
}

impl Batches {
    /// Cuts `samples`, in order of time, into `number` batches of equal size; what does not fit is left out at the beginning.
    /// `None` below three batches or one sample in each.
    ///
    /// # Panics
    /// If `level` is not between 0 and 1.
    pub fn of(samples: &[f64], number: usize, level: f64) -> Option<Self> {
        let size = samples.len().checked_div(number).filter(|&size| size > 0 && number >= 3)?;
        let whole = &samples[samples.len() - size * number..];
        let means: Vec<f64> = whole.chunks_exact(size).filter_map(|batch| Moments::of(batch).mean()).collect();
        Some(Self { interval: Interval::of(&means, level)?, size, lag_1: lag_1(&means) })
    }

    /// Whether the batches are long enough that the interval can be believed: correlation of neighbours is not above what
    /// independent ones show in 19 of 20 cases (one-sided, normal approximation).
    pub fn are_independent(&self) -> bool {
        self.lag_1 <= 1.645 / libm::sqrt(self.interval.n as f64)
    }
}

/// Correlation of each sample with the next; 0 where nothing varies.
pub fn lag_1(samples: &[f64]) -> f64 {
    let mean = Moments::of(samples).mean().unwrap_or(0.0);
    let all: f64 = samples.iter().map(|x| (x - mean) * (x - mean)).sum();
    let next: f64 = samples.windows(2).map(|pair| (pair[0] - mean) * (pair[1] - mean)).sum();
    if all == 0.0 { 0.0 } else { next / all }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Purpose, Stream};

    #[test]
    fn lag_1_of_a_short_series_by_hand() {
        // Mean 3, deviations -2 -1 0 1 2: (2 + 0 + 0 + 2) / 10.
        assert!((lag_1(&[1.0, 2.0, 3.0, 4.0, 5.0]) - 0.4).abs() < 1e-12);
        assert!(lag_1(&[2.0, 2.0, 2.0]).abs() < 1e-12);
        assert!(lag_1(&[1.0, -1.0, 1.0, -1.0]) < -0.7);
    }

    #[test]
    fn what_does_not_fit_is_left_out_at_the_beginning() {
        let batches = Batches::of(&[1000.0, 1.0, 1.0, 2.0, 2.0, 3.0, 3.0], 3, 0.9).expect("three batches");
        assert!((batches.interval.mean - 2.0).abs() < 1e-12 && batches.size == 2, "{batches:?}");
        assert!(Batches::of(&[1.0, 2.0], 3, 0.9).is_none() && Batches::of(&[1.0, 2.0], 0, 0.9).is_none());
    }

    #[test]
    fn a_correlated_series_needs_long_batches() {
        // AR(1) with 0.9: true variance of the mean is (1 + 0.9) / (1 - 0.9) = 19 times that of independent samples.
        let mut stream = Stream::new(3, Purpose::Statistics, 0);
        let mut x = 0.0;
        let series: Vec<f64> = (0..60_000)
            .map(|_| {
                x = 0.9 * x + stream.normal();
                x
            })
            .collect();
        let (short, long) =
            (Batches::of(&series, 20_000, 0.9).expect("many"), Batches::of(&series, 30, 0.9).expect("30"));
        assert!(!short.are_independent() && long.are_independent(), "{short:?} {long:?}");
        let true_error = 10.0 / 60_000.0_f64.sqrt();
        let error = long.interval.half_width / super::super::interval::t_quantile(0.95, 29);
        assert!((0.6..1.5).contains(&(error / true_error)), "{error} {true_error}");
        assert!(short.interval.half_width < 0.7 * long.interval.half_width, "short batches claim too much");
    }
}
