//! Little's law as a check: mean number in the system = arrival rate × mean time in it (Little 1961). Knows nothing of queues.

use crate::Nanos;
use serde::Serialize;

/// Both sides of the law over one run.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Little {
    /// Mean number in the system, from the number at each moment.
    pub in_system: f64,
    /// Arrivals per nanosecond times mean nanoseconds in the system, from the entries themselves.
    pub rate_times_stay: f64,
}

impl Little {
    /// From when each came and went; `length` is the run's, from time 0. `None` for an empty run.
    ///
    /// The first side counts those present between each two changes, the second only adds up stays, so that an entry that was lost,
    /// counted twice or ends before it begins shows. Stays are cut at the end of the run.
    pub fn of(stays: &[(Nanos, Nanos)], length: Nanos) -> Option<Self> {
        if length == 0 {
            return None;
        }
        let mut changes: Vec<(Nanos, i64)> =
            stays.iter().flat_map(|&(came, went)| [(came.min(length), 1), (went.min(length), -1)]).collect();
        changes.sort_unstable();
        let (mut area, mut present, mut since) = (0_i128, 0_i128, 0);
        for (at, change) in changes {
            area += present * i128::from(at - since);
            since = at;
            present += i128::from(change);
        }
        area += present * i128::from(length - since);
        let total: f64 = stays.iter().map(|&(came, went)| went.min(length).saturating_sub(came) as f64).sum();
        Some(Self { in_system: area as f64 / length as f64, rate_times_stay: total / length as f64 })
    }

    /// How far the two sides are apart, as a share of the larger.
    pub fn discrepancy(&self) -> f64 {
        let largest = self.in_system.abs().max(self.rate_times_stay.abs());
        if largest == 0.0 { 0.0 } else { (self.in_system - self.rate_times_stay).abs() / largest }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_that_overlap() {
        // One from 0 to 10, one from 5 to 10, in a run of 20: 15 / 20.
        let little = Little::of(&[(0, 10), (5, 10)], 20).expect("a run");
        assert!((little.in_system - 0.75).abs() < 1e-12 && little.discrepancy() < 1e-12, "{little:?}");
    }

    #[test]
    fn what_ends_before_it_begins_shows() {
        assert!(Little::of(&[(0, 10), (15, 5)], 20).expect("a run").discrepancy() > 0.1);
    }

    #[test]
    fn stays_are_cut_at_the_end() {
        let little = Little::of(&[(0, 1_000)], 10).expect("a run");
        assert!((little.in_system - 1.0).abs() < 1e-12 && little.discrepancy() < 1e-12);
        assert!(Little::of(&[], 0).is_none());
        assert!(Little::of(&[], 5).expect("a run").discrepancy() < 1e-12);
    }
}
