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
    /// Find the values of a model's constants that agree with the rows of the paper which identify
    /// them: the fit, its residuals, and the admissible ranges.
    Calibrate(CalibrateArgs),
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
                        numaestro repro run --paper B97 --html b97.html\n          \
                        numaestro repro run --paper K --out k --html k.html      (again: goes on where it stopped)\n          \
                        numaestro repro run --quick --measured measured.json\n\n\
                        A claim is judged at the centre of the admissible constants, then under the perturbations under which\n\
                        it must fail, with other sets of seeds, and at other admissible points. Only `reproduced` counts.\n\
                        A claim that is not reproduced is a finding, not a failure.\n\n\
                        Exit codes: 0 the claims were checked, whatever came out; 2 there is no such claim or paper;\n\
                        3 the folder of --out was made with other inputs; 4 a file of inputs or measurements has a mistake."
)]
pub struct RunArgs {
    /// Claims, as `repro list` names them; without any, all.
    #[arg(value_name = "CLAIM")]
    pub claims: Vec<String>,
    /// Only this paper (its folder's name or its abbreviation, `B97`).
    #[arg(long, value_name = "PAPER")]
    pub paper: Option<String>,
    /// A third of the runs, no other seeds, no draws: wider intervals, sooner.
    #[arg(long)]
    pub quick: bool,
    /// Candidates for points of the admissible set [default: 100; with --quick 0].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=10_000))]
    pub draws: Option<u32>,
    /// Further sets of seeds [default: 5; with --quick 0].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=100))]
    pub seed_sets: Option<u32>,
    /// Use this file of inputs instead of the paper's own (with --paper).
    #[arg(long, value_name = "FILE")]
    pub inputs: Option<PathBuf>,
    /// Show beside the simulated findings what `numaestro bench claims --json FILE` has measured
    /// with real programs.
    #[arg(long, value_name = "FILE")]
    pub measured: Option<PathBuf>,
    /// Keep finished parts (answers.jsonl) and the raw runs (runs.csv) in this folder. The same
    /// command goes on where it was interrupted.
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
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

/// `numaestro repro calibrate`.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Examples: numaestro repro calibrate --paper K\n          \
                        numaestro repro calibrate --paper K --inputs mine.toml --candidates 400 --json fit.json\n\n\
                        Exit codes: 0 some candidate agrees with every row; 1 none does; 2 there is no such paper;\n\
                        4 the file of inputs has a mistake.")]
pub struct CalibrateArgs {
    /// Only this paper (its folder's name or its abbreviation, `K`).
    #[arg(long, value_name = "PAPER")]
    pub paper: Option<String>,
    /// Points of the constants' ranges to try.
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub candidates: u32,
    /// Use this file of inputs instead of the paper's own (with --paper).
    #[arg(long, value_name = "FILE")]
    pub inputs: Option<PathBuf>,
    /// Write fit, residuals and ranges into this file (`-`: standard output instead of the text).
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
}
