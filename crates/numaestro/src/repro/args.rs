//! The words of `numaestro repro`.

use clap::{Args, Subcommand};
use std::path::PathBuf;

/// `numaestro repro`.
#[derive(Debug, Subcommand)]
pub enum ReproCommand {
    /// Show which claims there are, and what each paper says.
    List(ListArgs),
    /// Check claims: run what they need in the simulator, and compare with what the papers say.
    Run(RunArgs),
}

/// `numaestro repro list`.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Example: numaestro repro list --paper brecht1997-pools")]
pub struct ListArgs {
    /// Only this paper (its folder's name or its abbreviation, `B97`).
    #[arg(long, value_name = "PAPER")]
    pub paper: Option<String>,
    /// Write claims with set-up, reported values and tolerances into this file (`-`: standard
    /// output).
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
}

/// `numaestro repro run`.
#[derive(Debug, Clone, Args)]
#[command(
    after_help = "Examples: numaestro repro run --quick\n          numaestro repro run B93-Tab1.3 B93-Fig1.4\n          \
                        numaestro repro run --paper B97 --html b97.html\n\n\
                        A claim that is not reproduced is a finding, not a failure.\n\n\
                        Exit codes: 0 the claims were checked, whatever came out; 2 there is no such claim or paper."
)]
pub struct RunArgs {
    /// Claims, as `repro list` names them; without any, all.
    #[arg(value_name = "CLAIM")]
    pub claims: Vec<String>,
    /// Only this paper (its folder's name or its abbreviation, `B97`).
    #[arg(long, value_name = "PAPER")]
    pub paper: Option<String>,
    /// A third of the runs: wider intervals, within seconds.
    #[arg(long)]
    pub quick: bool,
    /// Say of each claim what was demanded and what came out.
    #[arg(long)]
    pub evidence: bool,
    /// Write everything that was found into this file (`-`: standard output instead of the table).
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Write a page with tables and the figures redrawn beside what the papers say about theirs.
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
}
