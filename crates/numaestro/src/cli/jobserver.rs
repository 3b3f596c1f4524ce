//! A user's choice for the jobs of builds.

use clap::{Args, ValueEnum};

/// Whether builds run as many jobs as they have processors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum JobserverArg {
    /// Every build that understands it, make without -j too.
    On,
    /// None.
    Off,
}

/// The same for `run` and `shell`.
#[derive(Debug, Clone, Copy, Default, Args)]
pub struct JobserverArgs {
    /// Builds run as many jobs as they have processors, by a jobserver as make has it. Default: on
    /// for programs that are parallel by themselves (ninja, cargo, gcc -flto=jobserver), off for
    /// others. `--` ends this option: `numaestro run --jobserver -- make`.
    #[arg(long, value_enum, value_name = "WHETHER", num_args = 0..=1, default_missing_value = "on")]
    pub jobserver: Option<JobserverArg>,
}
