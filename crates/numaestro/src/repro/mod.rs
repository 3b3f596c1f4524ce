//! `numaestro repro`: checks the papers' claims on modelled machines.
//!
//! `args` has the words, `choose` finds the claims that were meant, `run` checks them, `table`,
//! `document` and `page` (with `drawing`) show the findings. The crate `numaestro-repro` states the
//! claims and judges them.

mod args;
mod choose;
mod document;
mod drawing;
mod list;
mod page;
mod run;
mod table;

pub use args::ReproCommand;

/// An unknown claim or paper.
const UNKNOWN: u8 = 2;

/// Runs `numaestro repro COMMAND`.
pub fn repro(command: &ReproCommand) -> anyhow::Result<u8> {
    match command {
        ReproCommand::List(args) => list::list(args),
        ReproCommand::Run(args) => run::run(args),
    }
}
