//! A user's choice for pools of threads that are sized once, at start.

use clap::{Args, ValueEnum};

/// The number of processors that a program is told when it asks to size a pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum PoolArg {
    /// All that it may ever have: the pool is folded while it has fewer.
    Whole,
    /// Those that it has at that moment: a pool that never grows stays as small.
    Now,
}

impl PoolArg {
    /// As it stands in profiles.
    pub fn word(self) -> &'static str {
        match self {
            Self::Whole => "whole",
            Self::Now => "now",
        }
    }
}

/// The same for `run` and `shell`; a program that runs already has sized its pools.
#[derive(Debug, Clone, Copy, Default, Args)]
pub struct PoolArgs {
    /// What pools of threads that are sized once, at start, are sized for (rayon, polars, Java,
    /// Python's multiprocessing, `nproc`): the processors that the program may ever have, or those
    /// that it has at that moment. Default: whole.
    #[arg(long, value_enum, value_name = "SIZE")]
    pub pool: Option<PoolArg>,
}
