//! Writes the findings as JSON. The same findings give the same bytes: no times, no host.

use super::choose::Chosen;
use super::judged::{Judged, measured_tally, tally};
use anyhow::Context;
use numaestro_repro::measured::{Measurements, Verdict};
use numaestro_repro::study::Extent;
use numaestro_repro::trials::{Sensitivity, Trials};
use numaestro_repro::{Kind, Lab, Statistics, claims as every_claim};
use serde::Serialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;

/// Claims without findings.
pub fn claims(chosen: &[Chosen]) -> Value {
    let claims: Vec<Value> = chosen
        .iter()
        .map(|(paper, claim)| {
            json!({
                "id": claim.id, "paper": paper.key, "citation": paper.citation, "kind": claim.kind,
                "setup": claim.setup, "reported": claim.reported, "tolerance": claim.tolerance,
                "command": claim.command(),
            })
        })
        .collect();
    json!({ "version": env!("CARGO_PKG_VERSION"), "claims": claims })
}

/// One claim as it came out.
#[derive(Serialize)]
struct Row<'a> {
    id: &'a str,
    paper: &'a str,
    kind: Kind,
    setup: &'a str,
    reported: &'a str,
    tolerance: &'a str,
    command: String,
    #[serde(flatten)]
    finding: &'a numaestro_repro::Finding,
    /// The least margin at the centre.
    margin: f64,
    /// Points at which it holds, and admissible points in all.
    points: (usize, usize),
    sensitivity: Vec<Sensitivity>,
    trials: &'a Trials,
    /// What was measured of it with real programs.
    #[serde(skip_serializing_if = "Option::is_none")]
    measured: Option<&'a Verdict>,
}

/// Claims with findings, and with what was measured of them.
pub fn findings(judged: &[Judged], extent: Extent, measurements: Option<&Measurements>) -> Value {
    let rows: Vec<Row<'_>> = judged
        .iter()
        .map(|Judged { chosen: (paper, claim), finding, trials, measured }| Row {
            id: claim.id,
            paper: paper.key,
            kind: claim.kind,
            setup: claim.setup,
            reported: claim.reported,
            tolerance: claim.tolerance,
            command: claim.command(),
            finding,
            margin: finding.margin(),
            points: trials.share(),
            sensitivity: trials.sensitivity(),
            trials,
            measured: measured.as_ref(),
        })
        .collect();
    let mut document = json!({
        "version": env!("CARGO_PKG_VERSION"),
        "statistics": if extent.statistics == Statistics::Full { "full" } else { "quick" },
        "first_seed": Lab::FIRST_SEED,
        "seed_sets": extent.seed_sets,
        "candidates": extent.candidates,
        "claims_in_all": every_claim().count(),
        "summary": tally(judged),
        "claims": rows,
    });
    if let Some(measurements) = measurements {
        let machine: BTreeMap<&str, &str> =
            measurements.machine.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        document["measured"] =
            json!({ "machine": machine, "quick": measurements.quick, "summary": measured_tally(judged) });
    }
    document
}

/// Says whether a file's name means standard output.
pub fn is_stdout(file: &Path) -> bool {
    file.as_os_str() == "-"
}

/// Writes a value.
pub fn write(file: &Path, value: &Value) -> anyhow::Result<()> {
    write_text(file, &format!("{}\n", serde_json::to_string_pretty(value)?))
}

/// Writes a text.
pub fn write_text(file: &Path, text: &str) -> anyhow::Result<()> {
    if is_stdout(file) {
        return crate::say::print(text);
    }
    std::fs::write(file, text).with_context(|| format!("cannot write {}", file.display()))
}
