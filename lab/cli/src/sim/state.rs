//! The state file of a comparison: its finished runs, so that it can be stopped and go on.

use super::results::Cell;
use super::summary::Summary;
use crate::finished::{Finished, Origin, Refusal, Source, holds_work};
use crate::say::{self, Failure};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry as Place;
use std::path::{Path, PathBuf};

/// A state file of something else.
const REFUSAL: Refusal = Refusal {
    code: say::FAILED,
    changed: "the scenario, a file it names or a --set has changed since its runs were made",
    next: "remove the file to begin again, or name another one by --state",
};

/// A state file of something else among those that are only read.
const OTHER: Refusal = Refusal {
    next: "all parts need the same build and the same scenario: leave the file out, or do its part again",
    ..REFUSAL
};

/// A line of a comparison's state file.
#[derive(Serialize, Deserialize)]
struct Entry {
    #[serde(flatten)]
    cell: Cell,
    run: Summary,
}

/// Where finished runs are kept.
#[derive(Clone, Copy)]
pub struct Kept<'a> {
    /// The state file.
    pub state: &'a Finished,
    /// What its runs are of.
    pub origin: &'a Origin,
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

/// Takes the finished runs of further state files: of parts of the comparison. Runs that are new go
/// into `state` too, so that nothing depends on the other files later.
///
/// # Errors
/// A file that is not there; as [`resume`]; files that disagree.
pub fn take(paths: &[PathBuf], origin: &Origin, done: &mut Done, state: Option<&Finished>) -> anyhow::Result<()> {
    for path in paths {
        if !path.exists() {
            let next = "name state files that `sim compare --state` has written";
            return Err(Failure::error(say::FAILED, format!("there is no {}", path.display()), next));
        }
        news(&mut Source::new(path.clone()), origin, done, state)?;
    }
    Ok(())
}

/// The number of runs that a state file has and `done` had not; they are in `done` and `state` now.
///
/// # Errors
/// As [`resume`]; results that differ from those of the same run in `done`.
pub fn news(source: &mut Source, origin: &Origin, done: &mut Done, state: Option<&Finished>) -> anyhow::Result<usize> {
    let mut new = 0;
    for Entry { cell, run } in source.news::<Entry>(origin, &OTHER)? {
        match done.entry((cell, run.seed)) {
            Place::Occupied(place) if *place.get() != run => {
                let (cell, seed) = place.key();
                let what = format!("policy {}, seed {seed}", cell.policy);
                return Err(Failure::error(
                    say::FAILED,
                    format!("{} has other results of {what} than a file before it", source.path().display()),
                    "the same run has the same results everywhere: find out which file was changed, and leave it out",
                ));
            }
            Place::Occupied(_) => {}
            Place::Vacant(place) => {
                if let Some(state) = state {
                    add_run(state, &place.key().0, &run)?;
                }
                place.insert(run);
                new += 1;
            }
        }
    }
    Ok(new)
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
        drop(state);
        let (_, done) = resume_runs(&path, &origin).expect("goes on");
        assert_eq!(done.len(), results.runs.iter().map(Vec::len).sum::<usize>());
        assert_eq!(done[&(results.cells[3].clone(), 2)], results.runs[3][1]);
        assert!(begin(&path, &origin).expect_err("refused").to_string().contains("finished runs"));
        let other = Origin::new(2).expect("this program");
        assert!(resume_runs(&path, &other).expect_err("refused").to_string().contains("has changed"));
    }

    #[test]
    fn runs_of_parts_come_together_unless_they_disagree() {
        let place = tempfile::tempdir().expect("a directory");
        let [one, two, all] = ["1", "2", "all"].map(|name| place.path().join(name));
        let origin = Origin::new(1).expect("this program");
        let results = example();
        let (first, second) = (&results.runs[0][0], &results.runs[0][1]);
        let write = |path: &Path, runs: &[&Summary]| {
            let state = Finished::begin(path, &origin).expect("begins");
            for run in runs {
                add_run(&state, &results.cells[0], run).expect("writes");
            }
        };
        write(&one, &[first]);
        write(&two, &[first, second]);
        let state = begin(&all, &origin).expect("begins");
        let mut done = Done::new();
        take(&[one.clone(), two.clone()], &origin, &mut done, Some(&state)).expect("they agree");
        drop(state);
        assert_eq!((done.len(), &resume_runs(&all, &origin).expect("goes on").1), (2, &done));
        write(&two, &[&Summary { response_s: 77.0, ..first.clone() }]);
        let error = take(&[one, two.clone()], &origin, &mut done, None).expect_err("they disagree").to_string();
        assert!(error.contains("seed 1") && error.contains(&two.display().to_string()), "{error}");
        assert!(take(&[place.path().join("no")], &origin, &mut done, None).is_err());
    }
}
