//! Decides when there have been enough replications (Law and Kelton §9.4.1: relative precision).

use super::interval::Interval;

/// The wanted precision.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stopping {
    /// Half-width as a share of the mean: 0.05 = 5 %.
    pub relative: f64,
    /// Confidence.
    pub level: f64,
    /// Replications before the first look, at least 2: intervals of fewer are too often narrow by
    /// chance.
    pub least: usize,
    /// The most replications.
    pub most: usize,
}

/// The next step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// So many replications more, then look again.
    More(usize),
    /// Precise enough.
    Enough,
    /// The result is not precise enough, and no more replications are allowed.
    TooMany,
}

impl Stopping {
    /// Looks at the replications so far, in order of their seeds, so that the answer does not
    /// depend on which ended first.
    pub fn next(&self, samples: &[f64]) -> Next {
        let least = self.least.max(2).min(self.most);
        if samples.len() < least {
            return Next::More(least - samples.len());
        }
        // A mean estimated to 5 % may be 5 % off: the adjusted share keeps the promise for the true
        // mean.
        let target = self.relative / (1.0 + self.relative);
        match Interval::of(samples, self.level) {
            Some(interval) if interval.relative() <= target => Next::Enough,
            _ if samples.len() >= self.most => Next::TooMany,
            Some(interval) => Next::More(self.missing(interval.relative() / target, samples.len())),
            None => Next::More(1),
        }
    }

    /// Half-widths shrink with the root of the number. Returns the replications that this leaves to
    /// do, at most as many as there are, and never beyond `most`.
    fn missing(&self, times_too_wide: f64, have: usize) -> usize {
        #[allow(clippy::cast_sign_loss)] // Positive, or infinite, which becomes the largest number.
        let needed = libm::ceil(have as f64 * times_too_wide * times_too_wide) as usize;
        needed.saturating_sub(have).clamp(1, have).min(self.most - have)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Purpose, Stream};

    const FIVE_PERCENT: Stopping = Stopping { relative: 0.05, level: 0.90, least: 10, most: 5000 };

    #[test]
    fn it_stops_when_the_promise_is_kept() {
        let mut kept = 0;
        for seed in 0..200 {
            let mut stream = Stream::new(seed, Purpose::Statistics, 0);
            let mut samples = Vec::new();
            while let Next::More(more) = FIVE_PERCENT.next(&samples) {
                samples.extend((0..more).map(|_| stream.exponential()));
            }
            let mean = samples.iter().sum::<f64>() / samples.len() as f64;
            assert!(samples.len() > 100, "an exponential needs about 1000: {}", samples.len());
            kept += u32::from((mean - 1.0).abs() <= 0.05);
        }
        assert!(kept >= 170, "{kept} of 200 within 5 %");
    }

    #[test]
    fn limits() {
        assert_eq!(FIVE_PERCENT.next(&[]), Next::More(10));
        assert_eq!(FIVE_PERCENT.next(&[3.0; 10]), Next::Enough);
        let few = Stopping { most: 4, ..FIVE_PERCENT };
        assert_eq!(few.next(&[1.0, 100.0, 3.0]), Next::More(1));
        assert_eq!(few.next(&[1.0, 100.0, 3.0, 7.0]), Next::TooMany);
        assert_eq!(FIVE_PERCENT.next(&[-1.0, 1.0, -1.0, 1.0, -1.0, 1.0, -1.0, 1.0, -1.0, 1.0]), Next::More(10));
    }
}
