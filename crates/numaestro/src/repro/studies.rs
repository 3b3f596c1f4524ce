//! The studies of the papers whose claims were chosen. All files of inputs are read before anything
//! is run.

use super::choose::Chosen;
use crate::say::Failure;
use crate::sim::state::fingerprint;
use anyhow::Context;
use numaestro_repro::study::Extent;
use numaestro_repro::{Paper, Study};
use numaestro_sim::read::Text;
use std::fmt::Write;
use std::path::Path;

/// A file of inputs has a mistake, or names another paper.
const WRONG_INPUTS: u8 = 4;

/// The papers of these claims, each once, in order.
pub fn papers(chosen: &[Chosen]) -> Vec<&'static Paper> {
    let mut papers: Vec<&'static Paper> = chosen.iter().map(|(paper, _)| *paper).collect();
    papers.dedup_by_key(|paper| paper.key);
    papers
}

/// The study of each paper, and a text that changes with everything that the answers depend on.
/// `file` replaces the inputs of the only paper.
pub fn studies(papers: &[&'static Paper], file: Option<&Path>, extent: Extent) -> anyhow::Result<(Vec<Study>, String)> {
    if file.is_some() && papers.len() != 1 {
        let what = "--inputs is the file of one paper, and claims of several were chosen";
        return Err(Failure::error(WRONG_INPUTS, what, "name the paper with --paper"));
    }
    let given =
        file.map(|file| std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display())));
    let given = given.transpose()?;
    let mut studies = Vec::new();
    let mut made_with = format!("numaestro {}, {extent:?}", env!("CARGO_PKG_VERSION"));
    for paper in papers {
        let text = match (&given, file) {
            (Some(text), Some(file)) => Text { name: &file.display().to_string(), text },
            _ => paper.basis.file,
        };
        let study = Study::new(paper, text, extent);
        studies.push(study.map_err(|mistake| {
            Failure::error(WRONG_INPUTS, mistake.to_string(), "repro/README.md explains files of inputs")
        })?);
        let _ = write!(made_with, ", {} inputs {:016x}", paper.short, fingerprint(text.text.as_bytes()));
    }
    Ok((studies, made_with))
}
