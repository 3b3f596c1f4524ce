//! Execution times of instances that are run again and again until a window ends.
//!
//! The last instance is cut off by the window. Leaving it out would favour short ones: an instance
//! that had luck and ended would look exact, and one that had none would not count. So an instance
//! that has already run longer than any that ended counts with the time that it has had, and the
//! mean is a lower bound then. One that has run for less says nothing that the others do not.

use crate::{Estimate, Judge, ratio};
use numaestro_sim::outcome::Outcome;
use std::fmt;
use std::ops::RangeInclusive;

/// Mean execution times of a stream, run by run.
#[derive(Debug, Clone)]
pub struct Times {
    /// Seconds.
    seconds: Vec<f64>,
    /// In some run an instance was cut off that counts: the mean is a lower bound.
    cut: bool,
}

impl Times {
    /// The times of a stream, whose instances follow each other at once.
    pub fn of_stream(outcomes: &[Outcome], stream: u32) -> Self {
        let mut times = Self { seconds: Vec::new(), cut: false };
        for outcome in outcomes {
            let jobs = || outcome.jobs.iter().filter(|job| job.stream == stream);
            let ended: Vec<f64> = jobs().map(super::runs::run_time).collect();
            let last = jobs().map(|job| job.ended).max().unwrap_or(0);
            let (mean, cut) = mean(&ended, (outcome.end - last) as f64 / 1e9);
            times.seconds.push(mean);
            times.cut |= cut;
        }
        times
    }

    /// Mean and interval, seconds.
    pub fn estimate(&self) -> Estimate {
        Estimate::of(&self.seconds)
    }

    /// Adds the mean to the values of a claim.
    pub fn show(&self, judge: &mut Judge, name: impl Into<String>) {
        show(judge, name, "s", self.estimate(), self.cut);
    }

    /// These times over those, run by run.
    pub fn over(&self, other: &Self) -> Quotient {
        let bound = match (self.cut, other.cut) {
            (false, false) => Bound::Exact,
            (true, false) => Bound::AtLeast,
            (false, true) => Bound::AtMost,
            (true, true) => Bound::Neither,
        };
        Quotient { estimate: ratio(&self.seconds, &other.seconds), bound }
    }
}

/// Mean of the instances that ended and of the one that was running for `open` seconds when the run
/// ended, if that counts; and whether it does.
fn mean(ended: &[f64], open: f64) -> (f64, bool) {
    let (sum, count) = (ended.iter().sum::<f64>(), ended.len() as f64);
    let longest = ended.iter().copied().fold(0.0, f64::max);
    if ended.is_empty() || open > longest { ((sum + open) / (count + 1.0), true) } else { (sum / count, false) }
}

fn show(judge: &mut Judge, name: impl Into<String>, unit: &'static str, estimate: Estimate, cut: bool) {
    if cut {
        judge.censored(name, unit, estimate);
    } else {
        judge.value(name, unit, estimate);
    }
}

/// The knowledge that a quotient of times gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Bound {
    Exact,
    /// The upper time was cut off.
    AtLeast,
    /// The lower time was cut off.
    AtMost,
    /// Both were.
    Neither,
}

/// A quotient of two mean times.
#[derive(Debug, Clone, Copy)]
pub struct Quotient {
    /// Its mean and interval, as if nothing had been cut off.
    pub estimate: Estimate,
    bound: Bound,
}

impl Quotient {
    /// Whether it is known to be in a range. A bound that was cut off says nothing of the other
    /// end.
    pub fn within(&self, range: &RangeInclusive<f64>) -> bool {
        let known_below = matches!(self.bound, Bound::Exact | Bound::AtMost) || range.end().is_infinite();
        let known_above = matches!(self.bound, Bound::Exact | Bound::AtLeast);
        known_below && known_above && range.contains(&self.estimate.mean)
    }

    /// Adds it to the values of a claim.
    pub fn show(&self, judge: &mut Judge, name: impl Into<String>) {
        show(judge, name, "", self.estimate, self.bound != Bound::Exact);
    }
}

impl fmt::Display for Quotient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = match self.bound {
            Bound::Exact => "",
            Bound::AtLeast => "≥ ",
            Bound::AtMost => "≤ ",
            Bound::Neither => "? ",
        };
        write!(f, "{sign}{}", self.estimate)
    }
}

/// A tolerance around a printed ratio: from `least` to as many times above the printed value as
/// that is below. A demand on one side only would let 18 times pass for 4.59.
pub fn around(printed: f64, least: f64) -> RangeInclusive<f64> {
    least..=printed * printed / least
}

/// A range in words.
pub fn words(range: &RangeInclusive<f64>) -> String {
    format!("from {} to {:.2}", range.start(), range.end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unlucky_instance_counts_and_a_young_one_does_not() {
        assert_eq!(mean(&[10.0, 20.0], 18.0), (15.0, false));
        assert_eq!(mean(&[10.0, 20.0], 60.0), (30.0, true));
        assert_eq!(mean(&[], 80.0), (80.0, true));
    }

    #[test]
    fn what_was_cut_off_holds_on_one_side_only() {
        let times = |seconds, cut| Times { seconds: vec![seconds; 3], cut };
        let high = times(40.0, true).over(&times(10.0, false));
        assert!(high.within(&(2.0..=f64::INFINITY)) && !high.within(&(2.0..=8.0)));
        assert!(high.to_string().starts_with("≥ 4.00"), "{high}");
        let low = times(40.0, false).over(&times(10.0, true));
        assert!(!low.within(&(2.0..=8.0)));
        assert!(times(40.0, false).over(&times(10.0, false)).within(&(2.0..=8.0)));
    }

    #[test]
    fn a_tolerance_has_two_sides() {
        let range = around(4.59, 2.0);
        assert!(range.contains(&2.0) && range.contains(&4.59) && range.contains(&10.5));
        assert!(!range.contains(&18.0) && !range.contains(&1.99));
    }
}
