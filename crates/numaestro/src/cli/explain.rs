//! `numaestro explain` on the command line.

use clap::Args;
use std::path::PathBuf;

const AFTER_HELP: &str = "\
Examples:
  numaestro explain                    every program: its processors, and the reason
  numaestro explain lulesh             the reason, the decisions that led to it, the changes that would help
  numaestro explain cpu 3              the owner of processor 3, since when, and the owners before
  numaestro explain 14:05              the processors of every program at 14:05, and the decisions before
  numaestro explain lulesh --at 14:05  the same of one program: why was it slow then?
  numaestro explain lulesh --at '10 min ago' --json
  numaestro explain --from tuesday.journal --at +90s

A program is named as for `set`: by its letter in `status`, its number, a process id or its name; for an earlier time
by its number or its name. A TIME is 14:05 or 14:05:30
(the latest such time), 2026-07-09 14:05, `10 min ago`, or +90s after the first event.

The manager remembers about a thousand events. An earlier time needs a recording (`numaestro record on`). It is looked for by
itself, and answers where no manager runs; `--from` names a journal, or a directory of recordings. Of other users' programs you are told what `status` shows; an
administrator is told everything.

Exit codes: 0 done; 1 it is not known; 2 the file is no journal; 64 wrong usage; 69 there is no manager to ask, and no recording.";

/// `numaestro explain`.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub struct ExplainArgs {
    /// A program, `cpu N`, or a time; absent: all programs.
    #[arg(value_name = "APP | cpu N | TIME")]
    pub what: Vec<String>,
    /// The state at this time instead of now.
    #[arg(long, value_name = "TIME")]
    pub at: Option<String>,
    /// From this journal or directory of recordings, not from the manager.
    #[arg(long, value_name = "FILE | DIR")]
    pub from: Option<PathBuf>,
    /// The latest changes to show, besides those that led to the present state; absent: 5.
    #[arg(long, value_name = "N")]
    pub last: Option<usize>,
    /// For programs.
    #[arg(long)]
    pub json: bool,
}
