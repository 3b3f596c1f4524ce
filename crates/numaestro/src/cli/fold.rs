//! A user's choice for teams with more threads than processors.

use clap::{Args, ValueEnum};

/// The party that switches between the threads of a team with more threads than processors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum FoldArg {
    /// The shim, in user space, where that is known to be right; else the kernel.
    User,
    /// Always the kernel: barriers take longer, and debuggers see ordinary threads.
    Kernel,
}

impl FoldArg {
    /// As it stands in the program's environment, and in profiles.
    pub fn word(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Kernel => "kernel",
        }
    }
}

/// The same for `run` and `shell`; a program that runs already cannot be told any more.
#[derive(Debug, Clone, Copy, Default, Args)]
pub struct FoldArgs {
    /// Party that switches between threads while they are more than the processors; default: user.
    #[arg(long, value_enum, value_name = "WHO")]
    pub fold: Option<FoldArg>,
}
