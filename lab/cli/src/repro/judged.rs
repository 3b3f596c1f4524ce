//! A claim as it came out: its finding with the final status, its trials, and what was measured of
//! it on a machine.

use super::choose::Chosen;
use numaestro_repro::finding::Finding;
use numaestro_repro::measured::{Measurements, Verdict};
use numaestro_repro::trials::Trials;
use numaestro_repro::{Status, Tally};

/// A claim, its finding and its trials.
#[derive(Debug)]
pub struct Judged {
    /// The claim and its paper.
    pub chosen: Chosen,
    /// The finding at the centre, with the status that follows from all trials.
    pub finding: Finding,
    /// The other trials.
    pub trials: Trials,
    /// What was measured of it, where the user has given measurements. It does not change the
    /// status of the finding.
    pub measured: Option<Verdict>,
}

/// What was measured with real programs, in words: the verdict, then one line for each quantity and
/// one for what this cannot show.
pub fn measured(judged: &Judged) -> Vec<(&'static str, String)> {
    let Some(verdict) = &judged.measured else { return Vec::new() };
    let because = if verdict.status.reason().is_empty() { "" } else { ": " };
    let noise = if verdict.noisy { ", and more than was allowed in some of these runs" } else { "" };
    let mut lines = vec![(
        "measured",
        format!(
            "{}{because}{}; others used up to {:.0} % of the machine{noise}",
            verdict.status.word(),
            verdict.status.reason(),
            verdict.foreign * 100.0,
        ),
    )];
    lines.extend(verdict.quantities.iter().map(|one| ("measured", one.line())));
    lines.push(("not shown", verdict.declared.cannot.to_owned()));
    lines
}

/// The count of what was measured.
pub fn measured_tally<'a>(judged: impl IntoIterator<Item = &'a Judged>) -> Tally {
    judged.into_iter().filter_map(|judged| Some(&judged.measured.as_ref()?.status)).collect()
}

/// The same in words, with the machine.
pub fn measured_summary<'a>(judged: impl IntoIterator<Item = &'a Judged>, measurements: &Measurements) -> String {
    let machine: Vec<String> = measurements.machine.iter().map(|(name, value)| format!("{name} {value}")).collect();
    let quick = if measurements.quick { " with fewer rounds than declared" } else { "" };
    format!("Measured with real programs{quick}: {} ({})", measured_tally(judged), machine.join("; "))
}

/// The count of their outcomes.
pub fn tally<'a>(judged: impl IntoIterator<Item = &'a Judged>) -> Tally {
    judged.into_iter().map(|judged| &judged.finding.status).collect()
}

/// The trials in words, one line for each kind that was run: points of the admissible set, what the
/// margin depends on, perturbations.
pub fn trials(judged: &Judged) -> Vec<(&'static str, String)> {
    let mut lines = Vec::new();
    let (holding, points) = judged.trials.share();
    if points > 0 {
        lines.push(("constants", format!("it holds at {holding} of {points} admissible points")));
    }
    let sensitivity = judged.trials.sensitivity();
    if !sensitivity.is_empty() {
        let ranked: Vec<String> =
            sensitivity.iter().map(|one| format!("{} ({:+.2})", one.constant, one.correlation)).collect();
        lines.push(("sensitive", format!("by rank correlation with its margin: {}", ranked.join(", "))));
    }
    let names = |list: Vec<numaestro_repro::Perturbation>| {
        list.into_iter().map(numaestro_repro::Perturbation::name).collect::<Vec<_>>().join(", ")
    };
    let (failed, survived) = (names(judged.trials.failed()), names(judged.trials.survived()));
    if !failed.is_empty() {
        lines.push(("power", format!("it fails, as it should, under {failed}")));
    }
    if !survived.is_empty() && judged.finding.status == Status::Reproduced {
        lines.push(("survives", format!("it should fail, but does not, under {survived}")));
    }
    lines
}
