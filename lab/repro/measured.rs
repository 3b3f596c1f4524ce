//! Claims that were measured on a machine, beside the simulated ones.
//!
//! `numaestro bench claims` runs real programs and writes their samples into a file. This module
//! owns what was declared before the first run (`declared`), the reading of that file (`read`) and
//! the verdicts. A file holds samples only: whoever reads it judges them by the same declaration,
//! so that nobody can write a verdict.
//!
//! A claim is shown only if each of its quantities keeps its limit, and breaks it where the feature
//! is switched off. A quantity that keeps its limit without the feature has shown nothing.

mod declared;
mod median;
mod read;

pub use declared::{DECLARED, Declared, Limit, Quantity};
pub use median::MedianInterval;

use crate::finding::Status;
use serde::Serialize;

/// The samples of one quantity, a value for each round.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Samples {
    /// The quantity's name, as declared.
    pub name: String,
    /// With the feature.
    pub on: Vec<f64>,
    /// With the feature switched off.
    pub off: Vec<f64>,
}

/// What was measured of one claim.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Measured {
    /// The claim, as declared.
    pub claim: String,
    /// The reason why nothing could be measured; empty where something was.
    pub cause: String,
    /// Largest share of the machine (0 to 1) that others used in a run that counts.
    pub foreign: f64,
    /// Whether some of these runs had to count although others used too much of the machine.
    pub noisy: bool,
    /// One for each quantity, or none where there is a cause.
    pub samples: Vec<Samples>,
}

/// A file of measurements.
#[derive(Debug, Clone, PartialEq)]
pub struct Measurements {
    /// The machine, as (name, value) for people.
    pub machine: Vec<(String, String)>,
    /// Whether there were fewer rounds than declared.
    pub quick: bool,
    /// The claims.
    pub claims: Vec<Measured>,
}

/// One quantity with the medians of both sides.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MeasuredQuantity {
    /// What was declared of it.
    pub quantity: &'static Quantity,
    /// With the feature.
    pub on: MedianInterval,
    /// With the feature switched off.
    pub off: MedianInterval,
}

/// The verdict on one claim.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Verdict {
    /// What was declared.
    #[serde(skip)]
    pub declared: &'static Declared,
    /// The outcome: `reproduced`, `not reproduced`, `no power`, or `not applicable` where nothing
    /// could be measured.
    #[serde(flatten)]
    pub status: Status,
    /// Each quantity.
    pub quantities: Vec<MeasuredQuantity>,
    /// Largest share of the machine (0 to 1) that others used in a run that counts.
    pub foreign: f64,
    /// Whether some of these runs had to count although others used too much of the machine.
    pub noisy: bool,
}

impl Declared {
    /// The declaration for this claim, if it is measured at all.
    pub fn of(claim: &str) -> Option<&'static Self> {
        DECLARED.iter().find(|declared| declared.claim == claim)
    }

    /// The verdict on these samples.
    pub fn judge(&'static self, measured: &Measured) -> Verdict {
        let mut quantities = Vec::new();
        for quantity in self.quantities {
            let samples = measured.samples.iter().find(|samples| samples.name == quantity.name);
            let both = samples.map(|samples| (MedianInterval::of(&samples.on), MedianInterval::of(&samples.off)));
            if let Some((Some(on), Some(off))) = both {
                quantities.push(MeasuredQuantity { quantity, on, off });
            }
        }
        let status = if !measured.cause.is_empty() {
            Status::NotApplicable(measured.cause.clone())
        } else if quantities.len() < self.quantities.len() {
            Status::NotApplicable("some of its quantities have too few samples for an interval".to_owned())
        } else {
            status(&quantities)
        };
        Verdict { declared: self, status, quantities, foreign: measured.foreign, noisy: measured.noisy }
    }
}

impl Measurements {
    /// The verdict on a claim; `None` where the file says nothing of it.
    pub fn verdict(&self, claim: &str) -> Option<Verdict> {
        let measured = self.claims.iter().find(|measured| measured.claim == claim)?;
        Some(Declared::of(claim)?.judge(measured))
    }
}

impl MeasuredQuantity {
    /// `sor 1.004 (0.99 to 1.01), at most 1.02; off 1.08 (1.07 to 1.09)`.
    pub fn line(&self) -> String {
        let Self { quantity, on, off } = self;
        format!("{}: {on}{}, {}; off: {off}", quantity.name, quantity.unit, quantity.limit)
    }
}

/// The rule: every limit holds with its whole interval, and none holds with the feature off.
fn status(quantities: &[MeasuredQuantity]) -> Status {
    let names = |of: &dyn Fn(&MeasuredQuantity) -> bool| {
        quantities.iter().filter(|one| of(one)).map(|one| one.quantity.name).collect::<Vec<_>>().join(", ")
    };
    let missed = names(&|one| one.quantity.limit.breaks(&one.on));
    if !missed.is_empty() {
        return Status::NotReproduced(format!("beyond its limit: {missed}"));
    }
    let open = names(&|one| !one.quantity.limit.holds(&one.on));
    if !open.is_empty() {
        return Status::NotReproduced(format!("undecided, because the limit is within the interval: {open}"));
    }
    let blind = names(&|one| !one.quantity.limit.breaks(&one.off));
    if !blind.is_empty() {
        return Status::NoPower(format!("it does not break its limit with the feature switched off: {blind}"));
    }
    Status::Reproduced
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Eleven values around `centre`, a hundredth apart.
    fn around(centre: f64) -> Vec<f64> {
        (-5..=5).map(|step| centre + f64::from(step) * 0.01).collect()
    }

    fn measured(on: f64, off: f64) -> Measured {
        let samples = vec![Samples { name: "time".to_owned(), on: around(on), off: around(off) }];
        Measured { claim: "N-switch".to_owned(), cause: String::new(), foreign: 0.0, noisy: false, samples }
    }

    fn word(measured: &Measured) -> &'static str {
        Declared::of("N-switch").unwrap().judge(measured).status.word()
    }

    #[test]
    fn it_counts_only_what_holds_and_fails_without_the_feature() {
        assert_eq!(word(&measured(0.95, 1.10)), "reproduced");
        assert_eq!(word(&measured(0.95, 0.95)), "no power", "the feature off changes nothing");
        assert_eq!(word(&measured(1.10, 1.10)), "not reproduced");
        assert_eq!(word(&measured(1.02, 1.10)), "not reproduced", "the limit is within the interval");
        let open = Declared::of("N-switch").unwrap().judge(&measured(1.02, 1.10));
        assert!(open.status.reason().contains("undecided"), "{}", open.status.reason());
    }

    #[test]
    fn without_samples_there_is_a_cause() {
        let cause = "needs two processors".to_owned();
        let none = Measured { cause, samples: Vec::new(), ..measured(0.95, 1.10) };
        assert_eq!(word(&none), "not applicable");
        let mut few = measured(0.95, 1.10);
        few.samples[0].off.truncate(2);
        assert_eq!(word(&few), "not applicable");
    }

    #[test]
    fn every_declared_claim_is_a_claim_and_has_a_quantity() {
        for declared in &DECLARED {
            assert!(crate::claims().any(|(_, claim)| claim.id == declared.claim), "{}", declared.claim);
            assert!(!declared.quantities.is_empty() && declared.rounds >= declared.quick_rounds, "{}", declared.claim);
            assert!(MedianInterval::of(&vec![1.0; declared.quick_rounds as usize]).is_some(), "{}", declared.claim);
        }
    }
}
