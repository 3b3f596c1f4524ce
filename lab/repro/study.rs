//! The study of a paper: which claims are judged under which conditions.
//!
//! A study is a list of stages that do not depend on each other, so that they can be run in any
//! order, kept, and resumed. The stages of perturbations and seeds judge only claims that hold at
//! the centre: the others are not reproduced, whatever comes out.

use crate::claim::{Claim, Paper};
use crate::conditions::{Conditions, Constants, Seeds};
use crate::draws::{Fit, candidate, fits, is_admissible, strictest_first};
use crate::finding::{Finding, Status};
use crate::inputs::{Inputs, Role};
use crate::lab::{Lab, Statistics, Trouble};
use crate::perturbation::Perturbation;
use crate::trials::{Answer, Trials};
use numaestro_sim::read::{Mistake, Text};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// One part of a study.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// Every claim that must fail under this perturbation.
    Perturbed(Perturbation),
    /// Every prediction, with this set of seeds.
    Seeds(u32),
    /// Every prediction, with the constants of this candidate, if it is admissible.
    Draw(u32),
}

impl Stage {
    /// The name under which its answers are kept: `perturbed one-pool`, `seeds 3`, `draw 17`.
    pub fn name(self) -> String {
        match self {
            Self::Perturbed(perturbation) => format!("perturbed {}", perturbation.name()),
            Self::Seeds(set) => format!("seeds {set}"),
            Self::Draw(number) => format!("draw {number}"),
        }
    }
}

/// The answers of a stage.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Answers {
    /// Whether the candidate of a draw is admissible; true in other stages.
    pub admissible: bool,
    /// Answers by claim; `None` where the claim could not be judged.
    pub claims: BTreeMap<String, Option<Answer>>,
}

/// The results at the centre of the admissible set. They decide what the stages judge, and in which
/// order candidates are tried by the rows.
#[derive(Debug)]
pub struct Centre {
    findings: Vec<(&'static Claim, Finding)>,
    fits: Vec<Fit>,
}

impl Centre {
    /// Our value of each row that identifies constants; empty where an experiment cannot be run.
    pub fn fits(&self) -> &[Fit] {
        &self.fits
    }

    /// The findings.
    pub fn into_findings(self) -> Vec<(&'static Claim, Finding)> {
        self.findings
    }
}

/// How much of a study is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extent {
    /// Candidates for points of the admissible set.
    pub candidates: u32,
    /// Further sets of seeds.
    pub seed_sets: u32,
    /// Runs of each experiment at the centre and with other seeds; all other stages are quick.
    pub statistics: Statistics,
}

/// The study of one paper.
#[derive(Debug)]
pub struct Study {
    paper: &'static Paper,
    inputs: Inputs,
    extent: Extent,
}

impl Study {
    /// The study of a paper with a file of inputs: the paper's own (`paper.basis.file`), or
    /// another.
    ///
    /// # Errors
    /// The first mistake in the file.
    pub fn new(paper: &'static Paper, file: Text<'_>, extent: Extent) -> Result<Self, Mistake> {
        let inputs = Inputs::read(file, paper.basis.constants, paper.basis.rows, paper.claims)?;
        Ok(Self { paper, inputs, extent })
    }

