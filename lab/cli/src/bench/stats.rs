//! Medians, spreads and means of a few samples.

use numaestro_sim::stats::moments::{percentile, sorted};

/// The median of `samples`; of an even number the mean of the two in the middle. `None` without
/// samples.
pub fn median(samples: &[f64]) -> Option<f64> {
    quantile(samples, 0.5)
}

/// The median distance from the median. `None` without samples.
pub fn median_deviation(samples: &[f64]) -> Option<f64> {
    let centre = median(samples)?;
    median(&samples.iter().map(|x| (x - centre).abs()).collect::<Vec<_>>())
}

/// The value below which a part `part` (0 to 1) of all samples lies. `None` without samples.
pub fn quantile(samples: &[f64], part: f64) -> Option<f64> {
    percentile(&sorted(samples), part)
}

/// The arithmetic mean. `None` without samples.
pub fn mean(samples: &[f64]) -> Option<f64> {
    (!samples.is_empty()).then(|| samples.iter().sum::<f64>() / samples.len() as f64)
}

/// The geometric mean of positive samples. `None` without samples or with one that is not positive.
pub fn geometric_mean(samples: &[f64]) -> Option<f64> {
    if samples.is_empty() || samples.iter().any(|&x| x <= 0.0 || !x.is_finite()) {
        return None;
    }
    Some((samples.iter().map(|x| x.ln()).sum::<f64>() / samples.len() as f64).exp())
}

/// median(`above`) / median(`below`). `None` without samples or if the lower median is not
/// positive.
pub fn ratio_of_medians(above: &[f64], below: &[f64]) -> Option<f64> {
    let (above, below) = (median(above)?, median(below)?);
    (below > 0.0).then(|| above / below)
}

/// Relative standard error of the median, from the median deviation as for normally spread samples.
/// `None` below three samples.
pub fn median_error(samples: &[f64]) -> Option<f64> {
    // 1.4826 times the median deviation estimates the standard deviation; the median's error is
    // sqrt(pi / 2) of the mean's.
    let (centre, deviation) = (median(samples)?, median_deviation(samples)?);
    let usable = samples.len() >= 3 && centre > 0.0;
    usable.then(|| 1.4826 * deviation * (std::f64::consts::PI / 2.0 / samples.len() as f64).sqrt() / centre)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(a: Option<f64>, b: f64) -> bool {
        a.is_some_and(|a| (a - b).abs() < 1e-12)
    }

    #[test]
    fn medians_of_odd_even_and_no_samples() {
        assert!(close(median(&[3.0, 1.0, 2.0]), 2.0));
        assert!(close(median(&[4.0, 1.0, 2.0, 3.0]), 2.5));
        assert!(close(median(&[7.0]), 7.0));
        assert!(median(&[]).is_none());
    }

    #[test]
    fn one_outlier_moves_neither_median_nor_deviation() {
        assert!(close(median(&[1.0, 1.1, 0.9, 50.0, 1.0]), 1.0));
        assert!(median_deviation(&[1.0, 1.1, 0.9, 50.0, 1.0]).is_some_and(|d| d <= 0.1 + 1e-12));
    }

    #[test]
    fn the_error_of_a_median_shrinks_with_the_number_of_samples() {
        let few: Vec<f64> = [0.9, 1.0, 1.1].to_vec();
        let many: Vec<f64> = few.iter().cycle().take(300).copied().collect();
        let (few, many) = (median_error(&few).unwrap_or(0.0), median_error(&many).unwrap_or(1.0));
        assert!((few / many - 10.0).abs() < 1e-9, "{few} {many}");
        assert!(median_error(&[1.0, 1.0]).is_none());
    }

    #[test]
    fn quantiles_of_a_hundred_and_one_samples() {
        let samples: Vec<f64> = (0..=100).rev().map(f64::from).collect();
        for (part, expected) in [(0.0, 0.0), (0.5, 50.0), (0.99, 99.0), (1.0, 100.0)] {
            assert!(close(quantile(&samples, part), expected), "{part}");
        }
        assert!(quantile(&[], 0.5).is_none());
    }

    #[test]
    fn geometric_mean_weighs_double_and_half_alike() {
        assert!(close(geometric_mean(&[2.0, 0.5]), 1.0));
        assert!(close(geometric_mean(&[8.0, 1.0, 1.0]), 2.0));
        assert!(geometric_mean(&[1.0, 0.0]).is_none());
        assert!(geometric_mean(&[]).is_none());
    }

    #[test]
    fn a_ratio_is_of_medians_and_not_of_means() {
        assert!(close(ratio_of_medians(&[2.0, 2.0, 90.0], &[1.0, 1.0, 0.1]), 2.0));
        assert!(ratio_of_medians(&[1.0], &[0.0]).is_none());
        assert!(ratio_of_medians(&[], &[1.0]).is_none());
        assert!(close(mean(&[1.0, 2.0, 6.0]), 3.0));
    }
}
