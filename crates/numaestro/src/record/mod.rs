//! `numaestro record`: switches the manager's recording, lists the recordings, and writes one as a
//! journal.

mod dump;
mod summary;

use crate::cli::{RecordCommand, RecordListArgs};
use crate::columns;
use crate::manager::{self, Manager};
use crate::recordings::{ask, moment, place, runs};
use crate::say;
use numaestro_abi::control::RecordingStatus;
use numaestro_recording::Ring;
use serde::Serialize;
use std::path::PathBuf;
use summary::Summary;

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

fn words(status: &RecordingStatus) -> String {
    match (status.on, status.trouble.as_str()) {
        (true, _) => format!("recording into {}\n", status.directory),
        (false, "") => format!("not recording; recordings are in {}\n", status.directory),
        (false, trouble) => format!("not recording: {trouble}\n"),
    }
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
    let runs: Vec<Summary> = runs::of_ring(&ring)?.iter().map(Summary::of).collect();
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
