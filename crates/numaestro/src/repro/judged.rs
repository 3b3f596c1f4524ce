//! A claim as it came out: its finding with the final status, and its trials.

use super::choose::Chosen;
use numaestro_repro::finding::Finding;
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
