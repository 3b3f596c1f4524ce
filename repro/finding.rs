//! The finding on a claim: our values, each demand of the tolerance with its answer, and a status.

use crate::estimate::Estimate;
use crate::figure::Figure;
use crate::lab::Trouble;
use serde::Serialize;

/// The outcome of a claim.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "status", content = "reason", rename_all = "kebab-case")]
pub enum Status {
    /// Every demand of the tolerance holds.
    Reproduced,
    /// Some demands do not hold; the text names them and the reason that was found.
    NotReproduced(String),
    /// The claim cannot be judged here; the text says why.
    NotApplicable(String),
    /// The numbers of the claim were used to calibrate the model (the text names them): agreement
    /// proves nothing, so it does not count.
    Fitted(String),
}

impl Status {
    /// The word in tables.
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Reproduced => "reproduced",
            Self::NotReproduced(_) => "not reproduced",
            Self::NotApplicable(_) => "not applicable",
            Self::Fitted(_) => "fitted",
        }
    }

    /// The words that go with the status; empty for a reproduced claim.
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
    /// The measured quantity.
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
    /// The condition: `I(MM) ≥ 45 %`.
    pub what: String,
    /// The paper's value; empty where it has no number.
    pub paper: String,
    /// Our value.
    pub ours: String,
    /// Whether it holds.
    pub holds: bool,
}

/// The finding on one claim.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Finding {
    /// The outcome of the claim.
    #[serde(flatten)]
    pub status: Status,
    /// Our values, the most telling first.
    pub ours: Vec<Value>,
    /// The evidence: each demand with our value.
    pub evidence: Vec<Demand>,
    /// The paper's figure redrawn from our numbers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub figure: Option<Figure>,
}

impl Finding {
    /// The finding on a claim that could not be run.
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
    /// A judge without values and demands.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a value to show; the first one stands in tables.
    pub fn value(&mut self, name: impl Into<String>, unit: &'static str, estimate: Estimate) -> &mut Self {
        self.ours.push(Value { name: name.into(), unit, estimate });
        self
    }

    /// Adds a demand with the paper's number and ours.
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

    /// Sets the figure.
    pub fn figure(&mut self, figure: Figure) -> &mut Self {
        self.figure = Some(figure);
        self
    }

    /// Whether everything demanded so far holds.
    pub fn holds(&self) -> bool {
        self.evidence.iter().all(|demand| demand.holds)
    }

    /// The demands that do not hold, with our values.
    pub fn missed(&self) -> Vec<String> {
        let missed = self.evidence.iter().filter(|demand| !demand.holds);
        missed.map(|demand| format!("{} (ours: {})", demand.what, demand.ours)).collect()
    }

    /// Reproduced if every demand holds; else not reproduced, with the demands that do not hold and
    /// the reason that was found.
    pub fn verdict(self, reason: &str) -> Finding {
        let missed = self.missed();
        let status = match (missed.is_empty(), reason.is_empty()) {
            (true, _) => Status::Reproduced,
            (false, true) => Status::NotReproduced(missed.join("; ")),
            (false, false) => Status::NotReproduced(format!("{}. {reason}", missed.join("; "))),
        };
        self.with(status)
    }

    /// Fitted, by the numbers in `which`: the demands are shown, and prove nothing. If a demand
    /// fails, the finding is not reproduced, with the reason.
    pub fn fitted(self, which: &str, reason: &str) -> Finding {
        if self.holds() { self.with(Status::Fitted(which.to_owned())) } else { self.verdict(reason) }
    }

    /// A finding with the given status.
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
