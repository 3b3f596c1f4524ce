//! The finding on a claim: our values, each demand of the tolerance with its answer, and a status.

use crate::comparison::{Comparison, Pair, margin};
use crate::estimate::Estimate;
use crate::figure::Figure;
use crate::lab::Trouble;
use serde::Serialize;

/// The outcome of a claim. Only reproduced ones count.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "status", content = "reason", rename_all = "kebab-case")]
pub enum Status {
    /// Every demand of the tolerance holds.
    Reproduced,
    /// Some demands do not hold; the text names them, and the cause where one is known.
    NotReproduced(String),
    /// The claim cannot be judged here; the text says why.
    NotApplicable(String),
    /// Its rows identify constants of the model; the text names these.
    Input(String),
    /// It repeats a file that the model reads; the text names the file.
    Identity(String),
    /// It is judged by the same demands as the claim in the text.
    Duplicate(String),
    /// Every demand holds, and holds as well under each perturbation under which it should fail.
    NoPower(String),
    /// Another set of seeds gives another outcome; the text names the sets.
    Fragile(String),
    /// A constant was chosen with the outcome in sight, before the paper had a file of inputs.
    Fitted(String),
}

impl Status {
    /// The words of all outcomes, in the order in which counts name them.
    pub const WORDS: [&str; 9] = [
        "reproduced",
        "not reproduced",
        "not applicable",
        "input",
        "identity",
        "duplicate",
        "no power",
        "fragile",
        "fitted",
    ];

    /// Its place in [`Self::WORDS`].
    pub(crate) const fn number(&self) -> usize {
        match self {
            Self::Reproduced => 0,
            Self::NotReproduced(_) => 1,
            Self::NotApplicable(_) => 2,
            Self::Input(_) => 3,
            Self::Identity(_) => 4,
            Self::Duplicate(_) => 5,
            Self::NoPower(_) => 6,
            Self::Fragile(_) => 7,
            Self::Fitted(_) => 8,
        }
    }

    /// The word in tables.
    pub const fn word(&self) -> &'static str {
        Self::WORDS[self.number()]
    }

    /// The words that go with the status; empty for a reproduced claim.
    pub fn reason(&self) -> &str {
        match self {
            Self::Reproduced => "",
            Self::NotReproduced(reason)
            | Self::NotApplicable(reason)
            | Self::Input(reason)
            | Self::Identity(reason)
            | Self::Duplicate(reason)
            | Self::NoPower(reason)
            | Self::Fragile(reason)
            | Self::Fitted(reason) => reason,
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
    /// Whether some runs were cut off before the value was known, so that it is a lower bound.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub censored: bool,
}

/// One demand of the tolerance.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Demand {
    /// The condition: `I(MM) ≥ 45 %`.
    pub what: String,
    /// The paper's value; empty where it has no number.
    pub paper: String,
    /// Our value.
    pub ours: String,
    /// Whether it holds.
    pub holds: bool,
    /// Distance from the limit, not below 0 where it holds ([`margin`]); none where the demand is
    /// no comparison of numbers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub margin: Option<f64>,
    /// Our value minus the paper's, in the unit of both; none where the paper has no number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub residual: Option<f64>,
}

impl Demand {
    /// A demand with the paper's words and ours.
    #[allow(clippy::needless_pass_by_value)] // Texts, numbers and estimates alike, without a `&` at every call.
    pub fn new(what: impl Into<String>, paper: impl Into<String>, ours: impl ToString, holds: bool) -> Self {
        let (what, paper, ours) = (what.into(), paper.into(), ours.to_string());
        Self { what, paper, ours, holds, margin: None, residual: None }
    }

    /// The same demand with the distance from its limit.
    #[must_use]
    pub fn by(self, margin: f64) -> Self {
        Self { margin: Some(margin), ..self }
    }

    /// The margin; of a demand without one, 1 where it holds and -1 where it does not.
    pub fn distance(&self) -> f64 {
        self.margin.unwrap_or(if self.holds { 1.0 } else { -1.0 })
    }
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

    /// Whether every demand holds, and there is one.
    pub fn holds(&self) -> bool {
        !self.evidence.is_empty() && self.evidence.iter().all(|demand| demand.holds)
    }

