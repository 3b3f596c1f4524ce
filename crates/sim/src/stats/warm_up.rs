//! How many of the first samples still know how the run began: MSER-5 (White 1997; White, Cobb, Spratt 2000). Knows nothing of time.

/// Samples of one mean.
const BATCH: usize = 5;

/// Number of first samples to leave out: that which makes the interval of the rest narrowest, in means of five, at most half of all.
///
/// MSER(d) = sum over the means after the d-th of (Y - mean)² / (k - d)²; the smallest d of the least value is taken. 0 below ten samples.
pub fn mser_5(samples: &[f64]) -> usize {
    let means: Vec<f64> = samples.chunks_exact(BATCH).map(|batch| batch.iter().sum::<f64>() / BATCH as f64).collect();
    let mut best = (f64::INFINITY, 0);
    // From the back, so that each cut costs one addition.
    let mut rest = super::Moments::default();
    for (cut, &mean) in means.iter().enumerate().rev() {
        rest.add(mean);
        let kept = rest.n() as f64;
        let Some(variance) = rest.variance().filter(|_| cut <= means.len() / 2) else { continue };
        let statistic = variance * (kept - 1.0) / (kept * kept);
        if statistic <= best.0 {
            best = (statistic, cut);
        }
    }
    best.1 * BATCH
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Purpose, Stream};

    /// The definition, word by word, for comparison.
    fn slowly(samples: &[f64]) -> usize {
        let means: Vec<f64> = samples.chunks_exact(5).map(|b| b.iter().sum::<f64>() / 5.0).collect();
        let statistic = |cut: usize| {
            let rest = &means[cut..];
            let (k, mean) = (rest.len() as f64, rest.iter().sum::<f64>() / rest.len() as f64);
            rest.iter().map(|y| (y - mean).powi(2)).sum::<f64>() / (k * k)
        };
        let cuts = (0..means.len()).filter(|&cut| cut <= means.len() / 2 && means.len() - cut >= 2);
        cuts.min_by(|&a, &b| statistic(a).total_cmp(&statistic(b)).then(a.cmp(&b))).unwrap_or(0) * 5
    }

    #[test]
    fn a_slow_start_is_cut_off() {
        let mut stream = Stream::new(1, Purpose::Statistics, 0);
        let series: Vec<f64> =
            (0..1000).map(|i| if i < 200 { 10.0 - f64::from(i) / 20.0 } else { 0.0 } + 0.1 * stream.normal()).collect();
        let cut = mser_5(&series);
        assert!((185..=230).contains(&cut), "{cut}");
        assert_eq!(cut, slowly(&series));
    }

    #[test]
    fn it_is_the_definition_on_random_series() {
        for seed in 0..200 {
            let mut stream = Stream::new(seed, Purpose::Statistics, 1);
            let length = 10 + stream.below(90) as usize;
            let series: Vec<f64> = (0..length).map(|i| stream.exponential() + 5.0 / (1.0 + i as f64)).collect();
            assert_eq!(mser_5(&series), slowly(&series), "seed {seed}");
        }
    }

    #[test]
    fn what_is_steady_or_short_is_kept() {
        assert_eq!(mser_5(&[1.0; 100]), 0);
        assert_eq!(mser_5(&[9.0, 1.0, 1.0]), 0);
        assert_eq!(mser_5(&[]), 0);
    }
}
