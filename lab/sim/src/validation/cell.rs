//! One mix under one policy.

use crate::Nanos;
use crate::stats::moments::{percentile, sorted};
use serde::{Deserialize, Serialize};

/// 1.4826 times the median deviation estimates the standard deviation of normally spread samples.
const DEVIATION: f64 = 1.4826;
/// The median's standard error over the mean's: the square root of π / 2.
const OF_MEDIAN: f64 = 1.2533;

/// The quantities that are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Quantity {
    /// Time until the last program has ended.
    Makespan,
    /// Mean of the programs' turnarounds.
    Turnaround,
}

impl Quantity {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Makespan, Self::Turnaround];

    /// The word for people.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Makespan => "makespan",
            Self::Turnaround => "mean turnaround",
        }
    }
}

/// The times of one run of a mix.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Times {
    /// From the first arrival to the last end, nanoseconds.
    pub makespan: Nanos,
    /// Mean of the times from arrival to end, nanoseconds.
    pub turnaround: Nanos,
}

impl Times {
    /// The times of programs that arrived and ended then; `None` without programs.
    pub fn of(programs: &[(Nanos, Nanos)]) -> Option<Self> {
        let first = programs.iter().map(|(arrived, _)| *arrived).min()?;
        let last = programs.iter().map(|(_, ended)| *ended).max()?;
        let sum: Nanos = programs.iter().map(|(arrived, ended)| ended.saturating_sub(*arrived)).sum();
        Some(Self { makespan: last.saturating_sub(first), turnaround: sum / programs.len() as u64 })
    }

    /// One of them, nanoseconds.
    pub fn value(&self, quantity: Quantity) -> Nanos {
        match quantity {
            Quantity::Makespan => self.makespan,
            Quantity::Turnaround => self.turnaround,
        }
    }
}

/// See the file's header.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Cell {
    /// The mix.
    pub mix: String,
    /// The policy.
    pub policy: String,
    /// The real runs.
    pub runs: Vec<Times>,
    /// The simulated run.
    pub simulated: Times,
}

impl Cell {
    /// The median of the real runs, nanoseconds; 0 without runs.
    pub fn measured(&self, quantity: Quantity) -> f64 {
        median(&self.values(quantity))
    }

    /// The simulated value less the measured one, as a share of the latter.
    pub fn error(&self, quantity: Quantity) -> f64 {
        let measured = self.measured(quantity);
        if measured > 0.0 { self.simulated.value(quantity) as f64 / measured - 1.0 } else { 0.0 }
    }

    /// Standard error of the median of the real runs, as a share of it; 0 with one run.
    pub fn noise(&self, quantity: Quantity) -> f64 {
        let values = self.values(quantity);
        let centre = median(&values);
        let distances: Vec<f64> = values.iter().map(|value| (value - centre).abs()).collect();
        if centre <= 0.0 {
            return 0.0;
        }
        DEVIATION * OF_MEDIAN * median(&distances) / (libm::sqrt(values.len() as f64) * centre)
    }

    fn values(&self, quantity: Quantity) -> Vec<f64> {
        self.runs.iter().map(|run| run.value(quantity) as f64).collect()
    }
}

fn median(values: &[f64]) -> f64 {
    percentile(&sorted(values), 0.5).unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_of_arrivals_and_ends() {
        assert_eq!(Times::of(&[(10, 110), (30, 60)]), Some(Times { makespan: 100, turnaround: 65 }));
        assert_eq!(Times::of(&[]), None);
    }

    #[test]
    fn the_noise_falls_with_more_runs() {
        let of = |makespans: &[u64]| Cell {
            mix: String::new(),
            policy: String::new(),
            runs: makespans.iter().map(|&makespan| Times { makespan, turnaround: 1 }).collect(),
            simulated: Times { makespan: 1, turnaround: 1 },
        };
        let few = of(&[900, 1000, 1100]).noise(Quantity::Makespan);
        let many = of(&[900, 1000, 1100].repeat(4)).noise(Quantity::Makespan);
        assert!((few / many - 2.0).abs() < 1e-9 && (0.10..0.12).contains(&few), "{few} {many}");
        assert!(of(&[1000]).noise(Quantity::Makespan) == 0.0);
    }
}
