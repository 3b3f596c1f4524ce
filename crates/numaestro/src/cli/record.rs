//! `numaestro record` on the command line.

use crate::recordings::PartArgs;
use clap::{Args, Subcommand};
use std::path::PathBuf;

const AFTER_HELP: &str = "\
Examples:
  numaestro record on            record from now on; the next manager does too
  numaestro record list          the recordings that there are, newest first
  numaestro record dump | head   the newest one as a journal
  numaestro record dump 2 -o tuesday.journal
  numaestro record off

A recording holds what the manager heard and decided: programs by name, their wishes and phases, processors, times. It has no
command lines, no arguments and no data of programs. The system's manager records unless its configuration says `[recording]
on = false`; yours records when you say so. A ring of 64 MiB and 7 days holds the newest (`mib` and `days` in `[recording]`).

If the manager is killed, the events of its last second can be missing. `list` says which recordings are damaged.";

/// What can be done with recordings.
#[derive(Debug, Subcommand)]
#[command(after_help = AFTER_HELP)]
pub enum RecordCommand {
    /// Record from now on. The next manager of this directory does too.
    On,
    /// Record no more. Recordings stay.
    Off,
    /// Whether the manager records, and the recordings that there are, newest first.
    List(RecordListArgs),
    /// Write a recording as a journal, for `trace`, `sim replay` and `sim learn`.
    Dump(RecordDumpArgs),
}

/// `numaestro record list`.
#[derive(Debug, Args)]
pub struct RecordListArgs {
    /// For programs.
    #[arg(long)]
    pub json: bool,
    /// The recordings in this directory.
    #[arg(long, value_name = "DIR")]
    pub from: Option<PathBuf>,
}

/// `numaestro record dump`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples: numaestro record dump -o today.journal && numaestro trace show today.journal
          numaestro record dump 3 --anonymous -o for-a-bug-report.journal
          numaestro record dump --since 14:00 --until 14:10 -o slow.journal

A recording whose begin the ring has removed starts with the whole state, and so does a part from its middle. `trace` draws it,
`sim replay` cannot repeat it.")]
pub struct RecordDumpArgs {
    /// Its number in the list: 1 is the newest.
    #[arg(value_name = "NUMBER", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    pub number: u32,
    /// Write into this file; absent: to stdout.
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    #[command(flatten)]
    pub part: PartArgs,
    /// Leave the names of programs out.
    #[arg(long)]
    pub anonymous: bool,
    /// The recordings in this directory.
    #[arg(long, value_name = "DIR")]
    pub from: Option<PathBuf>,
}
