//! How long something took, each time: counted in fixed steps.

/// A histogram of durations, in fixed steps. Counting neither allocates nor divides.
#[derive(Debug, Clone, Default)]
pub(crate) struct Histogram {
    /// Counts of each step alone, the last one for everything longer.
    counts: [u64; BOUNDS.len() + 1],
    sum_ns: u64,
}

/// Upper ends, nanoseconds, and the same in seconds as they are written.
const BOUNDS: [(u64, &str); 10] = [
    (1_000, "1e-06"),
    (2_000, "2e-06"),
    (5_000, "5e-06"),
    (10_000, "1e-05"),
    (20_000, "2e-05"),
    (50_000, "5e-05"),
    (100_000, "0.0001"),
    (1_000_000, "0.001"),
    (10_000_000, "0.01"),
    (100_000_000, "0.1"),
];

impl Histogram {
    /// Counts one duration, nanoseconds.
    pub(crate) fn count(&mut self, ns: u64) {
        let place = BOUNDS.iter().position(|(bound, _)| ns <= *bound).unwrap_or(BOUNDS.len());
        self.counts[place] += 1;
        self.sum_ns = self.sum_ns.saturating_add(ns);
    }

    /// The end of each step, in seconds, and how many were not longer; at last all.
    pub(crate) fn below(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let ends = BOUNDS.iter().map(|(_, text)| *text).chain(["+Inf"]);
        ends.zip(self.counts).scan(0, |below, (end, count)| {
            *below += count;
            Some((end, *below))
        })
    }

    /// All durations together, nanoseconds.
    pub(crate) fn sum_ns(&self) -> u64 {
        self.sum_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn written_ends_are_the_ends() {
        for (ns, text) in BOUNDS {
            assert!((text.parse::<f64>().unwrap() * 1e9 - ns as f64).abs() < 1e-3, "{text}");
        }
    }
}
