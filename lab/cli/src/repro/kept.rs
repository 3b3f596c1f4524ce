//! The output folder of `repro run`: answers of finished stages, so that a run that was interrupted
//! goes on, and the raw runs.
//!
//! `answers.jsonl` has a line for each finished stage. A folder of other inputs is refused: its
//! answers are about another model.

use crate::finished::{Finished, Origin, Refusal};
use anyhow::Context;
use numaestro_repro::study::Answers;
use numaestro_repro::{Lab, Paper, Stage};
use serde::{Deserialize, Serialize};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// The folder was made with other inputs.
const REFUSAL: Refusal = Refusal {
    code: 3,
    changed: "its answers were made with other papers, inputs or numbers of draws and seeds",
    next: "choose another folder with --out, or remove this one",
};

/// The output folder.
#[derive(Debug)]
pub struct Kept {
    place: PathBuf,
    lines: Vec<Line>,
    answers: Finished,
}

/// One finished stage.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Line {
    paper: String,
    stage: String,
    #[serde(flatten)]
    answers: Answers,
}

impl Kept {
    /// Opens the folder, or makes it. `origin` changes with everything that answers depend on.
    pub fn open(place: &Path, origin: &Origin) -> anyhow::Result<Self> {
        std::fs::create_dir_all(place).with_context(|| format!("cannot make {}", place.display()))?;
        let (answers, lines) = Finished::resume(&place.join("answers.jsonl"), origin, &REFUSAL)?;
        Ok(Self { place: place.to_owned(), lines, answers })
    }

    /// The answers of a stage that has been finished for all of these claims.
    pub fn answers(&self, paper: &Paper, stage: Stage, claims: &[&str]) -> Option<Answers> {
        let is = |line: &&Line| line.paper == paper.key && line.stage == stage.name();
        let has_all = |line: &&Line| {
            !line.answers.admissible || claims.iter().all(|claim| line.answers.claims.contains_key(*claim))
        };
        self.lines.iter().rev().filter(is).find(has_all).map(|line| line.answers.clone())
    }

    /// Keeps the answers of a stage.
    pub fn keep(&mut self, paper: &Paper, stage: Stage, answers: &Answers) -> anyhow::Result<()> {
        let line = Line { paper: paper.key.to_owned(), stage: stage.name(), answers: answers.clone() };
        self.answers.add(&line)?;
        self.lines.push(line);
        Ok(())
    }

    /// Writes the raw runs of labs, one line each.
    pub fn runs(&self, labs: &[(&Paper, Lab)]) -> anyhow::Result<()> {
        let file = self.place.join("runs.csv");
        std::fs::write(&file, csv(labs)).with_context(|| format!("cannot write {}", file.display()))
    }
}

/// One line for each run.
fn csv(labs: &[(&Paper, Lab)]) -> String {
    let mut text =
        String::from("paper,experiment,seed,end_s,jobs,mean_response_s,mean_execution_s,local_refs,remote_refs\n");
    for (paper, lab) in labs {
        for (name, outcomes) in lab.known() {
            for (outcome, seed) in outcomes.iter().zip(lab.first_seed()..) {
                let jobs = outcome.jobs.len();
                let mean = |of: &dyn Fn(usize) -> u64| {
                    (0..jobs).map(|job| of(job) as f64 / 1e9).sum::<f64>() / jobs.max(1) as f64
                };
                let _ = writeln!(
                    text,
                    "{},\"{}\",{seed},{},{jobs},{},{},{},{}",
                    paper.key,
                    name.replace('"', "\"\""),
                    outcome.end as f64 / 1e9,
                    mean(&|job| outcome.jobs[job].response()),
                    mean(&|job| outcome.jobs[job].ended - outcome.jobs[job].started),
                    outcome.jobs.iter().map(|job| job.local_refs).sum::<u64>(),
                    outcome.jobs.iter().map(|job| job.remote_refs).sum::<u64>(),
                );
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::say::Failure;
    use numaestro_repro::{Answer, PAPERS};

    fn answers(holds: bool) -> Answers {
        let answer = Some(Answer { holds, margin: 0.125 });
        Answers { admissible: true, claims: [("K-Fig2b".to_owned(), answer), ("K-Fig2d".to_owned(), None)].into() }
    }

    #[test]
    fn a_finished_stage_is_found_again() {
        let place = tempfile::tempdir().unwrap();
        let origin = Origin::new(1).unwrap();
        let mut kept = Kept::open(place.path(), &origin).unwrap();
        kept.keep(PAPERS[2], Stage::Draw(3), &answers(true)).unwrap();
        drop(kept);
        let again = Kept::open(place.path(), &origin).unwrap();
        assert_eq!(again.answers(PAPERS[2], Stage::Draw(3), &["K-Fig2b"]), Some(answers(true)));
        assert_eq!(again.answers(PAPERS[2], Stage::Draw(4), &["K-Fig2b"]), None);
        assert_eq!(again.answers(PAPERS[2], Stage::Draw(3), &["K-mech"]), None, "another claim");
        assert_eq!(again.answers(PAPERS[1], Stage::Draw(3), &["K-Fig2b"]), None, "another paper");
    }

    #[test]
    fn answers_of_other_inputs_are_refused() {
        let place = tempfile::tempdir().unwrap();
        let mut kept = Kept::open(place.path(), &Origin::new(1).unwrap()).unwrap();
        kept.keep(PAPERS[2], Stage::Seeds(1), &answers(true)).unwrap();
        drop(kept);
        let error = Kept::open(place.path(), &Origin::new(2).unwrap()).unwrap_err();
        assert_eq!(error.downcast_ref::<Failure>().map(|failure| failure.code), Some(REFUSAL.code));
    }
}
