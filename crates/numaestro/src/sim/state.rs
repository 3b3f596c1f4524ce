//! The state file of a comparison: its finished runs, so that it can be stopped and go on.

use super::results::Cell;
use super::summary::Summary;
use crate::finished::{Finished, Origin, Refusal, holds_work};
use crate::say::{self, Failure};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;

/// A state file of something else.
const REFUSAL: Refusal = Refusal {
    code: say::FAILED,
    changed: "the scenario, a file it names or a --set has changed since its runs were made",
    next: "remove the file to begin again, or name another one by --state",
};

/// A line of a comparison's state file.
#[derive(Serialize, Deserialize)]
struct Entry {
    #[serde(flatten)]
    cell: Cell,
    run: Summary,
}

/// Runs by cell and seed.
pub type Done = BTreeMap<(Cell, u64), Summary>;

/// Begins a state file.
///
/// # Errors
/// If it exists and holds finished runs: they are not thrown away unasked.
pub fn begin(path: &Path, origin: &Origin) -> anyhow::Result<Finished> {
    if holds_work(path) {
        return Err(Failure::error(
            say::FAILED,
            format!("{} holds the finished runs of an earlier comparison", path.display()),
            "go on with them by --resume, or remove the file",
        ));
    }
    Finished::begin(path, origin)
}

/// Goes on with a state file, or begins it where there is none; gives its lines.
///
/// # Errors
/// Another scenario, another build, or no state file.
pub fn resume<E: DeserializeOwned>(path: &Path, origin: &Origin) -> anyhow::Result<(Finished, Vec<E>)> {
    Finished::resume(path, origin, &REFUSAL)
}

/// Goes on with the runs of a comparison, or begins it where there is none.
///
/// # Errors
/// As [`resume`].
pub fn resume_runs(path: &Path, origin: &Origin) -> anyhow::Result<(Finished, Done)> {
    let (state, entries) = resume::<Entry>(path, origin)?;
    Ok((state, entries.into_iter().map(|entry| ((entry.cell, entry.run.seed), entry.run)).collect()))
}

/// Adds a finished run.
pub fn add_run(state: &Finished, cell: &Cell, run: &Summary) -> anyhow::Result<()> {
    state.add(&Entry { cell: cell.clone(), run: run.clone() })
}

#[cfg(test)]
mod tests {
    use super::super::results::tests::example;
    use super::*;

    #[test]
    fn runs_that_were_written_are_there_again() {
        let place = tempfile::tempdir().expect("a directory");
        let path = place.path().join("x.jsonl");
        let origin = Origin::new(1).expect("this program");
        let results = example();
        let state = begin(&path, &origin).expect("begins");
        for (cell, runs) in results.cells.iter().zip(&results.runs) {
            for run in runs {
                add_run(&state, cell, run).expect("writes");
            }
        }
        let (_, done) = resume_runs(&path, &origin).expect("goes on");
        assert_eq!(done.len(), results.runs.iter().map(Vec::len).sum::<usize>());
        assert_eq!(done[&(results.cells[3].clone(), 2)], results.runs[3][1]);
        assert!(begin(&path, &origin).expect_err("refused").to_string().contains("finished runs"));
        let other = Origin::new(2).expect("this program");
        assert!(resume_runs(&path, &other).expect_err("refused").to_string().contains("has changed"));
    }
}
