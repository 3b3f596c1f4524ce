//! The studies of the papers whose claims were chosen. All files of inputs are read before anything
//! is run.

use super::choose::Chosen;
use crate::finished::{Origin, fingerprint};
use crate::say::Failure;
use anyhow::Context;
use numaestro_repro::study::Extent;
use numaestro_repro::{Paper, Study};
use numaestro_sim::read::Text;
use std::fmt::Write;
use std::path::Path;

/// A file of inputs or measurements has a mistake, or is of another paper.
pub const WRONG_INPUTS: u8 = 4;

/// The papers of these claims, each once, in order.
pub fn papers(chosen: &[Chosen]) -> Vec<&'static Paper> {
    let mut papers: Vec<&'static Paper> = chosen.iter().map(|(paper, _)| *paper).collect();
    papers.dedup_by_key(|paper| paper.key);
    papers
}

/// The study of each paper, and the origin of their answers. `file` replaces the inputs of the only
/// paper.
pub fn studies(papers: &[&'static Paper], file: Option<&Path>, extent: Extent) -> anyhow::Result<(Vec<Study>, Origin)> {
    if file.is_some() && papers.len() != 1 {
        let what = "--inputs is the file of one paper, and claims of several were chosen";
        return Err(Failure::error(WRONG_INPUTS, what, "name the paper with --paper"));
    }
    let given =
        file.map(|file| std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display())));
    let given = given.transpose()?;
    let mut studies = Vec::new();
    let mut work = format!("{extent:?}");
    for paper in papers {
        let text = match (&given, file) {
            (Some(text), Some(file)) => Text { name: &file.display().to_string(), text },
            _ => paper.basis.file,
        };
        let study = Study::new(paper, text, extent);
        studies.push(study.map_err(|mistake| {
            Failure::error(WRONG_INPUTS, mistake.to_string(), "lab/repro/README.md explains files of inputs")
        })?);
        let _ = write!(work, ", {} inputs {}", paper.short, text.text);
    }
    Ok((studies, Origin::new(fingerprint(work.as_bytes()))?))
}
