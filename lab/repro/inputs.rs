//! A paper's file of inputs: all that was fixed before the predictions were run.
//!
//! It gives each constant of the model an origin: a document, rows of the paper that identify it,
//! or nothing but a range. It says what each claim is: a prediction with the perturbations under
//! which it must fail, an input, an identity or a duplicate. Reading is strict, so that no
//! constant, row or claim is half declared: the first mistake names its line and the expected
//! value.

mod read;

use crate::claim::Row;
use crate::conditions::Constants;
use crate::perturbation::Perturbation;
use serde::Serialize;
use std::collections::BTreeMap;

/// The thresholds of verdicts.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Thresholds {
    /// Points of the admissible set, at least 100.
    pub draws: u32,
    /// Share of these with which a claim must hold, 0 to 1.
    pub share: f64,
    /// Further sets of seeds that must give the same outcome, at least 5.
    pub seed_sets: u32,
}

/// The source of a constant's value.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Origin {
    /// A document prints it: which one, and where.
    Document(String),
    /// These rows of the paper identify it, by this rule.
    Rows {
        /// Names of rows.
        rows: Vec<String>,
        /// The rule in words.
        rule: String,
    },
    /// Nobody prints it: the reason for the range.
    Range(String),
}

/// A constant of the model.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Constant {
    /// The name by which experiments ask for it.
    pub name: String,
    /// Its unit; empty for a plain number.
    pub unit: String,
    /// The value at the centre.
    pub value: f64,
    /// Least and largest value; equal ones where a document fixes it.
    pub range: (f64, f64),
    /// The source of the value.
    pub origin: Origin,
}

/// The condition on which our value agrees with a row.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Agreement {
    /// Within a tolerance of the printed number.
    Near {
        /// The printed number.
        printed: f64,
        /// Largest distance from it.
        tolerance: f64,
    },
    /// At most this.
    AtMost(f64),
    /// At least this.
    AtLeast(f64),
}

impl Agreement {
    /// Our value minus the nearest value that agrees without tolerance; 0 where it agrees.
    pub fn residual(self, ours: f64) -> f64 {
        match self {
            Self::Near { printed, .. } => ours - printed,
            Self::AtMost(limit) => (ours - limit).max(0.0),
            Self::AtLeast(limit) => (ours - limit).min(0.0),
        }
    }

    /// Distance from agreement in units of the tolerance (of a bound: of its own size); it agrees
    /// at 1 or below.
    pub fn misfit(self, ours: f64) -> f64 {
        match self {
            Self::Near { tolerance, .. } => self.residual(ours).abs() / tolerance,
            Self::AtMost(limit) | Self::AtLeast(limit) if self.residual(ours) != 0.0 => {
                1.0 + self.residual(ours).abs() / limit.abs().max(f64::MIN_POSITIVE)
            }
            Self::AtMost(_) | Self::AtLeast(_) => 0.0,
        }
    }
}

/// A row of the paper that identifies constants.
#[derive(Debug, Clone)]
pub struct InputRow {
    /// How we measure it.
    pub row: &'static Row,
    /// When our value agrees.
    pub agreement: Agreement,
}

/// The nature of a claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Role {
    /// It follows from the inputs, and counts.
    Prediction,
    /// It identifies constants.
    Input,
    /// It repeats this file.
    Identity(String),
    /// It is judged by the same demands as this claim.
    Duplicate(String),
}

/// The declaration of a claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Declaration {
    /// Its nature.
    pub role: Role,
    /// The perturbations under which it must fail.
    pub must_fail: Vec<Perturbation>,
}

/// The inputs of a paper.
#[derive(Debug, Clone)]
pub struct Inputs {
    thresholds: Thresholds,
    constants: Vec<Constant>,
    rows: Vec<InputRow>,
    claims: BTreeMap<String, Declaration>,
}

impl Inputs {
    /// The thresholds of verdicts.
    pub const fn thresholds(&self) -> &Thresholds {
        &self.thresholds
    }

    /// Every constant.
    pub fn constants(&self) -> &[Constant] {
        &self.constants
    }

    /// The rows that identify constants.
    pub fn rows(&self) -> &[InputRow] {
        &self.rows
    }

    /// The declaration of a claim.
    ///
    /// # Panics
    /// If the paper has no such claim.
    pub fn declaration(&self, id: &str) -> &Declaration {
        &self.claims[id]
    }

    /// Names of the constants that a row identifies.
    pub fn identified_by(&self, row: &str) -> Vec<&str> {
        let those = self.constants.iter().filter(|constant| constant.identified_by(row));
        those.map(|constant| constant.name.as_str()).collect()
    }

    /// Every constant at its centre.
    pub fn centre(&self) -> Constants {
        self.constants.iter().map(|constant| (constant.name.clone(), constant.value)).collect()
    }

    /// The constants that have more than one admissible value.
    pub fn open(&self) -> impl Iterator<Item = &Constant> {
        self.constants.iter().filter(|constant| constant.range.0 < constant.range.1)
    }
}

impl Constant {
    fn identified_by(&self, row: &str) -> bool {
        matches!(&self.origin, Origin::Rows { rows, .. } if rows.iter().any(|known| known == row))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agreement_and_its_distance() {
        let near = Agreement::Near { printed: 4.0, tolerance: 0.5 };
        assert!((near.misfit(4.25) - 0.5).abs() < 1e-12 && (near.residual(3.0) + 1.0).abs() < 1e-12);
        assert!(Agreement::AtMost(2.0).misfit(1.0) == 0.0 && Agreement::AtMost(2.0).misfit(3.0) > 1.0);
        assert!(Agreement::AtLeast(2.0).misfit(2.0) == 0.0 && Agreement::AtLeast(2.0).misfit(1.0) > 1.0);
    }
}
