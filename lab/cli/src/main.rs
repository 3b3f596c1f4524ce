//! The laboratory's command. The product executes it for `numaestro sim`, `bench`, `repro`, `trace`
//! and `what-if`, as git does with its parts. Its help says the name that was typed.

mod bench;
mod cli;
mod colours;
mod finished;
mod repro;
mod sim;
mod trace;
mod what_if;

use clap::{CommandFactory, Parser};
use cli::{Cli, Command};
use numaestro_kit::{
    class, columns, command_line, machine_here, manager, moment, output, pages, recordings, say, target, texts,
};
use std::process::ExitCode;

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(refusal) => {
            let _ = refusal.print();
            return ExitCode::from(if refusal.use_stderr() { say::USAGE } else { say::OK });
        }
    };
    say::start_log(cli.global.verbose);
    ExitCode::from(dispatch(cli).unwrap_or_else(|error| say::failed(&error)))
}

fn dispatch(cli: Cli) -> anyhow::Result<u8> {
    match cli.command {
        Command::Bench(what) => bench::run(&what).map(|code| u8::from(code != ExitCode::SUCCESS)),
        Command::Sim(what) => sim::sim(&what),
        Command::Repro(what) => repro::repro(&what),
        Command::Trace(what) => trace::trace(&what),
        Command::WhatIf(args) => what_if::what_if(cli.global.directory(), &args),
        Command::Completions { shell } => pages::completions(Cli::command(), shell),
        Command::Man { into } => pages::manual(Cli::command(), is_typed_behind_the_product, into.as_deref()),
    }
}

/// Pages about completions and pages are the product's.
fn is_typed_behind_the_product(word: &str) -> bool {
    !matches!(word, "completions" | "man")
}
