//! The trials of a claim: its findings under all conditions, and the status that follows.
//!
//! One rule decides. A claim counts if it holds at the centre of the admissible set and with enough
//! of its points, whatever the seeds, and if at least one perturbation makes it fail.

use crate::conditions::Constants;
use crate::finding::{Finding, Status};
use crate::inputs::{Declaration, Role, Thresholds};
use crate::perturbation::Perturbation;
use numaestro_sim::stats::moments::{Moments, sorted};
use serde::{Deserialize, Serialize};

/// The answer of one trial; `None` where the claim could not be run or judged.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// Whether every demand holds.
    pub holds: bool,
    /// The least margin of its demands.
    pub margin: f64,
}

impl Answer {
    /// The answer of a finding, if it has demands to judge by.
    pub fn of(finding: &Finding) -> Option<Self> {
        (!finding.evidence.is_empty()).then(|| Self { holds: finding.holds(), margin: finding.margin() })
    }
}

/// The trials of a claim other than the one at the centre.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Trials {
    perturbed: Vec<(Perturbation, Option<Answer>)>,
    seeds: Vec<(u32, Option<Answer>)>,
    #[serde(skip)]
    draws: Vec<(Constants, Option<Answer>)>,
    /// Candidates that are not admissible.
    rejected: usize,
}

/// A constant, and how the claim's margin goes with it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Sensitivity {
    /// The constant.
    pub constant: String,
    /// Rank correlation (Spearman) of its value with the margin, -1 to 1.
    pub correlation: f64,
}

impl Trials {
    /// Adds the answer under a perturbation.
    pub fn perturbed(&mut self, by: Perturbation, answer: Option<Answer>) {
        self.perturbed.push((by, answer));
    }

    /// Adds the answer with another set of seeds.
    pub fn reseeded(&mut self, set: u32, answer: Option<Answer>) {
        self.seeds.push((set, answer));
    }

    /// Adds the answer at a point of the admissible set.
    pub fn drawn(&mut self, at: Constants, answer: Option<Answer>) {
        self.draws.push((at, answer));
    }

    /// Counts a candidate that is not admissible.
    pub fn rejected(&mut self) {
        self.rejected += 1;
    }

    /// Points at which the claim holds, and points in all.
    pub fn share(&self) -> (usize, usize) {
        let holding = self.draws.iter().filter(|(_, answer)| answer.is_some_and(|answer| answer.holds));
        (holding.count(), self.draws.len())
    }

    /// The perturbations under which the claim held, or could not be judged.
    pub fn survived(&self) -> Vec<Perturbation> {
        let survived = self.perturbed.iter().filter(|(_, answer)| answer.is_none_or(|answer| answer.holds));
        survived.map(|(perturbation, _)| *perturbation).collect()
    }

    /// The perturbations under which the claim failed.
    pub fn failed(&self) -> Vec<Perturbation> {
        let failed = self.perturbed.iter().filter(|(_, answer)| answer.is_some_and(|answer| !answer.holds));
        failed.map(|(perturbation, _)| *perturbation).collect()
    }

    /// The constants that vary, from the one with which the margin changes most.
    pub fn sensitivity(&self) -> Vec<Sensitivity> {
        let judged: Vec<(&Constants, f64)> =
            self.draws.iter().filter_map(|(at, answer)| Some((at, (*answer)?.margin))).collect();
        let Some((first, _)) = judged.first() else { return Vec::new() };
        let margins: Vec<f64> = judged.iter().map(|(_, margin)| *margin).collect();
        let mut found: Vec<Sensitivity> = Vec::new();
        for (name, _) in first.iter() {
            let values: Vec<f64> = judged.iter().filter_map(|(at, _)| at.get(name)).collect();
            if let Some(correlation) = rank_correlation(&values, &margins) {
                found.push(Sensitivity { constant: name.to_owned(), correlation });
            }
        }
        found.sort_by(|a, b| b.correlation.abs().total_cmp(&a.correlation.abs()).then(a.constant.cmp(&b.constant)));
        found
    }

