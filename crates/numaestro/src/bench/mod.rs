//! `numaestro bench`: measures on this machine what numaestro promises, with real programs and through public interfaces only.
//!
//! `coexec` compares set-ups over mixes of programs: `mix` and `setup` say what is run, `launch` and `measure` run it once,
//! `load` decides whether the run counts, `campaign` repeats, `stats`, `bounds` and `report` conclude. The probes `shim`,
//! `adopt`, `takeback` and `kill` each measure one latency. Nothing here knows how numaestro decides.

mod args;
mod bounds;
mod calibrate;
mod campaign;
mod coexec;
mod launch;
mod load;
mod machine;
mod managed;
mod measure;
mod mix;
mod places;
mod probe;
mod report;
mod setup;
mod stats;

use std::process::ExitCode;

pub use args::BenchCommand;

/// Runs `numaestro bench COMMAND`.
pub fn run(command: &BenchCommand) -> anyhow::Result<ExitCode> {
    match command {
        BenchCommand::Coexec(args) => coexec::coexec(args),
        BenchCommand::Shim(args) => probe::shim(args),
        BenchCommand::Adopt(args) => probe::adopt(args),
        BenchCommand::Takeback(args) => probe::takeback(args),
        BenchCommand::Kill(args) => probe::kill(args),
    }
}
