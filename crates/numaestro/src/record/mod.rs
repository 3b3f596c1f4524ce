//! `numaestro record`: switches the manager's recording, lists the recordings, and writes one as a
//! journal.

mod dump;
mod runs;

use crate::cli::{RecordCommand, RecordListArgs};
use crate::columns;
use crate::manager::{self, Manager};
use crate::say;
use anyhow::Context;
use numaestro_abi::control::{RecordingStatus, Reply, Request};
use numaestro_daemon::{Config, Source};
use numaestro_recording::Ring;
use runs::Run;
use serde::Serialize;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::time::SystemTime;
use time::{OffsetDateTime, UtcOffset};

/// A recording is written once a second, so its end is known no better.
const END_UNKNOWN_NS: u64 = 2_000_000_000;

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
        return ask(&mut manager, None);
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
    anyhow::ensure!(named.is_dir(), "there is no directory {}", named.display());
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

/// The journal of the recording that has a time (nanoseconds since 1970): of its segments the one
/// that holds the time, and the one before. `from`: the recordings in this directory, not those of
/// the manager.
pub fn journal_at(dir: Option<PathBuf>, from: Option<&Path>, wall: u64) -> anyhow::Result<String> {
    let ring = Ring::at(place(dir, from)?.directory);
    let runs = runs_of(&ring)?;
    let run = runs.iter().find(|run| run.began_ns <= wall && !run.segments.is_empty());
    let run = run.with_context(|| match runs.last() {
        Some(oldest) => format!("the oldest recording began {}", moment(oldest.began(), say::local_offset())),
        None => format!("there are no recordings in {}", ring.directory().display()),
    })?;
    let ended = run.until_ns.saturating_add(END_UNKNOWN_NS) < wall;
    anyhow::ensure!(!ended, "the last recording before it ended {}", moment(run.until(), say::local_offset()));
    let next = run.segments.partition_point(|segment| segment.began_ms.saturating_mul(1_000_000) <= wall).max(1);
    dump::text(&run.segments[next.saturating_sub(2)..next])
}

/// The journal of a recording by its number in the list. `from`: as [`journal_at`].
pub fn journal_of(dir: Option<PathBuf>, from: Option<&Path>, number: u32) -> anyhow::Result<String> {
    let ring = Ring::at(place(dir, from)?.directory);
    let runs = runs_of(&ring)?;
    dump::text(&dump::numbered(&ring, &runs, number)?.segments)
}

/// Lines of a journal.
pub type Lines = Box<dyn Iterator<Item = std::io::Result<String>>>;

/// A recording as the user names it: a journal, a directory of recordings, or a number in the list;
/// absent: the newest. Gives its name for people, and its lines; one segment is in memory at a
/// time.
pub fn named(dir: Option<PathBuf>, what: Option<&str>) -> anyhow::Result<(String, Lines)> {
    let number = what.map_or(Some(1), |what| what.parse::<u32>().ok());
    match (number, what) {
        (Some(number), _) => Ok((format!("recording {number}"), lines_of(dir, None, number)?)),
        (None, Some(place)) if Path::new(place).is_dir() => {
            Ok((place.to_owned(), lines_of(None, Some(Path::new(place)), 1)?))
        }
        (None, place) => {
            let place = place.unwrap_or_default();
            let file = File::open(place).with_context(|| format!("cannot read {place}"))?;
            Ok((place.to_owned(), Box::new(BufReader::new(file).lines())))
        }
    }
}

fn lines_of(dir: Option<PathBuf>, from: Option<&Path>, number: u32) -> anyhow::Result<Lines> {
    let ring = Ring::at(place(dir, from)?.directory);
    let runs = runs_of(&ring)?;
    Ok(Box::new(dump::lines(dump::numbered(&ring, &runs, number)?.segments.clone())))
}

/// For programs.
#[derive(Debug, Serialize)]
struct List<'a> {
    recording: bool,
    directory: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    trouble: &'a str,
    recordings: &'a [Run],
}

fn list(dir: Option<PathBuf>, args: &RecordListArgs) -> anyhow::Result<u8> {
    let status = place(dir, args.from.as_deref())?;
    let ring = Ring::at(&status.directory);
    let runs = runs_of(&ring)?;
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
        text += "no recordings; `numaestro record on` begins one\n";
    } else {
        text += &table(&runs);
    }
    say::print(&text)?;
    Ok(say::OK)
}

fn table(runs: &[Run]) -> String {
    let offset = say::local_offset();
    let head = ["", "began", "until", "events", "programs", "size", "policy", ""].map(str::to_owned);
    let rows = (1..).zip(runs).map(|(number, run)| {
        [
            format!("{number}"),
            moment(run.began(), offset),
            moment(run.until(), offset),
            run.events.to_string(),
            run.programs.to_string(),
            say::size(run.bytes),
            run.policy.clone(),
            run.remarks().join("; "),
        ]
    });
    columns::headed(&[head].into_iter().chain(rows).collect::<Vec<_>>(), say::colours(&std::io::stdout()))
}

/// A time for people, to the second, in their time zone.
fn moment(at: SystemTime, offset: UtcOffset) -> String {
    let format = time::macros::format_description!("[year]-[month]-[day] [hour]:[minute]:[second]");
    OffsetDateTime::from(at).to_offset(offset).format(format).unwrap_or_default()
}
