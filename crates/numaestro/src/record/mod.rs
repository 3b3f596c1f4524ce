//! `numaestro record`: switches the manager's recording, lists the recordings, and writes one as a
//! journal.

mod dump;
mod journal;
mod part;
mod ran;
mod recording;
mod runs;
#[cfg(test)]
pub mod story;
mod summary;

pub use journal::{Journal, numbered};
pub use part::{Part, stamp_of, time_of_history};
pub use ran::{Ran, in_words};
pub use recording::Recording;

use crate::cli::{RecordCommand, RecordListArgs};
use crate::columns;
use crate::manager::{self, Manager};
use crate::moment::{local_offset, shown};
use crate::say::{self, Failure};
use anyhow::Context;
use numaestro_abi::control::{RecordingStatus, Reply, Request};
use numaestro_daemon::{Config, Source};
use numaestro_recording::Ring;
use runs::Run;
use serde::Serialize;
use std::path::{Path, PathBuf};
use summary::Summary;

/// So long after the last event of a recording its programs may still be there, nanoseconds: a
/// manager to which nothing happens writes nothing, and one that is killed leaves no word.
pub const QUIET_MOST_NS: u64 = 600_000_000_000;

/// A recording is written once a second, so its end is known no better.
const UNKNOWN_NS: u64 = 2_000_000_000;

/// The subcommand.
pub fn record(dir: Option<PathBuf>, what: &RecordCommand) -> anyhow::Result<u8> {
    match what {
        RecordCommand::On => switch(dir, true),
        RecordCommand::Off => switch(dir, false),
        RecordCommand::List(args) => list(dir, args),
        RecordCommand::Dump(args) => dump::dump(dir, args),
    }
}

fn switch(dir: Option<PathBuf>, on: bool) -> anyhow::Result<u8> {
    let dir = manager::directory(dir)?;
    let status = ask(&mut Manager::started(&dir)?, Some(on))?;
    say::print(&words(&status))?;
    if !status.kept {
        let file = if manager::is_of_system(&dir) { "/etc/numaestro/config.toml" } else { "the configuration" };
        say::note(&format!("it holds until this manager ends; `[recording] on = {on}` in {file} keeps it"));
    }
    Ok(say::OK)
}

fn ask(manager: &mut Manager, on: Option<bool>) -> anyhow::Result<RecordingStatus> {
    match manager.ask(&Request::Record { on })? {
        Reply::Recording(status) => Ok(status),
        other => Err(manager::unexpected(&other)),
    }
}

fn words(status: &RecordingStatus) -> String {
    match (status.on, status.trouble.as_str()) {
        (true, _) => format!("recording into {}\n", status.directory),
        (false, "") => format!("not recording; recordings are in {}\n", status.directory),
        (false, trouble) => format!("not recording: {trouble}\n"),
    }
}

/// The state of recording. Where no manager runs, none is started for the question.
fn status(dir: Option<PathBuf>) -> anyhow::Result<RecordingStatus> {
    let dir = manager::directory(dir)?;
    if let Ok(mut manager) = Manager::reach(&dir) {
        match ask(&mut manager, None) {
            // It was about to end. One that hangs can still be reached.
            Err(error) if manager::has_gone(&error) && Manager::reach(&dir).is_err() => {}
            told => return told,
        }
    }
    let source = if manager::is_of_system(&dir) { Source::of_system() } else { Source::of_user() };
    let mut config = Config::load(&source).map_err(|error| anyhow::anyhow!("{error}"))?.config;
    config.dir = dir;
    let directory = numaestro_daemon::recordings(&config).display().to_string();
    Ok(RecordingStatus { directory, ..RecordingStatus::default() })
}

/// The same of a directory that the user named, in which nobody records, or of the manager.
fn place(dir: Option<PathBuf>, named: Option<&Path>) -> anyhow::Result<RecordingStatus> {
    let Some(named) = named else { return status(dir) };
    if !named.is_dir() {
        let next = "--from names a directory of recordings; without it the command takes the manager's own";
        return Err(Failure::error(say::FAILED, format!("there is no directory {}", named.display()), next));
    }
    Ok(RecordingStatus { directory: named.display().to_string(), ..RecordingStatus::default() })
}

/// The runs of a ring, newest first.
fn runs_of(ring: &Ring) -> anyhow::Result<Vec<Run>> {
    let place = || {
        let next = "the system's recordings are for administrators: sudo";
        format!("cannot read {} ({next})", ring.directory().display())
    };
    Ok(runs::of(ring.segments().with_context(place)?))
}

/// For programs.
#[derive(Debug, Serialize)]
struct List<'a> {
    recording: bool,
    directory: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    trouble: &'a str,
    recordings: &'a [Summary],
}

fn list(dir: Option<PathBuf>, args: &RecordListArgs) -> anyhow::Result<u8> {
    let status = place(dir, args.from.as_deref())?;
    let ring = Ring::at(&status.directory);
    let runs: Vec<Summary> = runs_of(&ring)?.iter().map(Summary::of).collect();
    if args.json {
        let list =
            List { recording: status.on, directory: &status.directory, trouble: &status.trouble, recordings: &runs };
        say::print(&format!("{}\n", serde_json::to_string_pretty(&list)?))?;
        return Ok(say::OK);
    }
    let mut text = String::new();
    if args.from.is_none() {
        text += &words(&status);
    }
    if runs.is_empty() {
        text += match (status.on, args.from.is_some()) {
            (true, _) => "no recordings yet: the first one is there a second after the first event\n",
            (false, true) => "no recordings\n",
            (false, false) => "no recordings; `numaestro record on` begins one\n",
        };
    } else {
        text += &table(&runs);
    }
    say::print(&text)?;
    Ok(say::OK)
}

fn table(runs: &[Summary]) -> String {
    let head = ["", "began", "until", "events", "programs", "size", "policy", ""].map(str::to_owned);
    let rows = (1..).zip(runs).map(|(number, run)| {
        [
            format!("{number}"),
            moment(run.began_ns),
            moment(run.until_ns),
            run.events.to_string(),
            run.programs.to_string(),
            say::size(run.bytes),
            run.ran(),
            run.remarks().join("; "),
        ]
    });
    columns::headed(&[head].into_iter().chain(rows).collect::<Vec<_>>(), say::colours(&std::io::stdout()))
}

/// A time (nanoseconds since 1970) for people, to the second, in their time zone.
pub fn moment(at: u64) -> String {
    shown(at, local_offset())
}
