//! The laboratory's commands: a program of its own, `numaestro-lab`, does them. It is executed in
//! our place with all that was typed, as git does it with its parts.

use crate::cli::Cli;
use crate::say::{self, Failure};
use clap::CommandFactory;
use numaestro_kit::commands;
use std::convert::Infallible;
use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// Says whether the laboratory has this subcommand and its pages: it reads `--help` by itself.
pub fn has(word: &str) -> bool {
    Cli::command().find_subcommand(word).is_some_and(clap::Command::is_disable_help_flag_set)
}

/// Says whether this is `numaestro help sim …`: the laboratory has the page.
pub fn is_asked_for_help(arguments: &[OsString]) -> bool {
    let word = |place: usize| arguments.get(place).and_then(|word| word.to_str());
    word(1) == Some("help") && word(2).is_some_and(has)
}

/// Executes the laboratory in our place with these arguments, of which the first is our name.
pub fn execute(arguments: &[OsString]) -> anyhow::Result<Infallible> {
    let next = "install the package numaestro-lab, or type `make install` in a clone of numaestro";
    let what = "this is a part of the laboratory, numaestro-lab, which is not installed here";
    let program = commands::find(commands::LABORATORY).map_err(|_| Failure::error(say::FAILED, what, next))?;
    let refusal = Command::new(&program).arg0(commands::PRODUCT).args(arguments.iter().skip(1)).exec();
    Err(anyhow::Error::from(refusal).context(format!("cannot execute {}", program.display())))
}
