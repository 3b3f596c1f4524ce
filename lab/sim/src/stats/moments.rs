//! Means, variances and percentiles of samples.

/// Number, mean and variance of samples, one at a time (Welford 1962): no sum of squares that loses
/// digits.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Moments {
    n: u64,
    mean: f64,
    /// Sum of squared distances from the mean.
    squares: f64,
}

impl Moments {
    /// The moments of these samples.
    pub fn of(samples: &[f64]) -> Self {
        let mut moments = Self::default();
        for &x in samples {
            moments.add(x);
        }
        moments
    }

    /// Adds a sample.
    pub fn add(&mut self, x: f64) {
        self.n += 1;
        let before = x - self.mean;
        self.mean += before / self.n as f64;
        self.squares += before * (x - self.mean);
    }

    /// Number of samples.
    pub const fn n(&self) -> u64 {
        self.n
    }

    /// The arithmetic mean; `None` without samples.
    pub fn mean(&self) -> Option<f64> {
        (self.n > 0).then_some(self.mean)
    }

    /// The unbiased variance (divisor n - 1); `None` below two samples.
    pub fn variance(&self) -> Option<f64> {
        (self.n > 1).then(|| self.squares / (self.n - 1) as f64)
    }

    /// Square root of [`Self::variance`].
    pub fn deviation(&self) -> Option<f64> {
        self.variance().map(libm::sqrt)
    }

    /// Standard error of the mean.
    pub fn standard_error(&self) -> Option<f64> {
        self.variance().map(|variance| libm::sqrt(variance / self.n as f64))
    }
}

/// The value below which the share `part` (0 to 1) of `sorted` lies, linear between neighbours
/// (type 7 of Hyndman and Fan 1996). `None` without samples.
pub fn percentile(sorted: &[f64], part: f64) -> Option<f64> {
    let last = sorted.len().checked_sub(1)?;
    let place = last as f64 * part.clamp(0.0, 1.0);
    let below = libm::floor(place);
    #[allow(clippy::cast_sign_loss)] // A place in a list is not negative.
    let at = below as usize;
    let above = sorted[(at + 1).min(last)];
    Some(sorted[at] + (above - sorted[at]) * (place - below))
}

/// The samples in order of size, for [`percentile`].
pub fn sorted(samples: &[f64]) -> Vec<f64> {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(found: Option<f64>, expected: f64) -> bool {
        found.is_some_and(|found| (found - expected).abs() < 1e-12 * expected.abs().max(1.0))
    }

    #[test]
    fn mean_and_variance_of_a_textbook_sample() {
        let moments = Moments::of(&[2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]);
        assert!(close(moments.mean(), 5.0) && close(moments.variance(), 32.0 / 7.0));
        assert!(close(moments.standard_error(), (32.0_f64 / 7.0 / 8.0).sqrt()));
        assert_eq!(moments.n(), 8);
    }

    #[test]
    fn a_large_offset_costs_no_digits() {
        // The textbook formula with sums of squares gives 0 or worse here.
        let moments = Moments::of(&[1e9 + 4.0, 1e9 + 7.0, 1e9 + 13.0, 1e9 + 16.0]);
        assert!(close(moments.variance(), 30.0), "{:?}", moments.variance());
    }

    #[test]
    fn nothing_has_no_mean_and_one_sample_no_variance() {
        assert_eq!((Moments::default().mean(), Moments::of(&[3.0]).variance()), (None, None));
    }

    #[test]
    fn percentiles_are_those_of_r_and_numpy() {
        let sample = sorted(&[15.0, 50.0, 20.0, 40.0, 35.0]);
        for (part, expected) in [(0.0, 15.0), (0.25, 20.0), (0.4, 29.0), (0.5, 35.0), (0.95, 48.0), (1.0, 50.0)] {
            assert!(close(percentile(&sample, part), expected), "{part}: {:?}", percentile(&sample, part));
        }
        assert_eq!(percentile(&[], 0.5), None);
        assert!(close(percentile(&[7.0], 0.9), 7.0));
    }
}
