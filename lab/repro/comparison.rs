//! Compares values of runs that share their seeds: a least effect, or no difference.
//!
//! The runs of a pair share their random numbers, so the change of each pair has less noise than
//! the means. An effect counts when the whole 90 % interval of the change lies beyond the least
//! effect (a one-sided test at 5 %). "No difference" counts when the whole interval lies within a
//! limit (two one-sided tests at 5 % each, Schuirmann 1987): an interval that is too wide shows
//! neither.

use crate::estimate::Estimate;

/// Values of two set-ups, run by run, with the same seeds.
#[derive(Debug, Clone, Copy)]
pub struct Pair<'a> {
    /// The values of the set-up in question.
    pub new: &'a [f64],
    /// The values of the one that it is compared with.
    pub old: &'a [f64],
}

/// The answer of a comparison.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Comparison {
    /// The change from old to new with its interval, percent of old.
    pub change: Estimate,
    /// Whether the runs show it.
    pub holds: bool,
    /// Distance of the interval from the limit; above 0 where it holds. See [`margin`].
    pub margin: f64,
}

impl<'a> Pair<'a> {
    /// Values of both, in the order of their seeds.
    pub const fn new(new: &'a [f64], old: &'a [f64]) -> Self {
        Self { new, old }
    }

    /// The change from old to new, percent of old.
    ///
    /// # Panics
    /// If they are of different length or empty.
    pub fn change(&self) -> Estimate {
        assert_eq!(self.new.len(), self.old.len(), "paired runs");
        let changes: Vec<f64> = self.new.iter().zip(self.old).map(|(new, old)| 100.0 * (new / old - 1.0)).collect();
        Estimate::of(&changes)
    }

    /// New is less than old by at least this percentage of old.
    pub fn less(&self, least: f64) -> Comparison {
        let change = self.change();
        self.answer(change, margin(-change.high(), least))
    }

    /// New and old differ by less than this percentage of old.
    pub fn alike(&self, limit: f64) -> Comparison {
        let change = self.change();
        self.answer(change, -margin(change.low().abs().max(change.high().abs()), limit))
    }

    /// New and old differ by more than this percentage of old, in either direction.
    pub fn unlike(&self, limit: f64) -> Comparison {
        let change = self.change();
        self.answer(change, margin(change.low().max(-change.high()), limit))
    }

    /// One pair has no interval, so it shows nothing.
    fn answer(&self, change: Estimate, margin: f64) -> Comparison {
        let margin = if self.new.len() < 2 { margin.min(0.0) } else { margin };
        Comparison { change, holds: margin > 0.0, margin }
    }
}

/// How far a value lies above a limit, as a share of the larger of the two sizes: from -2 to 2, 0
/// at the limit. Margins of different quantities are of comparable size, so the least of them says
/// by how much a claim holds.
pub fn margin(value: f64, limit: f64) -> f64 {
    let size = value.abs().max(limit.abs());
    if size == 0.0 || value.is_nan() { 0.0 } else { (value - limit) / size }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLD: [f64; 4] = [10.0, 20.0, 30.0, 40.0];

    fn scaled(by: [f64; 4]) -> Vec<f64> {
        OLD.iter().zip(by).map(|(old, by)| old * by).collect()
    }

    #[test]
    fn an_effect_needs_its_whole_interval_beyond_the_least_one() {
        // Changes of -10, -11, -9, -10 %: mean -10, half 2.353·√(2/3)/2 = 0.96.
        let new = scaled([0.90, 0.89, 0.91, 0.90]);
        let pair = Pair::new(&new, &OLD);
        assert!((pair.change().mean + 10.0).abs() < 1e-9 && (pair.change().half - 0.96).abs() < 0.01);
        assert!(pair.less(9.0).holds && !pair.less(9.5).holds && !pair.less(11.0).holds);
        assert!(pair.less(5.0).margin > pair.less(8.0).margin);
        assert!(!Pair::new(&OLD, &new).less(0.0).holds, "the other direction");
    }

    #[test]
    fn no_difference_needs_its_whole_interval_within_the_limit() {
        let new = scaled([1.01, 0.99, 1.02, 0.98]);
        let pair = Pair::new(&new, &OLD);
        assert!(pair.alike(5.0).holds && !pair.alike(1.0).holds, "{pair:?}");
        assert!(!pair.unlike(0.5).holds);
        // Too much noise shows neither an effect nor its absence.
        let noisy = scaled([1.4, 0.7, 1.3, 0.6]);
        let pair = Pair::new(&noisy, &OLD);
        assert!(!pair.alike(10.0).holds && !pair.less(0.0).holds && !pair.unlike(5.0).holds);
    }

    #[test]
    fn one_pair_shows_nothing() {
        let pair = Pair::new(&[1.0], &[2.0]);
        assert!(!pair.less(10.0).holds && !Pair::new(&[1.0], &[1.0]).alike(10.0).holds);
    }

    #[test]
    fn margins_have_the_sign_of_the_answer() {
        assert!(margin(2.0, 1.0) > 0.0 && margin(1.0, 2.0) < 0.0 && margin(-1.0, 1.0) < 0.0);
        assert!(margin(0.0, 0.0) == 0.0 && margin(f64::NAN, 1.0) == 0.0);
        assert!((margin(3.0, 1.5) - 0.5).abs() < 1e-12);
    }
}
