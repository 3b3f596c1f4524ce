//! `numaestro repro`: checks the papers' claims on modelled machines.
//!
//! `args` has the words, `choose` finds the claims that were meant, `run` checks them and
//! `calibrate` identifies constants, both by `studies`; `queue` works on many parts at once, `kept`
//! is the output folder. `table`, `document` and `page` (with `drawing`) show what was `judged`.
//! The crate `numaestro-repro` states the claims and judges them.

mod args;
mod bar;
mod calibrate;
mod choose;
mod document;
mod drawing;
mod judged;
mod kept;
mod list;
mod page;
mod queue;
mod run;
mod studies;
mod table;

pub use args::ReproCommand;

/// An unknown claim or paper.
const UNKNOWN: u8 = 2;

/// Runs `numaestro repro COMMAND`.
pub fn repro(command: &ReproCommand) -> anyhow::Result<u8> {
    match command {
        ReproCommand::List(args) => list::list(args),
        ReproCommand::Run(args) => run::run(args),
        ReproCommand::Calibrate(args) => calibrate::calibrate(args),
    }
}
