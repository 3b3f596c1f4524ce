//! The one command. This file only enters the process in a way that leaves no trace, and hands over
//! to the subcommand.
//!
//! `run` becomes the user's program, so the program must find the state that the shell gave it:
//! Rust's own start-up would set `SIGPIPE` to ignored and open `/dev/null` on closed standard
//! descriptors, and an exec passes both on. Therefore the C entry point is ours, and Rust's is not
//! used.
#![cfg_attr(not(test), no_main)]

mod adopt;
mod advise;
mod cli;
mod dashboard;
mod demo;
mod doctor;
mod dry_run;
mod environment;
mod explain;
mod folding;
mod jobs;
mod jobserver;
mod lab;
mod occupancy;
mod place;
mod policy;
mod pool;
mod profile;
mod rates;
mod record;
mod reload;
mod run;
mod set;
mod shell;
mod shim;
mod status;
mod stop;
mod top;
mod topo;

use clap::{CommandFactory, Parser};
use cli::{Cli, Command};
use numaestro_host::descriptors;
use numaestro_kit::{
    class, columns, command_line, machine_here, manager, moment, output, pages, recordings, say, target,
};
use std::ffi::OsString;
#[cfg(not(test))]
use std::ffi::{c_char, c_int};

/// The entry point that the C library calls.
#[cfg(not(test))]
#[allow(unsafe_code)]
// SAFETY: no other `main` exists in this binary (`no_main`), and the signature is C's.
#[unsafe(no_mangle)]
unsafe extern "C" fn main(count: c_int, strings: *const *const c_char) -> c_int {
    // SAFETY: the C runtime passes `count` valid strings that live as long as the process.
    let arguments = unsafe { numaestro_host::exec::arguments(count, strings) };
    // Under `ulimit -s 64` there is not enough stack for us, which may be enough for the program.
    let enter = || numaestro_host::limits::with_stack(move || enter(&arguments));
    let code = std::panic::catch_unwind(enter).unwrap_or(say::SOFTWARE);
    std::process::exit(i32::from(code))
}

/// Everything between the C entry point and the exit code.
#[cfg_attr(test, allow(dead_code))]
fn enter(arguments: &[OsString]) -> u8 {
    descriptors::fill_standard();
    if lab::is_asked_for_help(arguments) {
        return lab::execute(arguments).map_or_else(|error| say::failed(&error), |never| match never {});
    }
    let cli = match Cli::try_parse_from(arguments) {
        Ok(cli) => cli,
        Err(refusal) => {
            let _ = refusal.print();
            return if refusal.use_stderr() { say::USAGE } else { say::OK };
        }
    };
    if !matches!(cli.command, Command::Daemon(_)) {
        say::start_log(cli.global.verbose);
    }
    match dispatch(cli, arguments) {
        Ok(code) => code,
        Err(error) => say::failed(&error),
    }
}

/// One line per subcommand.
fn dispatch(cli: Cli, arguments: &[OsString]) -> anyhow::Result<u8> {
    let verbose = cli.global.verbose;
    let dir = match cli.command {
        Command::Daemon(_) => cli.global.dir,
        _ => cli.global.directory(),
    };
    match cli.command {
        Command::Run(args) if args.dry_run => dry_run::say(dir, &args),
        Command::Run(args) => run::run(dir, &args),
        Command::Shell(args) => shell::shell(dir, &args),
        Command::Adopt(args) => adopt::adopt(dir, &args),
        Command::Set(args) => set::set(dir, &args),
        Command::Release(args) => adopt::release(dir, &args),
        Command::Advise(args) => advise::advise(dir, &args),
        Command::Status(args) => status::status(dir, &args),
        Command::Explain(args) => explain::explain(dir, &args),
        Command::Top => top::top(dir),
        Command::Dashboard(args) => dashboard::dashboard(dir, &args),
        Command::Jobs(args) => jobs::jobs(dir, &args),
        Command::Policy(what) => policy::policy(dir, what),
        Command::Profile(what) => profile::command(what),
        Command::Doctor(args) => doctor::doctor(dir, &args),
        Command::Demo(args) => demo::demo(dir.as_deref(), &args),
        Command::Sim(_) | Command::WhatIf(_) | Command::Trace(_) | Command::Repro(_) | Command::Bench(_) => {
            lab::execute(arguments).map(|never| match never {})
        }
        Command::Record(what) => record::record(dir, &what),
        Command::Topo(args) => topo::topo(&args),
        Command::Reload(args) => reload::reload(dir, &args),
        Command::Stop => stop::stop(dir),
        Command::Daemon(args) => numaestro_manager::daemon(dir, &args, verbose),
        Command::Completions { shell } => pages::completions(Cli::command(), shell),
        Command::Man { into } => pages::manual(Cli::command(), |word| !lab::has(word), into.as_deref()),
    }
}
