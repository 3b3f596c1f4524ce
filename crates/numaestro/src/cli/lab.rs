//! The words of the laboratory's commands: what follows them is the laboratory's to read.

use clap::Args;
use std::ffi::OsString;

/// What follows such a word.
#[derive(Debug, Args)]
#[command(disable_help_flag = true, after_help = "This is a part of numaestro-lab: `numaestro-lab --help`.")]
pub struct LabArgs {
    /// What the laboratory is to do; --help shows it.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGS")]
    pub words: Vec<OsString>,
}