    /// The least margin of all demands; -1 without a demand.
    pub fn margin(&self) -> f64 {
        self.evidence.iter().map(Demand::distance).min_by(f64::total_cmp).unwrap_or(-1.0)
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
        self.ours.push(Value { name: name.into(), unit, estimate, censored: false });
        self
    }

    /// Adds a value that is a lower bound, because some runs were cut off.
    pub fn censored(&mut self, name: impl Into<String>, unit: &'static str, estimate: Estimate) -> &mut Self {
        self.ours.push(Value { name: name.into(), unit, estimate, censored: true });
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
        self.evidence.push(Demand::new(what, paper, ours, holds));
        self
    }

    /// Adds a demand that has its own limit and margin.
    pub fn add(&mut self, demand: Demand) -> &mut Self {
        self.evidence.push(demand);
        self
    }

    /// Demands that new is less than old by at least this percentage of old, run by run.
    pub fn less(&mut self, what: impl Into<String>, paper: &str, pair: Pair<'_>, least: f64) -> &mut Self {
        self.compared(what.into(), paper, pair.less(least))
    }

    /// Demands that new and old differ by less than this percentage of old; beside it the control,
    /// two set-ups that are known to differ, must be told apart by the same limit. Without a
    /// control that differs, "no difference" would hold wherever nothing can be seen.
    pub fn alike(
        &mut self,
        what: impl Into<String>,
        paper: &str,
        pair: Pair<'_>,
        limit: f64,
        control: (&str, Pair<'_>),
    ) -> &mut Self {
        self.compared(what.into(), paper, pair.alike(limit));
        let (what, pair) = control;
        self.compared(format!("control: {what} differ by more than {limit} %"), "", pair.unlike(limit))
    }

    /// Demands that the whole interval is at least at this limit.
    pub fn at_least(&mut self, what: impl Into<String>, paper: &str, ours: Estimate, limit: f64) -> &mut Self {
        self.evidence.push(Demand::new(what, paper, ours, ours.low() >= limit).by(margin(ours.low(), limit)));
        self
    }

    /// Demands that the whole interval is at most at this limit.
    pub fn at_most(&mut self, what: impl Into<String>, paper: &str, ours: Estimate, limit: f64) -> &mut Self {
        self.evidence.push(Demand::new(what, paper, ours, ours.high() <= limit).by(-margin(ours.high(), limit)));
        self
    }

    /// Demands that the whole interval is within this distance of the number that the paper prints.
    pub fn near(&mut self, what: impl Into<String>, printed: f64, ours: Estimate, tolerance: f64) -> &mut Self {
        let residual = ours.mean - printed;
        let farthest = residual.abs() + ours.half;
        let demand = Demand::new(what, printed.to_string(), ours, farthest <= tolerance);
        let demand = demand.by(-margin(farthest, tolerance));
        self.evidence.push(Demand { residual: Some(residual), ..demand });
        self
    }

    fn compared(&mut self, what: String, paper: &str, found: Comparison) -> &mut Self {
        let shown = format!("{} %", found.change);
        self.evidence.push(Demand::new(what, paper, shown, found.holds).by(found.margin));
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

    #[test]
    fn the_least_margin_is_the_claim_s() {
        let mut judge = Judge::new();
        judge.at_least("a", "", Estimate::exact(3.0), 1.0).at_most("b", "", Estimate::exact(3.0), 4.0);
        judge.near("c", 10.0, Estimate::exact(9.0), 2.0).demand("d", "", "", true);
        let finding = judge.verdict("");
        assert!(finding.holds() && (finding.margin() - 0.25).abs() < 1e-12, "{finding:?}");
        assert_eq!(finding.evidence[2].residual, Some(-1.0));
        assert!(!Judge::new().verdict("").holds(), "nothing was demanded");
    }

    #[test]
    fn no_difference_where_nothing_can_be_seen_fails() {
        let (flat, higher) = ([1.0, 1.001, 0.999], [1.5, 1.501, 1.499]);
        let judged = |control| {
            let mut judge = Judge::new();
            judge.alike("a", "same", Pair::new(&flat, &flat), 5.0, ("c", control));
            judge.holds()
        };
        assert!(judged(Pair::new(&higher, &flat)) && !judged(Pair::new(&flat, &flat)));
    }
}
