//! Runs a command alone under a manager, on several numbers of processors.
//!
//! The median of the runs on a number of processors counts. Two further runs on all of them tell
//! what the program says of itself: one the number of regions, because asking the manager takes
//! time and so this run's length does not count, and one under `pdpa` its reports of its own
//! speedup, if its teams may follow its processors.

use super::recorded;
use super::watch::{nanos, samples};
use crate::bench::launch;
use crate::bench::load::{self, Gate, Reading, Window};
use crate::bench::managed::Managed;
use crate::bench::measure::says_ok;
use crate::bench::places::CommandLine;
use crate::class::ClassArg;
use crate::say::{self, Failure};
use anyhow::Context;
use clap::ValueEnum;
use numaestro_sim::learn::samples::measured;
use numaestro_sim::learn::{Measured, Report};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Activities shorter than this are not told apart, nanoseconds: three samples.
const ACTIVITY_NS_LEAST: u64 = 18_000_000;
/// Time between two questions for the number of regions.
const ASK_EACH: Duration = Duration::from_millis(150);

/// A command to learn.
#[derive(Debug, Clone)]
pub struct Subject {
    /// Its name.
    pub name: String,
    /// Its command line.
    pub line: CommandLine,
    /// Its class, if it is not the usual one.
    pub class: Option<ClassArg>,
    /// It says whether its result is right.
    pub checks_itself: bool,
}

impl Subject {
    /// Options of `numaestro run` for it.
    pub fn options(&self) -> Vec<String> {
        let class = self.class.and_then(|class| class.to_possible_value());
        let class = class.map(|value| vec!["--class".to_owned(), value.get_name().to_owned()]);
        [vec!["--name".to_owned(), self.name.clone()], class.unwrap_or_default()].concat()
    }

    /// Its command under a manager, with further options of `run`.
    pub fn command(&self, managed: &Managed, further: &[String]) -> std::process::Command {
        let options = [self.options(), further.to_vec()].concat();
        let words: Vec<&str> = options.iter().map(String::as_str).collect();
        let mut command = managed.run(&words, &self.line.executable);
        command.args(&self.line.arguments);
        command
    }

    /// Refuses a run that failed.
    pub fn check(&self, ended: &launch::Ended, limit: Duration) -> anyhow::Result<()> {
        let what = if ended.limited {
            format!("it was killed after {} s", limit.as_secs_f64())
        } else if !ended.success {
            "it failed".to_owned()
        } else if self.checks_itself && !says_ok(&ended.output) {
            "it did not say that its result is right".to_owned()
        } else {
            return Ok(());
        };
        let tail: Vec<&str> = ended.output.trim().lines().rev().take(3).collect();
        let tail: Vec<&str> = tail.into_iter().rev().collect();
        Err(Failure::error(
            say::FAILED,
            format!("{}: {what}; its output ends with: {}", self.name, tail.join(" / ")),
            "",
        ))
    }
}

/// The runs that are made.
#[derive(Debug, Clone)]
pub struct Terms {
    /// Numbers of processors, in order.
    pub sizes: Vec<u32>,
    /// Runs on each.
    pub runs: u32,
    /// Share of the machine that others may use.
    pub foreign: f64,
    /// Runs that are repeated at most, for each size.
    pub tries: u32,
}

/// What a program says of itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Said {
    /// Parallel regions of a run; 0: not known.
    pub regions: u64,
    /// Reports of its speedup, in order of time.
    pub reports: Vec<Report>,
}

impl Said {
    /// The same run, with what its program says.
    pub fn with(self, run: Measured) -> Measured {
        Measured { regions: self.regions, reports: self.reports, ..run }
    }
}

/// Runs commands alone; see the file's header.
#[derive(Debug)]
pub struct Alone {
    numaestro: PathBuf,
    managed: Managed,
    /// Longest run.
    limit: Duration,
}

impl Alone {
    /// Starts the manager of the runs, none of which may take longer than `limit`.
    pub fn begin(numaestro: &Path, limit: Duration) -> anyhow::Result<Self> {
        Ok(Self { numaestro: numaestro.to_owned(), managed: Managed::start_undisturbed(numaestro)?, limit })
    }

