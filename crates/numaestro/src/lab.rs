//! The laboratory's commands: a program of its own, `numaestro-lab`, does them. It is executed in
//! our place with all that was typed, as git does it with its parts.

use crate::say::{self, Failure};
use clap::Args;
use numaestro_kit::houses;
use std::convert::Infallible;
use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// The words that `numaestro-lab` understands.
const WORDS: [&str; 5] = ["sim", "what-if", "trace", "repro", "bench"];

/// What follows such a word. It is the laboratory's to read.
#[derive(Debug, Args)]
#[command(disable_help_flag = true, after_help = "This is a part of numaestro-lab: `numaestro-lab --help`.")]
pub struct LabArgs {
    /// What the laboratory is to do; --help shows it.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGS")]
    pub words: Vec<OsString>,
}

/// Says whether a subcommand is done here, and has its manual page here.
pub fn is_ours(word: &str) -> bool {
    !WORDS.contains(&word)
}

/// Says whether this is `numaestro help sim …`: the laboratory has the page.
pub fn is_asked_for_help(arguments: &[OsString]) -> bool {
    let word = |place: usize| arguments.get(place).and_then(|word| word.to_str());
    word(1) == Some("help") && word(2).is_some_and(|word| !is_ours(word))
}

/// Executes the laboratory with these arguments, of which the first is the name that it bears.
pub fn become_it(arguments: &[OsString]) -> anyhow::Result<Infallible> {
    let next = "install the package numaestro-lab, or type `make install` in a clone of numaestro";
    let what = "this is a part of the laboratory, numaestro-lab, which is not installed here";
    let program = houses::find(houses::LABORATORY).map_err(|_| Failure::error(say::FAILED, what, next))?;
    let refusal = Command::new(&program).arg0(houses::PRODUCT).args(arguments.iter().skip(1)).exec();
    Err(anyhow::Error::from(refusal).context(format!("cannot execute {}", program.display())))
}
