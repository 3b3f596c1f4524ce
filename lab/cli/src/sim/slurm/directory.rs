//! The directory that the tasks of a comparison and the one who waits for them share: which jobs
//! were submitted, the state file of each task, its log.
//!
//! Each try of a task has a state file of its own. A node that Slurm takes for dead may still run
//! its task, and two writers would spoil one file.

use super::cluster::Job;
use crate::finished::Source;
use crate::say::{self, Failure};
use anyhow::Context;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Ending of the files with the jobs.
const JOB: &str = "job";
/// Ending of state files.
const STATE: &str = "jsonl";
/// Lines of a log that are shown.
const LOG_LINES: usize = 6;

/// The directory of a state file.
pub fn place(state: &Path) -> PathBuf {
    let mut name = state.as_os_str().to_owned();
    name.push(".slurm");
    name.into()
}

/// A job that was submitted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Submitted {
    /// As Slurm knows it.
    #[serde(flatten)]
    pub job: Job,
    /// The numbers of its tasks are parts of so many.
    pub parts: u32,
    /// Fingerprint of the list of runs that the parts share.
    pub runs: u64,
}

/// The directory, and its state files as far as they have been read.
#[derive(Debug)]
pub struct Directory {
    path: PathBuf,
    sources: BTreeMap<PathBuf, Source>,
}

impl Directory {
    /// Beside a state file; it is made where it is missing.
    pub fn beside(state: &Path) -> anyhow::Result<Self> {
        let path = std::path::absolute(place(state)).context("there is no current directory")?;
        fs::create_dir_all(&path).map_err(|error| {
            let what = format!("cannot make the directory {} for the tasks' files: {error}", path.display());
            Failure::error(say::FAILED, what, "name a state file elsewhere by --state, where the nodes can write too")
        })?;
        Ok(Self { path, sources: BTreeMap::new() })
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn entries(&self, ending: &str) -> anyhow::Result<Vec<PathBuf>> {
        let place = || format!("cannot read the directory {}", self.path.display());
        let all = fs::read_dir(&self.path).with_context(place)?;
        let paths = all.map(|entry| entry.map(|entry| entry.path())).collect::<Result<Vec<_>, _>>();
        let mut paths = paths.with_context(place)?;
        paths.retain(|path| path.extension().is_some_and(|found| found == ending));
        paths.sort();
        Ok(paths)
    }

    /// The jobs of this call and of earlier ones that have not been noted as ended.
    pub fn jobs(&self) -> anyhow::Result<Vec<Submitted>> {
        let texts = self.entries(JOB)?.into_iter().filter_map(|path| fs::read_to_string(path).ok());
        Ok(texts.filter_map(|text| serde_json::from_str(&text).ok()).collect())
    }

    fn file_of(&self, job: &Job) -> PathBuf {
        self.path.join(format!("{}.{JOB}", job.number))
    }

    /// Keeps a job, so that another call finds it.
    pub fn note(&self, submitted: &Submitted) -> anyhow::Result<()> {
        super::super::files::write(&self.file_of(&submitted.job), &serde_json::to_string(submitted)?)
    }

    /// A job has ended.
    pub fn forget(&self, job: &Job) {
        let _ = fs::remove_file(self.file_of(job));
    }

    /// All state files, to be read on from where they were.
    pub fn sources(&mut self) -> anyhow::Result<impl Iterator<Item = &mut Source>> {
        for path in self.entries(STATE)? {
            self.sources.entry(path.clone()).or_insert_with(|| Source::new(path));
        }
        Ok(self.sources.values_mut())
    }

    /// The state file of a task, as a shell's word that the task's own shell completes.
    pub fn state_word() -> String {
        format!("\"${{SLURM_ARRAY_JOB_ID}}_${{SLURM_ARRAY_TASK_ID}}.${{SLURM_RESTART_COUNT:-0}}.{STATE}\"")
    }

    /// The logs of an array job, as sbatch's --output takes it.
    pub fn log_pattern(&self) -> String {
        format!("{}/%A_%a.log", self.path.display().to_string().replace('%', "%%"))
    }

    /// The end of a task's log.
    pub fn log_end(&self, job: &Job, task: u32) -> String {
        let path = self.path.join(format!("{}_{task}.log", job.number));
        let Ok(text) = fs::read(&path) else {
            return format!("it has left no log {}: do all nodes share this directory?", path.display());
        };
        let text = String::from_utf8_lossy(&text).into_owned();
        let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
        if lines.is_empty() {
            return format!("it said nothing in {}", path.display());
        }
        let end = lines[lines.len().saturating_sub(LOG_LINES)..].join("\n  ");
        format!("the end of {}:\n  {end}", path.display())
    }

    /// Removes it if no task has ever used it.
    pub fn remove_if_empty(self) {
        let _ = fs::remove_dir(&self.path);
    }

    /// Everything in it has been taken over.
    pub fn remove(self) -> anyhow::Result<()> {
        fs::remove_dir_all(&self.path).with_context(|| format!("cannot remove {}", self.path.display()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_are_found_again_until_they_have_ended() {
        let place = tempfile::tempdir().expect("a directory");
        let directory = Directory::beside(&place.path().join("x.jsonl")).expect("makes it");
        let job = |number: &str| Job { number: number.to_owned(), cluster: None };
        for number in ["7", "12"] {
            directory.note(&Submitted { job: job(number), parts: 4, runs: 5 }).expect("writes");
        }
        directory.forget(&job("7"));
        let again = Directory::beside(&place.path().join("x.jsonl")).expect("is there");
        assert_eq!(again.jobs().expect("readable"), [Submitted { job: job("12"), parts: 4, runs: 5 }]);
        again.remove().expect("removes");
        assert_eq!(fs::read_dir(place.path()).expect("a directory").count(), 0);
    }

    #[test]
    fn the_end_of_a_log_says_where_it_is_from() {
        let place = tempfile::tempdir().expect("a directory");
        let directory = Directory::beside(&place.path().join("100%.jsonl")).expect("makes it");
        let job = Job { number: "7".to_owned(), cluster: None };
        assert!(directory.log_end(&job, 3).contains("do all nodes share"));
        let lines: Vec<String> = (0..100).map(|number| format!("line {number}\n\n")).collect();
        fs::write(directory.path().join("7_3.log"), lines.concat()).expect("writable");
        let end = directory.log_end(&job, 3);
        assert!(end.ends_with("line 98\n  line 99") && end.contains("7_3.log") && !end.contains("line 90"), "{end}");
        assert!(directory.log_pattern().ends_with("/100%%.jsonl.slurm/%A_%a.log"));
    }
}