    /// All runs of a command that count.
    pub fn measure(&self, subject: &Subject, terms: &Terms) -> anyhow::Result<Vec<Measured>> {
        let mut found = Vec::new();
        for &size in &terms.sizes {
            found.extend(self.median(subject, size, terms)?);
        }
        if let Some(widest) = found.pop() {
            found.push(self.said(subject, widest.widest())?.with(widest));
        }
        Ok(found)
    }

    /// The run of median length on so many processors.
    fn median(&self, subject: &Subject, size: u32, terms: &Terms) -> anyhow::Result<Option<Measured>> {
        let mut gate = Gate::new(terms.foreign, terms.tries);
        let mut runs = Vec::new();
        while runs.len() < terms.runs as usize {
            let (run, window) = self.once(subject, size)?;
            if gate.admit(&window) {
                runs.push(run);
            } else {
                load::await_quiet(terms.foreign, window.processors);
            }
        }
        Ok(Measured::median(runs))
    }

    /// One run on so many processors, and the load beside it.
    pub fn once(&self, subject: &Subject, size: u32) -> anyhow::Result<(Measured, Window)> {
        self.run(&self.managed, subject, size, |_| {})
    }

    /// What the program says of itself in runs on so many processors.
    pub fn said(&self, subject: &Subject, size: u32) -> anyhow::Result<Said> {
        let regions = self.regions(subject, size)?;
        let reports = if may_follow(subject) && size > 1 { self.reports(subject, size)? } else { Vec::new() };
        Ok(Said { regions, reports })
    }

    fn regions(&self, subject: &Subject, size: u32) -> anyhow::Result<u64> {
        let mut regions = 0;
        self.run(&self.managed, subject, size, |over| {
            while !over.load(Ordering::Relaxed) {
                let seen = self.managed.status().and_then(|status| {
                    let apps = status.get("apps")?.as_array()?.clone();
                    apps.iter().filter_map(|app| app.get("regions")?.as_u64()).max()
                });
                regions = regions.max(seen.unwrap_or(0));
                std::thread::sleep(ASK_EACH);
            }
        })?;
        Ok(regions)
    }

    /// The program's reports in a run under a policy that asks for them.
    fn reports(&self, subject: &Subject, size: u32) -> anyhow::Result<Vec<Report>> {
        let dir = tempfile::tempdir().context("cannot make a directory for a journal")?;
        let journal = dir.path().join("pdpa.journal");
        {
            let managed = Managed::start_recorded(&self.numaestro, "pdpa", &journal, &[])?;
            self.run(&managed, subject, size, |_| {})?;
            managed.settle();
        }
        let runs = recorded::runs(&journal, &subject.name)?;
        Ok(runs.into_iter().flat_map(|run| run.reports).collect())
    }

    /// One run, and the load beside it; `beside` looks on until it is over.
    fn run(
        &self,
        managed: &Managed,
        subject: &Subject,
        size: u32,
        beside: impl FnOnce(&AtomicBool) + Send,
    ) -> anyhow::Result<(Measured, Window)> {
        managed.settle();
        let (before, origin) = (Reading::take(managed.time()), Instant::now());
        let mut command = subject.command(managed, &["--max".to_owned(), size.to_string()]);
        let started = launch::start(&mut command, None)?;
        let (pid, over) = (started.pid, AtomicBool::new(false));
        let (ended, seen) = std::thread::scope(|scope| {
            let watching = scope.spawn(|| samples(pid, origin, &over));
            scope.spawn(|| beside(&over));
            let ended = launch::wait_all(vec![started], origin, self.limit);
            over.store(true, Ordering::Relaxed);
            (ended, watching.join().unwrap_or_default())
        });
        let ended = ended?.remove(0);
        subject.check(&ended, self.limit)?;
        let window = before.until(&Reading::take(managed.time()), ended.cpu_s, launch::processors()?.len());
        let length = nanos(Duration::from_secs_f64(ended.turnaround_s));
        Ok((measured(&seen, size, length, ACTIVITY_NS_LEAST), window))
    }
}

/// Whether its teams may follow its processors, so that it measures its speedup.
fn may_follow(subject: &Subject) -> bool {
    matches!(subject.class, Some(ClassArg::Malleable))
}
