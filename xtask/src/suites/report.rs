//! What is said of all cases at the end.

use serde_json::{Value, json};

use super::recipe::Case;
use super::trial::{Trial, Verdict};

/// Counts, and what was found.
#[derive(Debug, Default)]
pub struct Report {
    seed: u64,
    built: u64,
    not_built: Vec<String>,
    same: u64,
    known: u64,
    fails_alone: Vec<String>,
    slow_alone: Vec<String>,
    runs: u64,
    changes: u64,
    unchanged: u64,
    found: Vec<Value>,
    /// Cases that there was no time for.
    pub left_out: u64,
}

impl Report {
    /// Empty.
    pub fn new(seed: u64) -> Self {
        Self { seed, ..Self::default() }
    }

    /// A program was built, or could not be.
    pub fn add_program(&mut self, case: &Case<'_>, built: bool) {
        if built {
            self.built += 1;
        } else {
            self.not_built.push(format!("{} {}", case.recipe.name, case.compiler));
        }
    }

    /// Takes a case. Says in a line what was found, if anything was; `known` is the cause of a
    /// known difference.
    pub fn add(&mut self, case: &Case<'_>, trial: &Trial, known: Option<&str>, by_hand: &str) -> Option<String> {
        self.runs += trial.runs;
        self.changes += trial.changes;
        self.unchanged += u64::from(trial.runs > 0 && trial.changes == 0);
        let (kind, what) = match &trial.verdict {
            Verdict::Same => {
                self.same += 1;
                return None;
            }
            Verdict::FailsAlone | Verdict::SlowAlone => {
                let failed = trial.verdict == Verdict::FailsAlone;
                let list = if failed { &mut self.fails_alone } else { &mut self.slow_alone };
                list.push(case.to_string());
                return None;
            }
            Verdict::Differs(what) => ("differs", what),
            Verdict::Fails(what) => ("fails", what),
            Verdict::Crashes(what) => ("crashes", what),
            Verdict::Hangs(what) => ("hangs", what),
        };
        self.known += u64::from(known.is_some());
        self.found.push(json!({
            "program": case.program(),
            "compiler": case.compiler.to_string(),
            "threads": case.threads(),
            "environment": case.recipe.said.runs[case.run].environment,
            "kind": kind,
            "what": what,
            "runs": trial.runs,
            "other": trial.other,
            "known": known,
            "build": by_hand,
        }));
        let first = if known.is_some() { "known" } else { "fault" };
        let of = if trial.runs > 1 { format!(" in {} of {} runs", trial.other, trial.runs) } else { String::new() };
        Some(format!(
            "{first} {case}: {kind}{of}: {what}{}",
            known.map(|cause| format!(" ({cause})")).unwrap_or_default()
        ))
    }

    /// Faults that are not known.
    pub fn faults(&self) -> u64 {
        self.found.len() as u64 - self.known
    }

    /// In words; the last line is for the one who counts tests.
    pub fn text(&self) -> String {
        let Self { seed, built, same, known, runs, changes, unchanged, .. } = self;
        let (not_built, fails_alone, slow_alone) =
            (self.not_built.len(), self.fails_alone.len(), self.slow_alone.len());
        let count = |kind: &str| self.found.iter().filter(|one| one["known"].is_null() && one["kind"] == kind).count();
        let (hangs, crashes, fails) = (count("hangs"), count("crashes"), count("fails"));
        let differs = count("differs");
        let left_out = if self.left_out > 0 { format!("; no time for {} more", self.left_out) } else { String::new() };
        format!(
            "suites: seed {seed}, {built} programs built, {not_built} not; {runs} managed runs, {changes} changes of \
             their processors, {unchanged} cases without one{left_out}\n\
             suites: {same} as alone, {hangs} hang, {crashes} crash, {fails} fail, {differs} differ, {known} known differences; not \
             counted: {fails_alone} that fail alone, {slow_alone} that take too long alone\n\
             {} passed, {} failed",
            same + known,
            self.faults()
        )
    }

    /// As JSON.
    pub fn json(&self) -> Value {
        json!({
            "seed": self.seed,
            "built": self.built,
            "not_built": self.not_built,
            "same": self.same,
            "known": self.known,
            "faults": self.faults(),
            "fails_alone": self.fails_alone,
            "slow_alone": self.slow_alone,
            "left_out": self.left_out,
            "runs": self.runs,
            "changes": self.changes,
            "unchanged": self.unchanged,
            "found": self.found,
        })
    }
}
