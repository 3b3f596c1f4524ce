//! A claim of a paper: the paper's statement, and the tolerance within which our result agrees.

use crate::estimate::Estimate;
use crate::finding::Finding;
use crate::lab::{Lab, Trouble};
use numaestro_sim::read::Text;
use serde::Serialize;

/// A paper whose claims are checked.
#[derive(Debug, Clone, Copy)]
pub struct Paper {
    /// Its folder: `brecht1993-placement`.
    pub key: &'static str,
    /// The prefix of its claims: `B93`.
    pub short: &'static str,
    /// Author, title, venue, year.
    pub citation: &'static str,
    /// What was fixed before the claims were judged.
    pub basis: Basis,
    /// The claims, in the order of the paper.
    pub claims: &'static [Claim],
}

/// The file of a paper's inputs, and what it may speak of.
#[derive(Debug, Clone, Copy)]
pub struct Basis {
    /// The file's name and contents.
    pub file: Text<'static>,
    /// The constants that the paper's experiments ask the lab for.
    pub constants: &'static [&'static str],
    /// The rows that identify constants.
    pub rows: &'static [Row],
}

/// A row of a table or figure that identifies constants of the model. A row named as a claim makes
/// this claim an input.
#[derive(Debug, Clone, Copy)]
pub struct Row {
    /// Its name: a claim's id, or a word of its own.
    pub name: &'static str,
    /// The measured quantity, with its unit.
    pub quantity: &'static str,
    /// Our value.
    pub measure: fn(&Lab) -> Result<Estimate, Trouble>,
}

/// The kind of a finding. Neutral and negative ones count as much as positive ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Something helps, or is as the paper says.
    Positive,
    /// Something makes no difference.
    Neutral,
    /// Something does not help, or harms.
    Negative,
}

impl Kind {
    /// `+`, `0` or `-`.
    pub const fn sign(self) -> char {
        match self {
            Self::Positive => '+',
            Self::Neutral => '0',
            Self::Negative => '-',
        }
    }
}

/// One claim.
#[derive(Debug, Clone, Copy)]
pub struct Claim {
    /// `B93-Tab1.3`: paper and table, figure or word.
    pub id: &'static str,
    /// The kind of finding.
    pub kind: Kind,
    /// Machine, workload, policies, in words.
    pub setup: &'static str,
    /// The paper's value or words.
    pub reported: &'static str,
    /// The tolerance for our result, fixed before anything was run.
    pub tolerance: &'static str,
    /// Runs the experiments it needs and judges.
    pub check: fn(&Lab) -> Result<Finding, Trouble>,
}

impl Claim {
    /// The command with which a user sees it.
    pub fn command(&self) -> String {
        format!("numaestro repro run {}", self.id)
    }

    /// Runs the experiments it needs and judges; a claim that cannot be run is not reproduced.
    pub fn judge(&self, lab: &Lab) -> Finding {
        (self.check)(lab).unwrap_or_else(|trouble| Finding::failed(&trouble))
    }
}
