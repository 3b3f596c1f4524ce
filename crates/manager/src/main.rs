//! The manager as a program of its own. The system's service is root's, and has nothing in it that
//! the manager does not need: no web server, no terminal, no plots, no simulator.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use numaestro_say as say;

/// Gives the parallel programs of a machine their processors. `numaestro daemon` does the same.
#[derive(Debug, Parser)]
#[command(name = "numaestro-manager", version)]
struct Cli {
    /// Say more on stderr: -v what is done, -vv every step.
    #[arg(short, long, action = clap::ArgAction::Count)]
    verbose: u8,
    /// Runtime directory, instead of the usual one.
    #[arg(long, value_name = "DIR", env = "NUMAESTRO_DIR")]
    dir: Option<PathBuf>,
    #[command(flatten)]
    args: numaestro_manager::Args,
}

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(refusal) => {
            let _ = refusal.print();
            return ExitCode::from(if refusal.use_stderr() { say::USAGE } else { say::OK });
        }
    };
    let ended = numaestro_manager::daemon(cli.dir, &cli.args, cli.verbose);
    ExitCode::from(ended.unwrap_or_else(|error| say::failed(&error)))
}
