//! What was found about a claim: ours, each demand of the tolerance with its answer, and a status.
//! Knows nothing of how it is shown.

use crate::estimate::Estimate;
use crate::figure::Figure;
use crate::lab::Trouble;
use serde::Serialize;

/// How a claim came out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "status", content = "reason", rename_all = "kebab-case")]
pub enum Status {
    /// Every demand of the tolerance holds.
    Reproduced,
    /// Some do not; which, and the reason that was found.
    NotReproduced(String),
    /// It cannot be judged here, and why.
    NotApplicable(String),
    /// Its numbers were used to calibrate the model (which ones): agreement proves nothing, so it
    /// does not count.
    Fitted(String),
}

impl Status {
    /// For tables.
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Reproduced => "reproduced",
            Self::NotReproduced(_) => "not reproduced",
            Self::NotApplicable(_) => "not applicable",
            Self::Fitted(_) => "fitted",
        }
    }

    /// The words that go with it; empty for what is reproduced.
    pub fn reason(&self) -> &str {
        match self {
            Self::Reproduced => "",
            Self::NotReproduced(reason) | Self::NotApplicable(reason) | Self::Fitted(reason) => reason,
        }
    }
}

/// A value of ours.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Value {
    /// Of what.
    pub name: String,
    /// `%`, `s`, empty.
    pub unit: &'static str,
    /// Mean and interval.
    #[serde(flatten)]
    pub estimate: Estimate,
}

/// One demand of the tolerance.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Demand {
    /// What must hold: `I(MM) ≥ 45 %`.
    pub what: String,
    /// What the paper has there; empty where it has no number.
    pub paper: String,
    /// What we have.
    pub ours: String,
    /// Whether it holds.
    pub holds: bool,
}

/// What was found.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Finding {
    /// How it came out.
    #[serde(flatten)]
    pub status: Status,
    /// Ours, the most telling first.
    pub ours: Vec<Value>,
    /// The evidence: each demand with what we have.
    pub evidence: Vec<Demand>,
    /// The paper's figure redrawn from our numbers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub figure: Option<Figure>,
}

impl Finding {
    /// What could not be run.
    pub fn failed(trouble: &Trouble) -> Self {
        Self {
            status: Status::NotReproduced(format!("it could not be run: {trouble}")),
            ours: Vec::new(),
            evidence: Vec::new(),
            figure: None,
        }
    }
}

/// Collects values and demands on the way to a [`Finding`].
#[derive(Debug, Default)]
pub struct Judge {
    ours: Vec<Value>,
    evidence: Vec<Demand>,
    figure: Option<Figure>,
}

impl Judge {
    /// Nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// A value to show; the first is the one in tables.
    pub fn value(&mut self, name: impl Into<String>, unit: &'static str, estimate: Estimate) -> &mut Self {
        self.ours.push(Value { name: name.into(), unit, estimate });
        self
    }

    /// Something that must hold, with the paper's number and ours.
    #[allow(clippy::needless_pass_by_value)] // Texts, numbers and estimates alike, without a `&` at every call.
    pub fn demand(
        &mut self,
        what: impl Into<String>,
        paper: impl Into<String>,
        ours: impl ToString,
        holds: bool,
    ) -> &mut Self {
        self.evidence.push(Demand { what: what.into(), paper: paper.into(), ours: ours.to_string(), holds });
        self
    }

    /// The figure.
    pub fn figure(&mut self, figure: Figure) -> &mut Self {
        self.figure = Some(figure);
        self
    }

    /// Whether everything demanded so far holds.
    pub fn holds(&self) -> bool {
        self.evidence.iter().all(|demand| demand.holds)
    }

    /// What was demanded and does not hold, with what ours is.
    pub fn missed(&self) -> Vec<String> {
        let missed = self.evidence.iter().filter(|demand| !demand.holds);
        missed.map(|demand| format!("{} (ours: {})", demand.what, demand.ours)).collect()
    }

    /// Reproduced if every demand holds; else not, with those that do not and the reason that was
    /// found for it.
    pub fn verdict(self, reason: &str) -> Finding {
        let missed = self.missed();
        let status = match (missed.is_empty(), reason.is_empty()) {
            (true, _) => Status::Reproduced,
            (false, true) => Status::NotReproduced(missed.join("; ")),
            (false, false) => Status::NotReproduced(format!("{}. {reason}", missed.join("; "))),
        };
        self.with(status)
    }

    /// Fitted, by `which` numbers: the demands are shown, and prove nothing. If one fails, that is
    /// said instead, with the reason.
    pub fn fitted(self, which: &str, reason: &str) -> Finding {
        if self.holds() { self.with(Status::Fitted(which.to_owned())) } else { self.verdict(reason) }
    }

    /// With a status given.
    pub fn with(self, status: Status) -> Finding {
        Finding { status, ours: self.ours, evidence: self.evidence, figure: self.figure }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_missed_demand_is_enough() {
        let mut judge = Judge::new();
        judge.demand("a", "1", 1, true).demand("b", "2", 3, false);
        let finding = judge.verdict("because");
        assert_eq!(finding.status, Status::NotReproduced("b (ours: 3). because".to_owned()));
    }

    #[test]
    fn a_fit_that_misses_is_no_fit() {
        let mut judge = Judge::new();
        judge.demand("a", "1", 2, false);
        assert_eq!(judge.fitted("T(4)", "").status.word(), "not reproduced");
        assert_eq!(Judge::new().fitted("T(4)", "").status.word(), "fitted");
    }
}
