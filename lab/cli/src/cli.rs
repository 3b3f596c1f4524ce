//! Defines the words of the laboratory's command line.

use clap::{Parser, Subcommand};
use numaestro_kit::global_args::GlobalArgs;
use std::path::PathBuf;

const AFTER_HELP: &str = "\
Start here:
  numaestro sim run lab/scenarios/two-openmp.toml    two programs on a modelled machine
  numaestro what-if --policies dss,batch         yesterday's programs under other policies
  numaestro bench coexec --quick                 what numaestro gains here, measured

Exit codes:
   0  done
   1  it did not work; the message says why and what to do next
   2  a file is wrong, and the message says where and what was expected; `repro`: there is no such claim
  64  wrong usage
  69  there is no manager to ask, or it cannot be reached

Environment:
  NUMAESTRO_DIR, NUMAESTRO_USER, NUMAESTRO_LOG, NO_COLOR: as `numaestro --help` says.";

/// Simulates, measures and checks claims.
#[derive(Debug, Parser)]
#[command(
    name = "numaestro-lab",
    version,
    about = "The laboratory of numaestro: simulate schedulers, measure this machine, check the papers' claims.",
    after_long_help = AFTER_HELP,
    after_help = "All details: `numaestro-lab --help`.",
    max_term_width = 110,
    propagate_version = true
)]
pub struct Cli {
    #[command(flatten)]
    pub global: GlobalArgs,
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What the laboratory can do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run modelled programs on modelled machines under any policy, and compare policies.
    #[command(subcommand)]
    Sim(crate::sim::SimCommand),
    /// Say what a recorded time would have been under other policies.
    WhatIf(crate::what_if::WhatIfArgs),
    /// Show a recorded run, of the manager or of the simulator, or write it for Paraver or
    /// Perfetto.
    #[command(subcommand)]
    Trace(crate::trace::TraceCommand),
    /// Check the claims of the papers that this project builds on.
    #[command(subcommand)]
    Repro(crate::repro::ReproCommand),
    /// Measure what numaestro gains and costs on this machine.
    #[command(subcommand)]
    Bench(crate::bench::BenchCommand),
    /// Print the completions for a shell.
    #[command(
        after_help = "Example: numaestro-lab completions bash > ~/.local/share/bash-completion/completions/numaestro-lab"
    )]
    Completions {
        /// Which shell.
        shell: clap_complete::Shell,
    },
    /// Write the manual pages into a directory, or the main one to stdout.
    #[command(after_help = "Example: numaestro-lab man ~/.local/share/man/man1 && man numaestro-lab-sim-run")]
    Man {
        /// Where to; created if it is missing.
        #[arg(value_name = "DIR")]
        into: Option<PathBuf>,
    },
}
