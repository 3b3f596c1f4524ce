//! The words of `numaestro jobs`: the list of a batch system's jobs, and a limit of one.

use super::values::parse_most;
use clap::{Args, Subcommand};
use numaestro_abi::control::Most;

/// `numaestro jobs`.
#[derive(Debug, Args)]
#[command(after_help = "Examples: numaestro jobs
          numaestro jobs set 12 --max 2      # shrink a malleable job
          numaestro jobs set 12 --max none   # let it grow again")]
pub struct JobsArgs {
    /// For programs.
    #[arg(long)]
    pub json: bool,
    /// Without it: list them.
    #[command(subcommand)]
    pub what: Option<JobsCommand>,
}

/// The subcommands.
#[derive(Debug, Subcommand)]
pub enum JobsCommand {
    /// Change the most processors of a malleable job on this machine, at once.
    Set {
        /// Its number.
        #[arg(value_name = "JOB")]
        job: u32,
        /// Within the range that the job gave when it was submitted; `none`: as many as it can use.
        #[arg(long, value_name = "N|none", value_parser = parse_most)]
        max: Most,
        /// For programs.
        #[arg(long)]
        json: bool,
    },
}
