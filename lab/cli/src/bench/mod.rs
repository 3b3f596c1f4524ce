//! `numaestro bench`: checks numaestro's promises on this machine, with real programs and through
//! public interfaces only.
//!
//! `coexec` compares set-ups over mixes of programs: `mix` and `setup` define the runs, `launch`
//! and `measure` make one run, `load` decides whether the run counts, `campaign` repeats, `stats`,
//! `bounds` and `report` conclude. The probes `shim`, `adopt`, `set`, `takeback`, `kill`, `builds`
//! and `turns` each measure latencies of one kind. `speedup` and `bandwidth` compare policies on
//! programs that run (`live`). `claims` measures claims of the papers. No benchmark uses the inside
//! of numaestro. `sim learn` and `sim validate` start their programs and managers by the public
//! modules.

pub mod args;
mod bandwidth;
mod bounds;
pub mod calibrate;
mod campaign;
mod claims;
pub mod coexec;
pub mod launch;
mod live;
pub mod load;
pub mod machine;
pub mod managed;
pub mod measure;
pub mod mix;
pub mod places;
mod probe;
mod report;
mod setup;
mod speedup;
pub mod stats;
mod terms;

use std::process::ExitCode;

pub use args::BenchCommand;

/// Runs `numaestro bench COMMAND`.
pub fn run(command: &BenchCommand) -> anyhow::Result<ExitCode> {
    match command {
        BenchCommand::Coexec(args) => coexec::coexec(args),
        BenchCommand::Shim(args) => probe::shim(args),
        BenchCommand::Adopt(args) => probe::adopt(args),
        BenchCommand::Set(args) => probe::set(args),
        BenchCommand::Record(args) => probe::record(args),
        BenchCommand::Takeback(args) => probe::takeback(args),
        BenchCommand::Kill(args) => probe::kill(args),
        BenchCommand::Builds(args) => probe::builds(args),
        BenchCommand::Turns(args) => probe::turns(args),
        BenchCommand::Speedup(args) => speedup::speedup(args),
        BenchCommand::Bandwidth(args) => bandwidth::bandwidth(args),
        BenchCommand::Claims(args) => claims::claims(args),
    }
}