    /// The paper.
    pub const fn paper(&self) -> &'static Paper {
        self.paper
    }

    /// The paper's inputs.
    pub const fn inputs(&self) -> &Inputs {
        &self.inputs
    }

    /// A lab at the centre of the admissible set.
    pub fn lab_at_the_centre(&self) -> Lab {
        self.lab(self.extent.statistics, &Conditions::default())
    }

    /// The results at the centre: these findings, made in this lab, and the rows. Rows are measured
    /// by quick statistics, for the centre and for candidates alike.
    pub fn centre(&self, lab: &Lab, findings: Vec<(&'static Claim, Finding)>) -> Centre {
        let fits = if lab.is_quick() { fits(lab, self.inputs.rows()) } else { self.fits(None) };
        Centre { findings, fits: fits.unwrap_or_default() }
    }

    /// Every constant at its centre, but for those that the conditions give.
    fn lab(&self, statistics: Statistics, conditions: &Conditions) -> Lab {
        let constants = self.inputs.centre();
        let given = |(name, value): (&str, f64)| (name.to_owned(), conditions.constants.get(name).unwrap_or(value));
        let constants = constants.iter().map(given).collect();
        Lab::under(statistics, Conditions { constants, ..*conditions })
    }

    /// Every stage that follows from the centre.
    pub fn stages(&self, centre: &Centre) -> Vec<Stage> {
        let mut stages: Vec<Stage> = Vec::new();
        for perturbation in Perturbation::ALL.map(|(_, perturbation, _)| perturbation) {
            let stage = Stage::Perturbed(perturbation);
            stages.extend((!self.judged(stage, centre).is_empty()).then_some(stage));
        }
        let predictions = !self.judged(Stage::Seeds(1), centre).is_empty();
        let sets = if predictions { self.extent.seed_sets } else { 0 };
        stages.extend((1..=sets).map(Stage::Seeds));
        let open = predictions && self.inputs.open().next().is_some();
        stages.extend((0..if open { self.extent.candidates } else { 0 }).map(Stage::Draw));
        stages
    }

    /// The claims that a stage judges: predictions that hold at the centre.
    pub fn judged(&self, stage: Stage, centre: &Centre) -> Vec<&'static Claim> {
        let meant = |claim: &Claim, finding: &Finding| {
            let declaration = self.inputs.declaration(claim.id);
            let named = match stage {
                Stage::Perturbed(perturbation) => declaration.must_fail.contains(&perturbation),
                Stage::Seeds(_) | Stage::Draw(_) => true,
            };
            named && declaration.role == Role::Prediction && finding.status == Status::Reproduced
        };
        let judged = centre.findings.iter().filter(|(claim, finding)| meant(claim, finding));
        judged.map(|(claim, _)| *claim).collect()
    }

    /// Runs a stage.
    pub fn run(&self, stage: Stage, centre: &Centre) -> Answers {
        let quick = Statistics::Quick;
        let lab = match stage {
            Stage::Perturbed(by) => self.lab(quick, &Conditions { perturbation: Some(by), ..Conditions::default() }),
            Stage::Seeds(set) => {
                self.lab(self.extent.statistics, &Conditions { seeds: Seeds::set(set), ..Conditions::default() })
            }
            Stage::Draw(number) => {
                self.lab(quick, &Conditions { constants: self.candidate(number), ..Conditions::default() })
            }
        };
        let lab = lab.without_figures();
        let rows = strictest_first(self.inputs.rows(), &centre.fits);
        let admissible = !matches!(stage, Stage::Draw(_)) || is_admissible(&lab, rows);
        let answer = |claim: &Claim| (claim.check)(&lab).ok().as_ref().and_then(Answer::of);
        let claims = if admissible { self.judged(stage, centre) } else { Vec::new() };
        Answers { admissible, claims: claims.iter().map(|claim| (claim.id.to_owned(), answer(claim))).collect() }
    }

    /// The constants of a candidate.
    pub fn candidate(&self, number: u32) -> Constants {
        candidate(&self.inputs, self.extent.candidates.max(1), number)
    }

    /// Our value of each row that identifies constants, with the constants of a candidate; without
    /// one, at the centre.
    ///
    /// # Errors
    /// An experiment cannot be run.
    pub fn fits(&self, number: Option<u32>) -> Result<Vec<Fit>, Trouble> {
        let constants = number.map(|number| self.candidate(number)).unwrap_or_default();
        fits(&self.lab(Statistics::Quick, &Conditions { constants, ..Conditions::default() }), self.inputs.rows())
    }

    /// The trials of a claim: its part of the answers of all stages.
    pub fn trials(&self, claim: &Claim, answers: &[(Stage, Answers)]) -> Trials {
        let mut trials = Trials::default();
        for (stage, answers) in answers {
            if !answers.admissible {
                trials.rejected();
            }
            let Some(answer) = answers.claims.get(claim.id) else { continue };
            match stage {
                Stage::Perturbed(perturbation) => trials.perturbed(*perturbation, *answer),
                Stage::Seeds(set) => trials.reseeded(*set, *answer),
                Stage::Draw(number) => trials.drawn(self.candidate(*number), *answer),
            }
        }
        trials
    }

    /// The status of a claim that follows from its finding at the centre and its trials.
    pub fn status(&self, claim: &Claim, centre: &Finding, trials: &Trials) -> Status {
        let inputs = format!("it identifies {}", self.inputs.identified_by(claim.id).join(", "));
        trials.status(centre, self.inputs.declaration(claim.id), &inputs, self.inputs.thresholds())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PAPERS;

    fn study(short: &str, candidates: u32) -> Study {
        let paper = PAPERS.into_iter().find(|paper| paper.short == short).unwrap();
        let extent = Extent { candidates, seed_sets: 2, statistics: Statistics::Quick };
        Study::new(paper, paper.basis.file, extent).unwrap_or_else(|mistake| panic!("{mistake}"))
    }

    #[test]
    fn every_paper_has_its_file_of_inputs() {
        for paper in PAPERS {
            let study = study(paper.short, 100);
            assert!(study.inputs().thresholds().draws >= 100, "{}", paper.key);
        }
    }

    #[test]
    fn candidates_cover_each_range_evenly_and_are_the_same_each_time() {
        let study = study("K", 100);
        for constant in study.inputs().open() {
            let (low, high) = constant.range;
            let mut parts: Vec<i64> = (0..100)
                .map(|number| study.candidate(number).get(&constant.name).unwrap())
                .map(|value| (100.0 * (value - low) / (high - low)).ceil() as i64)
                .collect();
            parts.sort_unstable();
            assert_eq!(parts, (1..=100).collect::<Vec<_>>(), "{}: one in each hundredth", constant.name);
        }
        assert_eq!(study.candidate(7), study.candidate(7));
        assert_ne!(study.candidate(7), study.candidate(107), "the next hypercube");
    }
}
