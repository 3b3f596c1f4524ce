//! Compares mixes of programs as they were measured with the same mixes as they were simulated.
//!
//! A [`Cell`] is one mix under one policy: the times of some real runs, and of the simulated run.
//! Errors are those of the median of the real runs. Two policies are compared where their medians
//! differ by more than the noise of the runs: the simulator is right if it says the same order
//! ([`Pair`]).
//!
//! [`allocations`] compares how many processors applications have, and which, where no time counts.

pub mod allocations;
mod cell;
mod pair;

pub use cell::{Cell, Quantity, Times};
pub use pair::{LEAST_EFFECT, Pair};

use crate::stats::moments::{percentile, sorted};

/// Largest median of the errors, as a share of the measured value.
pub const MEDIAN_MOST: f64 = 0.10;
/// Largest 90th percentile of the errors.
pub const P90_MOST: f64 = 0.20;
/// Smallest share of pairs of policies whose order is right.
pub const RIGHT_LEAST: f64 = 0.90;

/// The errors of one quantity over many cells, as shares of the measured values.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct Errors {
    /// Their median.
    pub median: f64,
    /// Their 90th percentile.
    pub p90: f64,
    /// The largest.
    pub largest: f64,
}

/// All cells, and the conclusions from them.
#[derive(Debug, Clone, Default)]
pub struct Comparison {
    cells: Vec<Cell>,
}

impl Comparison {
    /// Cells without a real run say nothing, and are left out.
    pub fn new(cells: Vec<Cell>) -> Self {
        Self { cells: cells.into_iter().filter(|cell| !cell.runs.is_empty()).collect() }
    }

    /// The cells, in their order.
    pub fn cells(&self) -> &[Cell] {
        &self.cells
    }

    /// The errors of a quantity; `None` without cells.
    pub fn errors(&self, quantity: Quantity) -> Option<Errors> {
        let errors: Vec<f64> = self.cells.iter().map(|cell| cell.error(quantity).abs()).collect();
        let errors = sorted(&errors);
        Some(Errors { median: percentile(&errors, 0.5)?, p90: percentile(&errors, 0.9)?, largest: *errors.last()? })
    }

    /// Pairs of policies of the same mix that differ by more than the noise.
    pub fn pairs(&self) -> Vec<Pair> {
        let mut pairs = Vec::new();
        for (number, one) in self.cells.iter().enumerate() {
            for other in self.cells[number + 1..].iter().filter(|other| other.mix == one.mix) {
                pairs.extend(Quantity::ALL.iter().filter_map(|&quantity| Pair::of(one, other, quantity)));
            }
        }
        pairs
    }

    /// The share of those pairs whose order the simulator tells right; `None` without pairs.
    pub fn right(&self) -> Option<f64> {
        let pairs = self.pairs();
        let right = pairs.iter().filter(|pair| pair.is_right()).count();
        (!pairs.is_empty()).then(|| right as f64 / pairs.len() as f64)
    }

    /// Whether every bound holds. Without cells or pairs none does.
    pub fn holds(&self) -> bool {
        let near = |errors: Errors| errors.median <= MEDIAN_MOST && errors.p90 <= P90_MOST;
        Quantity::ALL.iter().all(|&quantity| self.errors(quantity).is_some_and(near))
            && self.right().is_some_and(|right| right >= RIGHT_LEAST)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// A cell with three real runs around `measured` milliseconds.
    fn cell(policy: &str, measured: u64, simulated: u64) -> Cell {
        let times = |makespan: u64| Times { makespan: makespan * MS, turnaround: makespan * MS / 2 };
        let runs = [measured - 1, measured, measured + 2].map(times).to_vec();
        Cell { mix: "m".to_owned(), policy: policy.to_owned(), runs, simulated: times(simulated) }
    }

    #[test]
    fn errors_and_order_of_a_good_simulation() {
        let good = Comparison::new(vec![cell("a", 1000, 1050), cell("b", 1500, 1480), cell("c", 1010, 1040)]);
        let errors = good.errors(Quantity::Makespan).expect("cells");
        assert!((errors.median - 0.0297).abs() < 1e-3 && errors.largest < 0.051, "{errors:?}");
        let pairs = good.pairs();
        assert_eq!(pairs.len(), 4, "a and c differ by less than the least effect: {pairs:?}");
        assert!(good.holds());
    }

    #[test]
    fn a_simulation_with_twice_the_work_fails() {
        let twice = Comparison::new(vec![cell("a", 1000, 2100), cell("b", 1500, 2960)]);
        assert!(!twice.holds() && twice.right() == Some(1.0));
    }

    #[test]
    fn a_simulation_that_sees_no_difference_between_policies_fails() {
        let blind = Comparison::new(vec![cell("a", 1000, 1080), cell("b", 1150, 1080)]);
        assert!(blind.errors(Quantity::Makespan).is_some_and(|errors| errors.median < 0.1));
        assert_eq!(blind.right(), Some(0.0));
        assert!(!blind.holds());
    }

    #[test]
    fn nothing_holds_nothing() {
        let empty = Comparison::new(vec![Cell { runs: Vec::new(), ..cell("a", 10, 10) }]);
        assert!(empty.cells().is_empty() && !empty.holds() && empty.right().is_none());
    }
}