    /// The status of a claim: of its finding at the centre, its declaration and its trials.
    pub fn status(&self, centre: &Finding, declaration: &Declaration, inputs: &str, thresholds: &Thresholds) -> Status {
        if centre.status != Status::Reproduced && !matches!(centre.status, Status::Fitted(_)) {
            return centre.status.clone();
        }
        match &declaration.role {
            Role::Input => return Status::Input(inputs.to_owned()),
            Role::Identity(file) => return Status::Identity(file.clone()),
            Role::Duplicate(of) => return Status::Duplicate(of.clone()),
            Role::Prediction if centre.status != Status::Reproduced => return centre.status.clone(),
            Role::Prediction => {}
        }
        let (holding, points) = self.share();
        if points == 0 && self.rejected > 0 {
            return Status::NotReproduced(format!(
                "none of {} candidates for the constants is admissible",
                self.rejected
            ));
        }
        if (holding as f64) < thresholds.share * points as f64 {
            let needed = 100.0 * thresholds.share;
            let reason = format!(
                "it holds at the centre, but at {holding} of {points} admissible points only ({needed:.0} % needed)"
            );
            return Status::NotReproduced(reason);
        }
        let others: Vec<String> =
            self.seeds.iter().filter(|(_, answer)| !holds(*answer)).map(|(set, _)| set.to_string()).collect();
        if !others.is_empty() {
            return Status::Fragile(format!("it does not hold with set {} of the seeds", others.join(", ")));
        }
        if self.failed().is_empty() {
            let survived: Vec<&str> = self.perturbed.iter().map(|(perturbation, _)| perturbation.name()).collect();
            let reason = if survived.is_empty() {
                "no perturbation is known under which it fails".to_owned()
            } else {
                format!("it does not fail under {}", survived.join(", "))
            };
            return Status::NoPower(reason);
        }
        Status::Reproduced
    }
}

fn holds(answer: Option<Answer>) -> bool {
    answer.is_some_and(|answer| answer.holds)
}

/// Spearman's rank correlation; `None` where one of them does not vary.
fn rank_correlation(x: &[f64], y: &[f64]) -> Option<f64> {
    let (x, y) = (ranks(x), ranks(y));
    let (of_x, of_y) = (Moments::of(&x), Moments::of(&y));
    let (mean_x, mean_y) = (of_x.mean()?, of_y.mean()?);
    let spread = of_x.deviation()? * of_y.deviation()? * (x.len() as f64 - 1.0);
    let sum: f64 = x.iter().zip(&y).map(|(x, y)| (x - mean_x) * (y - mean_y)).sum();
    (spread > 0.0).then(|| sum / spread)
}

