//! Keeps finished runs in a file, so that a comparison can be stopped and go on: one JSON object a
//! line; the first names the program and the scenario.
//!
//! A line that was cut off by a crash is dropped; everything before it counts. Results that another
//! scenario or another build of this program has computed are refused: they would be mixed with
//! others unseen.

use super::results::Cell;
use super::summary::Summary;
use crate::say::{self, Failure};
use anyhow::Context;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// Version of the format.
const VERSION: u32 = 1;

/// The first line: the program and the scenario of the runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// [`VERSION`].
    pub numaestro_sim_state: u32,
    /// Fingerprint of the program that computed them.
    pub build: String,
    /// Fingerprint of the scenario with every file it names and every `--set`.
    pub scenario: String,
}

impl Origin {
    /// The origin with this program and a scenario's fingerprint.
    pub fn new(scenario: u64) -> anyhow::Result<Self> {
        let program = std::fs::read("/proc/self/exe").context("cannot read this program")?;
        let build = format!("{:016x}", fingerprint(&program));
        Ok(Self { numaestro_sim_state: VERSION, build, scenario: format!("{scenario:016x}") })
    }
}

/// Every further line.
#[derive(Serialize, Deserialize)]
struct Entry {
    #[serde(flatten)]
    cell: Cell,
    run: Summary,
}

/// Runs by cell and seed.
pub type Done = BTreeMap<(Cell, u64), Summary>;

/// An open state file.
#[derive(Debug)]
pub struct State {
    path: PathBuf,
    file: Mutex<File>,
}

impl State {
    /// Begins a new one.
    ///
    /// # Errors
    /// If it exists and holds finished runs: they are not thrown away unasked.
    pub fn begin(path: &Path, origin: &Origin) -> anyhow::Result<Self> {
        if std::fs::metadata(path).is_ok_and(|found| found.len() > 0) {
            return Err(Failure::error(
                say::FAILED,
                format!("{} holds the finished runs of an earlier comparison", path.display()),
                "go on with them by --resume, or remove the file",
            ));
        }
        let file = File::create(path).with_context(|| format!("cannot write {}", path.display()))?;
        let state = Self { path: path.to_owned(), file: Mutex::new(file) };
        state.write(&serde_json::to_string(origin)?)?;
        Ok(state)
    }

    /// Goes on with the runs of a comparison, or begins it where there is none.
    ///
    /// # Errors
    /// Another scenario, another build, or no state file.
    pub fn resume(path: &Path, origin: &Origin) -> anyhow::Result<(Self, Done)> {
        let (state, entries) = Self::resume_entries::<Entry>(path, origin)?;
        Ok((state, entries.into_iter().map(|entry| ((entry.cell, entry.run.seed), entry.run)).collect()))
    }

    /// Goes on with one whose lines are of any kind, or begins it where there is none.
    ///
    /// # Errors
    /// As [`Self::resume`].
    pub fn resume_entries<E: DeserializeOwned>(path: &Path, origin: &Origin) -> anyhow::Result<(Self, Vec<E>)> {
        let place = || format!("cannot go on with {}", path.display());
        if !std::fs::metadata(path).is_ok_and(|found| found.len() > 0) {
            return Ok((Self::begin(path, origin)?, Vec::new()));
        }
        let mut file = OpenOptions::new().read(true).write(true).open(path).with_context(place)?;
        let mut reader = BufReader::new(&file);
        let mut line = String::new();
        reader.read_line(&mut line).with_context(place)?;
        let found: Origin = serde_json::from_str(&line).map_err(|_| refused(path, "it is no state file"))?;
        if let Some(reason) = difference(&found, origin) {
            return Err(refused(path, reason));
        }
        let mut whole = line.len() as u64;
        let mut done = Vec::new();
        loop {
            line.clear();
            reader.read_line(&mut line).with_context(place)?;
            let Some(entry) = line.strip_suffix('\n').and_then(|entry| serde_json::from_str::<E>(entry).ok()) else {
                break;
            };
            whole += line.len() as u64;
            done.push(entry);
        }
        file.set_len(whole).with_context(place)?;
        file.seek(std::io::SeekFrom::End(0)).with_context(place)?;
        Ok((Self { path: path.to_owned(), file: Mutex::new(file) }, done))
    }

    /// Adds a finished run.
    pub fn add(&self, cell: &Cell, run: &Summary) -> anyhow::Result<()> {
        self.add_entry(&Entry { cell: cell.clone(), run: run.clone() })
    }

