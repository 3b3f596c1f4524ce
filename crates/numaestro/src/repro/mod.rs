//! `numaestro repro`: the papers' claims, checked on modelled machines.
//!
//! `args` has the words, `choose` finds the claims that were meant, `run` checks them, `table`,
//! `document` and `page` (with `drawing`) show what was found. What is claimed and how it is judged
//! is the affair of the crate `numaestro-repro`.

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
