//! The output folder of `repro run`: answers of finished stages, so that a run that was interrupted
//! goes on, and the raw runs.
//!
//! Each finished stage is one line of `answers.jsonl`. A line says under which inputs and with
//! which version it was made. A folder of other inputs is refused: its answers are about another
//! model.

use crate::say::Failure;
use anyhow::Context;
use numaestro_repro::study::Answers;
use numaestro_repro::{Lab, Paper, Stage};
use serde::{Deserialize, Serialize};
use std::fmt::Write as _;
use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// The folder was made with other inputs.
const OTHER_INPUTS: u8 = 3;

/// The output folder.
#[derive(Debug)]
pub struct Kept {
    place: PathBuf,
    made_with: String,
    lines: Vec<Line>,
    answers: File,
}

/// One finished stage.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Line {
    made_with: String,
    paper: String,
    stage: String,
    #[serde(flatten)]
    answers: Answers,
}

impl Kept {
    /// Opens the folder, or makes it. `made_with` names everything that answers depend on.
    pub fn open(place: &Path, made_with: String) -> anyhow::Result<Self> {
        std::fs::create_dir_all(place).with_context(|| format!("cannot make {}", place.display()))?;
        let file = place.join("answers.jsonl");
        let mut lines: Vec<Line> = Vec::new();
        let text = std::fs::read_to_string(&file).unwrap_or_default();
        // The last line of an interrupted run may be cut off: its stage is run again.
        for line in text.split_inclusive('\n').filter(|line| line.ends_with('\n')) {
            lines.push(serde_json::from_str(line).with_context(|| format!("{} is damaged", file.display()))?);
        }
        if let Some(other) = lines.iter().find(|line| line.made_with != made_with) {
            let what = format!(
                "{} has answers made with {}, and this run is made with {made_with}",
                place.display(),
                other.made_with
            );
            return Err(Failure::error(OTHER_INPUTS, what, "choose another folder with --out, or remove this one"));
        }
        let whole: usize = text.rfind('\n').map_or(0, |end| end + 1);
        let answers = OpenOptions::new().create(true).append(true).open(&file);
        let answers = answers.with_context(|| format!("cannot write {}", file.display()))?;
        answers.set_len(whole as u64).with_context(|| format!("cannot write {}", file.display()))?;
        Ok(Self { place: place.to_owned(), made_with, lines, answers })
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
        let line = Line {
            made_with: self.made_with.clone(),
            paper: paper.key.to_owned(),
            stage: stage.name(),
            answers: answers.clone(),
        };
        let text = format!("{}\n", serde_json::to_string(&line)?);
        self.answers
            .write_all(text.as_bytes())
            .with_context(|| format!("cannot write into {}", self.place.display()))?;
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
    use numaestro_repro::{Answer, PAPERS};

    fn answers(holds: bool) -> Answers {
        let answer = Some(Answer { holds, margin: 0.125 });
        Answers { admissible: true, claims: [("K-Fig2b".to_owned(), answer), ("K-Fig2d".to_owned(), None)].into() }
    }

    #[test]
    fn a_finished_stage_is_found_again_and_a_cut_one_is_not() {
        let place = tempfile::tempdir().unwrap();
        let mut kept = Kept::open(place.path(), "a".into()).unwrap();
        kept.keep(PAPERS[2], Stage::Draw(3), &answers(true)).unwrap();
        kept.keep(PAPERS[2], Stage::Draw(4), &answers(false)).unwrap();
        let file = place.path().join("answers.jsonl");
        let text = std::fs::read_to_string(&file).unwrap();
        std::fs::write(&file, &text[..text.len() - 9]).unwrap();
        let mut again = Kept::open(place.path(), "a".into()).unwrap();
        assert_eq!(again.answers(PAPERS[2], Stage::Draw(3), &["K-Fig2b"]), Some(answers(true)));
        assert_eq!(again.answers(PAPERS[2], Stage::Draw(4), &["K-Fig2b"]), None);
        assert_eq!(again.answers(PAPERS[2], Stage::Draw(3), &["K-mech"]), None, "another claim");
        assert_eq!(again.answers(PAPERS[1], Stage::Draw(3), &["K-Fig2b"]), None, "another paper");
        again.keep(PAPERS[2], Stage::Draw(4), &answers(false)).unwrap();
        assert_eq!(std::fs::read_to_string(&file).unwrap(), text, "as if it had not been cut");
    }

    #[test]
    fn answers_of_other_inputs_are_refused() {
        let place = tempfile::tempdir().unwrap();
        Kept::open(place.path(), "a".into()).unwrap().keep(PAPERS[2], Stage::Seeds(1), &answers(true)).unwrap();
        let error = Kept::open(place.path(), "b".into()).unwrap_err();
        assert_eq!(error.downcast_ref::<Failure>().map(|failure| failure.code), Some(OTHER_INPUTS));
    }
}