    /// Adds a line of any kind.
    pub fn add_entry(&self, entry: &impl Serialize) -> anyhow::Result<()> {
        self.write(&serde_json::to_string(entry)?)
    }

    /// Removes it: everything is in the results.
    pub fn remove(self) -> anyhow::Result<()> {
        std::fs::remove_file(&self.path).with_context(|| format!("cannot remove {}", self.path.display()))
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn write(&self, line: &str) -> anyhow::Result<()> {
        // One write for each line, so that only the last one can ever be cut off.
        let mut file = self.file.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        file.write_all(format!("{line}\n").as_bytes()).with_context(|| format!("cannot write {}", self.path.display()))
    }
}

fn difference(found: &Origin, wanted: &Origin) -> Option<&'static str> {
    if found.numaestro_sim_state != wanted.numaestro_sim_state {
        Some("it is of another version")
    } else if found.scenario != wanted.scenario {
        Some("the scenario, a file it names or a --set has changed since its runs were made")
    } else if found.build != wanted.build {
        Some("its runs were made by another build of numaestro")
    } else {
        None
    }
}

fn refused(path: &Path, reason: &str) -> anyhow::Error {
    let what = format!("cannot go on with {}: {reason}", path.display());
    Failure::error(say::FAILED, what, "remove the file to begin again, or name another one by --state")
}

/// FNV-1a over words of eight bytes.
pub fn fingerprint(bytes: &[u8]) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64 ^ bytes.len() as u64;
    for word in bytes.chunks(8) {
        let mut eight = [0; 8];
        eight[..word.len()].copy_from_slice(word);
        hash = (hash ^ u64::from_le_bytes(eight)).wrapping_mul(0x0000_0100_0000_01b3);
        hash ^= hash >> 29;
    }
    hash
}

#[cfg(test)]
mod tests {
    use super::super::results::tests::example;
    use super::*;

    fn origin() -> Origin {
        Origin { numaestro_sim_state: VERSION, build: "b".to_owned(), scenario: "s".to_owned() }
    }

    fn written(path: &Path) -> usize {
        let results = example();
        let state = State::begin(path, &origin()).expect("begins");
        for (cell, runs) in results.cells.iter().zip(&results.runs) {
            for run in runs {
                state.add(cell, run).expect("writes");
            }
        }
        results.runs.iter().map(Vec::len).sum()
    }

    #[test]
    fn what_was_written_is_there_again() {
        let place = tempfile::tempdir().expect("a directory");
        let path = place.path().join("x.jsonl");
        let count = written(&path);
        let (_, done) = State::resume(&path, &origin()).expect("goes on");
        assert_eq!(done.len(), count);
        let results = example();
        assert_eq!(done[&(results.cells[3].clone(), 2)], results.runs[3][1]);
    }

    #[test]
    fn a_line_that_was_cut_off_is_dropped_and_written_again() {
        let place = tempfile::tempdir().expect("a directory");
        let path = place.path().join("x.jsonl");
        let count = written(&path);
        let text = std::fs::read_to_string(&path).expect("readable");
        std::fs::write(&path, &text[..text.len() - 20]).expect("writable");
        let (state, done) = State::resume(&path, &origin()).expect("goes on");
        assert_eq!(done.len(), count - 1);
        let results = example();
        state.add(&results.cells[3], &results.runs[3][2]).expect("writes");
        assert_eq!(std::fs::read_to_string(&path).expect("readable"), text);
    }

    #[test]
    fn what_belongs_to_something_else_is_refused_with_the_reason() {
        let place = tempfile::tempdir().expect("a directory");
        let path = place.path().join("x.jsonl");
        written(&path);
        let reason = |origin: &Origin| State::resume(&path, origin).expect_err("refused").to_string();
        assert!(reason(&Origin { scenario: "t".to_owned(), ..origin() }).contains("has changed"));
        assert!(reason(&Origin { build: "c".to_owned(), ..origin() }).contains("another build"));
        assert!(State::begin(&path, &origin()).expect_err("refused").to_string().contains("finished runs"));
        std::fs::write(&path, "hello\n").expect("writable");
        assert!(reason(&origin()).contains("no state file"));
    }

    #[test]
    fn fingerprints_see_every_byte() {
        let all = [
            fingerprint(b""),
            fingerprint(b"\0"),
            fingerprint(b"abcdefgh"),
            fingerprint(b"abcdefgi"),
            fingerprint(b"abcdefgh\0"),
        ];
        let mut different = all.to_vec();
        different.sort_unstable();
        different.dedup();
        assert_eq!(different.len(), all.len());
    }
}
