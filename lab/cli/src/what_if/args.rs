//! `numaestro what-if` on the command line.

use crate::recordings::PartArgs;
use clap::Args;
use std::path::PathBuf;

const AFTER_HELP: &str = "\
Examples:
  numaestro what-if --policies dss,batch             the newest recording of the manager
  numaestro what-if 3 --policies pdpa                the third in `numaestro record list`
  numaestro what-if --since 14:00 --until 15:00      an hour of it
  numaestro what-if tuesday.journal --html tuesday.html
  numaestro what-if tuesday.journal --keep models && numaestro sim compare models/mix.toml --html out.html

The command takes each program's work, speedups, sequential phases and think times from the recording. It simulates the policy
that ran and prints the difference from the recorded times. The programs are fitted to these times, so predictions are less
exact. Then it simulates the other policies. It assumes speedups that nobody could measure between two bounds: so predictions
have intervals.

Exit codes: 0 done; 1 there is no such recording; 2 it is none, or a policy cannot run there.";

/// `numaestro what-if`.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub struct WhatIfArgs {
    /// A journal, a directory of recordings, or a number in `numaestro record list`; absent: the
    /// newest recording.
    #[arg(value_name = "RECORDING")]
    pub recording: Option<String>,
    #[command(flatten)]
    pub part: PartArgs,
    /// The policies to try [default: equi,equip,dss,batch].
    #[arg(long, value_name = "LIST")]
    pub policies: Option<String>,
    /// Change a field of the simulated scenario: its path and a TOML value (repeat for several).
    #[arg(long, value_name = "PATH=VALUE")]
    pub set: Vec<String>,
    /// Seeds of everything that is random in the simulation.
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub seeds: u32,
    /// Write a report into this file.
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Keep the scenario in this directory, for `numaestro sim`.
    #[arg(long, value_name = "DIR")]
    pub keep: Option<PathBuf>,
    /// For programs.
    #[arg(long)]
    pub json: bool,
}
