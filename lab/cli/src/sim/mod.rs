//! `numaestro sim`: runs scenarios on modelled machines, compares policies, repeats journals.
//!
//! The model itself is `numaestro-sim`, which uses neither files nor threads; here are both, and
//! all output.

mod args;
mod bench;
mod chaos;
pub mod chart;
mod compare;
mod csv;
mod document;
pub mod files;
pub mod html;
mod learn;
mod machines;
mod metric;
pub mod occupancy;
mod part;
pub mod policies;
mod progress;
mod recorder;
mod replay;
mod results;
mod run;
mod runner;
mod scenario_args;
mod slurm;
mod slurm_args;
pub mod state;
mod stop;
mod summary;
mod table;
pub mod validate;
mod verdict;

pub use args::SimCommand;

/// The subcommand.
pub fn sim(what: &SimCommand) -> anyhow::Result<u8> {
    match what {
        SimCommand::Replay(args) => replay::replay(args),
        SimCommand::Machines(args) => machines::machines(args),
        SimCommand::Run(args) => run::run(args),
        SimCommand::Compare(args) => compare::compare(args),
        SimCommand::Chaos(args) => chaos::chaos(args),
        SimCommand::Bench(args) => bench::bench(args),
        SimCommand::Learn(args) => learn::learn(args),
        SimCommand::Validate(args) => validate::validate(args),
    }
}
