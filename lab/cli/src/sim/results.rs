//! All runs of a campaign, by cell (a policy at a point of the parameters) and seed, and the
//! comparisons of policies.

use super::metric::{METRICS, samples};
use super::summary::Summary;
use numaestro_sim::stats::paired::{self, Difference, Ratio};
use numaestro_sim::stats::{holm, paired::difference};
use serde::{Deserialize, Serialize};

/// Rate of any false alarm at which a difference is marked.
pub const ALARM: f64 = 0.05;

/// A policy at a point of the parameters.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Cell {
    /// Parameters and their values, in the order of the sweep; empty without a sweep.
    pub parameters: Vec<(String, String)>,
    /// The policy's text.
    pub policy: String,
}

impl Cell {
    /// `machine.delay=4 workload.load=0.8`; empty without parameters.
    pub fn point(&self) -> String {
        let words: Vec<String> = self.parameters.iter().map(|(name, value)| format!("{name}={value}")).collect();
        words.join(" ")
    }
}

/// Everything that has run.
#[derive(Debug, Clone, PartialEq)]
pub struct Results {
    /// Point by point, at each all policies in the same order.
    pub cells: Vec<Cell>,
    /// The runs of each cell, in order of seeds.
    pub runs: Vec<Vec<Summary>>,
    /// Confidence of intervals.
    pub level: f64,
}

/// One policy against the baseline at the same point, by mean response time.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Comparison {
    /// The index of the cell.
    pub cell: usize,
    /// The baseline's cell.
    pub baseline: usize,
    /// Response time in seconds: this policy's less the baseline's. `None` with one seed.
    pub difference_s: Option<Difference>,
    /// Response time over the baseline's.
    pub ratio: Option<Ratio>,
    /// Probability of such a difference without any, corrected for the number of comparisons (Holm
    /// 1979).
    pub p_holm: Option<f64>,
    /// It is below 0.05.
    pub real: bool,
}

impl Results {
    /// Each cell's number of the same point under `baseline`.
    pub fn baseline_of(&self, cell: usize, baseline: &str) -> Option<usize> {
        let point = &self.cells[cell].parameters;
        self.cells.iter().position(|other| other.parameters == *point && other.policy == baseline)
    }

    /// All policies but the baseline, at all points.
    pub fn comparisons(&self, baseline: &str) -> Vec<Comparison> {
        let pairs = (0..self.cells.len()).filter_map(|cell| Some((cell, self.baseline_of(cell, baseline)?)));
        let mut all: Vec<Comparison> =
            pairs.filter(|(cell, base)| cell != base).map(|(cell, base)| self.comparison(cell, base)).collect();
        let tested: Vec<(usize, f64)> =
            all.iter().enumerate().filter_map(|(at, one)| Some((at, one.difference_s?.p))).collect();
        let corrected = holm::adjusted(&tested.iter().map(|&(_, p)| p).collect::<Vec<_>>());
        for ((at, _), p) in tested.into_iter().zip(corrected) {
            (all[at].p_holm, all[at].real) = (Some(p), p <= ALARM);
        }
        all
    }

    fn comparison(&self, cell: usize, baseline: usize) -> Comparison {
        let of = METRICS[0].of;
        let (here, there) = (samples(&self.runs[cell], of), samples(&self.runs[baseline], of));
        // With more seeds of one than of the other (a stopped run), the common ones.
        let both = here.len().min(there.len());
        Comparison {
            cell,
            baseline,
            difference_s: difference(&here[..both], &there[..both], self.level),
            ratio: paired::ratio(&here[..both], &there[..both], self.level),
            p_holm: None,
            real: false,
        }
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// A run with this response time.
    pub fn run(seed: u64, response_s: f64) -> Summary {
        let outcome = super::super::summary::tests::outcome(vec![]);
        let mut summary = Summary::of(&outcome, seed, 0.0, &numaestro_topology::PuSet::new());
        summary.response_s = response_s;
        summary
    }

    /// Two policies at two points, three seeds; the second is slower at the second point only.
    pub fn example() -> Results {
        let cell = |delay: &str, policy: &str| Cell {
            parameters: vec![("machine.delay".to_owned(), delay.to_owned())],
            policy: policy.to_owned(),
        };
        let runs = |times: [f64; 3]| (1..).zip(times).map(|(seed, time)| run(seed, time)).collect::<Vec<_>>();
        Results {
            cells: vec![cell("0", "equi"), cell("0", "dss"), cell("4", "equi"), cell("4", "dss")],
            runs: vec![
                runs([10.0, 20.0, 30.0]),
                runs([10.1, 19.9, 30.0]),
                runs([11.0, 21.0, 31.0]),
                runs([13.0, 23.1, 33.0]),
            ],
            level: 0.90,
        }
    }

    #[test]
    fn pairs_see_what_the_spread_of_seeds_hides() {
        let found = example().comparisons("equi");
        assert_eq!(found.iter().map(|one| (one.cell, one.baseline)).collect::<Vec<_>>(), [(1, 0), (3, 2)]);
        assert!(!found[0].real && found[1].real, "{found:?}");
        let difference = found[1].difference_s.expect("three pairs").interval;
        assert!((difference.mean - 2.033).abs() < 1e-3 && difference.half_width < 0.2, "{difference:?}");
        assert!(found[1].p_holm.expect("tested") >= found[1].difference_s.expect("three").p);
    }

    #[test]
    fn one_seed_is_no_test() {
        let mut results = example();
        results.runs.iter_mut().for_each(|runs| runs.truncate(1));
        assert!(results.comparisons("equi").iter().all(|one| one.difference_s.is_none() && !one.real));
        assert!(results.comparisons("nobody").is_empty());
    }

    #[test]
    fn points_are_named_by_their_parameters() {
        assert_eq!(example().cells[3].point(), "machine.delay=4");
    }
}
