//! Resampling of blocks: an interval where there is only one sample of something correlated, such as one log. Knows nothing of logs.
//!
//! Source: circular block bootstrap (Politis and Romano 1992, after Künsch 1989), percentile interval (Efron 1979).

use super::moments::{percentile, sorted};
use crate::random::Stream;
use serde::Serialize;

/// A statistic of one series, and where it may lie.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Resampled {
    /// Of the series as it is.
    pub value: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Confidence.
    pub level: f64,
}

/// How to resample.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Blocks {
    /// Neighbouring samples that stay together: longer than what they know of each other (a week of a log).
    pub length: usize,
    /// How many series to make.
    pub times: usize,
    /// Confidence.
    pub level: f64,
}

impl Blocks {
    /// The interval of `statistic` over `samples`, in order of time. `None` without samples, blocks or resampled series.
    pub fn interval(
        &self,
        samples: &[f64],
        stream: &mut Stream,
        statistic: &dyn Fn(&[f64]) -> f64,
    ) -> Option<Resampled> {
        let n = samples.len();
        let bound = u32::try_from(n).ok().filter(|&n| n > 0 && self.length > 0 && self.times > 0)?;
        let mut series = Vec::with_capacity(n + self.length);
        let mut found = Vec::with_capacity(self.times);
        for _ in 0..self.times {
            series.clear();
            while series.len() < n {
                let start = stream.below(bound) as usize;
                series.extend((start..start + self.length).map(|at| samples[at % n]));
            }
            series.truncate(n);
            found.push(statistic(&series));
        }
        let found = sorted(&found);
        let tail = f64::midpoint(0.0, 1.0 - self.level);
        Some(Resampled {
            value: statistic(samples),
            low: percentile(&found, tail)?,
            high: percentile(&found, 1.0 - tail)?,
            level: self.level,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Purpose;

    fn mean(samples: &[f64]) -> f64 {
        samples.iter().sum::<f64>() / samples.len() as f64
    }

    #[test]
    fn independent_samples_give_the_usual_interval() {
        let mut stream = Stream::new(1, Purpose::Statistics, 0);
        let series: Vec<f64> = (0..400).map(|_| 3.0 + stream.normal()).collect();
        let blocks = Blocks { length: 1, times: 2000, level: 0.90 };
        let found = blocks.interval(&series, &mut stream, &mean).expect("samples");
        let t = super::super::Interval::of(&series, 0.90).expect("samples");
        let width = (found.high - found.low) / (2.0 * t.half_width);
        assert!((0.9..1.1).contains(&width) && (found.value - t.mean).abs() < 1e-12, "{found:?} {t:?}");
    }

    #[test]
    fn blocks_see_the_correlation_that_single_samples_hide() {
        let mut stream = Stream::new(2, Purpose::Statistics, 0);
        // Each value twenty times: a mean of 50 independent numbers, not of 1000.
        let series: Vec<f64> = (0..50).flat_map(|_| [stream.normal(); 20]).collect();
        let width = |length: usize, stream: &mut Stream| {
            let found = Blocks { length, times: 1000, level: 0.90 }.interval(&series, stream, &mean).expect("samples");
            found.high - found.low
        };
        let (single, blocks) = (width(1, &mut stream), width(60, &mut stream));
        assert!(blocks > 3.0 * single, "{single} {blocks}");
    }

    #[test]
    fn the_same_stream_gives_the_same_interval() {
        let series = [1.0, 5.0, 2.0, 8.0];
        let once = || {
            let mut stream = Stream::new(9, Purpose::Statistics, 0);
            Blocks { length: 2, times: 50, level: 0.9 }.interval(&series, &mut stream, &mean)
        };
        assert_eq!(once(), once());
        let mut stream = Stream::new(9, Purpose::Statistics, 0);
        assert!(Blocks { length: 0, times: 5, level: 0.9 }.interval(&series, &mut stream, &mean).is_none());
    }
}