/// Ranks from 1; equal values share the mean of their ranks.
fn ranks(values: &[f64]) -> Vec<f64> {
    let order = sorted(values);
    let rank = |value: &f64| {
        let below = order.partition_point(|other| other < value);
        let upto = order.partition_point(|other| other <= value);
        (below + upto + 1) as f64 / 2.0
    };
    values.iter().map(rank).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::estimate::Estimate;
    use crate::finding::Judge;

    const THRESHOLDS: Thresholds = Thresholds { draws: 100, share: 0.6667, seed_sets: 5 };

    #[expect(clippy::unnecessary_wraps, reason = "as trials take it: None is a trial that did not run")]
    fn answer(holds: bool) -> Option<Answer> {
        Some(Answer { holds, margin: if holds { 0.1 } else { -0.1 } })
    }

    fn centre(holds: bool) -> Finding {
        let mut judge = Judge::new();
        judge.demand("it holds", "", Estimate::exact(1.0), holds);
        judge.verdict("")
    }

    fn prediction() -> Declaration {
        Declaration { role: Role::Prediction, must_fail: vec![Perturbation::EqualLatencies, Perturbation::OnePool] }
    }

    /// Trials with these answers under two perturbations, five sets of seeds, three points.
    fn trials(perturbed: [Option<Answer>; 2], seeds: [bool; 5], draws: [bool; 3]) -> Trials {
        let mut trials = Trials::default();
        trials.perturbed(Perturbation::EqualLatencies, perturbed[0]);
        trials.perturbed(Perturbation::OnePool, perturbed[1]);
        for (holds, set) in seeds.into_iter().zip(1..) {
            trials.reseeded(set, answer(holds));
        }
        for holds in draws {
            trials.drawn(Constants::default(), answer(holds));
        }
        trials
    }

    fn word(trials: &Trials) -> &'static str {
        trials.status(&centre(true), &prediction(), "", &THRESHOLDS).word()
    }

    #[test]
    fn a_claim_counts_only_if_a_perturbation_makes_it_fail() {
        let (always, thrice) = ([true; 5], [true; 3]);
        assert_eq!(word(&trials([answer(false), answer(true)], always, thrice)), "reproduced");
        let none = trials([answer(true), answer(true)], always, thrice);
        assert_eq!(word(&none), "no power");
        assert_eq!(none.survived(), [Perturbation::EqualLatencies, Perturbation::OnePool]);
        // What could not be run has shown nothing.
        assert_eq!(word(&trials([None, None], always, thrice)), "no power");
        assert_eq!(word(&Trials::default()), "no power");
    }

    #[test]
    fn other_seeds_and_other_constants_must_agree() {
        let fails = [answer(false), answer(false)];
        assert_eq!(word(&trials(fails, [true, true, false, true, true], [true; 3])), "fragile");
        // Two of three are two thirds, but less than 66.67 %.
        assert_eq!(word(&trials(fails, [true; 5], [true, true, false])), "not reproduced");
        let enough = Thresholds { share: 0.66, ..THRESHOLDS };
        let two = trials(fails, [true; 5], [true, true, false]);
        assert_eq!(two.status(&centre(true), &prediction(), "", &enough).word(), "reproduced");
    }

    #[test]
    fn without_an_admissible_point_nothing_is_shown() {
        let mut trials = trials([answer(false), answer(false)], [true; 5], [true; 3]);
        trials.draws.clear();
        assert_eq!(word(&trials), "reproduced", "no constant is open");
        trials.rejected();
        assert_eq!(word(&trials), "not reproduced");
    }

    #[test]
    fn the_role_comes_before_the_trials_and_a_miss_before_the_role() {
        let role = |role| Declaration { role, must_fail: Vec::new() };
        let status = |holds, role| Trials::default().status(&centre(holds), &role, "forks", &THRESHOLDS);
        assert_eq!(status(true, role(Role::Input)), Status::Input("forks".into()));
        assert_eq!(status(true, role(Role::Identity("x.toml".into()))), Status::Identity("x.toml".into()));
        assert_eq!(status(true, role(Role::Duplicate("B97-Fig1c".into()))).word(), "duplicate");
        assert_eq!(status(false, role(Role::Input)).word(), "not reproduced");
    }

    #[test]
    fn sensitivity_ranks_constants() {
        let mut trials = Trials::default();
        // The margin falls with b, a little with a; c never varies.
        for (a, b, margin) in [(1.0, 4.0, 0.1), (4.0, 3.0, 0.2), (2.0, 2.0, 0.3), (3.0, 1.0, 0.4)] {
            let at =
                [("a", a), ("b", b), ("c", 7.0)].map(|(name, value)| (name.to_owned(), value)).into_iter().collect();
            trials.drawn(at, Some(Answer { holds: true, margin }));
        }
        let found = trials.sensitivity();
        assert_eq!(found.iter().map(|one| one.constant.as_str()).collect::<Vec<_>>(), ["b", "a"]);
        assert!((found[0].correlation + 1.0).abs() < 1e-12);
        // Ranks 1 4 2 3 and 1 2 3 4: 1 - 6·(4+1+1)/(4·15) = 0.4.
        assert!((found[1].correlation - 0.4).abs() < 1e-12);
    }

    #[test]
    fn equal_values_share_their_ranks() {
        assert_eq!(ranks(&[5.0, 1.0, 5.0, 9.0]), [2.5, 1.0, 2.5, 4.0]);
    }
}
