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
mod bench;
mod class;
mod cli;
mod colours;
mod columns;
mod command_line;
mod dashboard;
mod demo;
mod doctor;
mod dry_run;
mod environment;
mod explain;
mod finished;
mod folding;
mod jobs;
mod jobserver;
mod machine_here;
mod manager;
mod moment;
mod occupancy;
mod output;
mod pages;
mod place;
mod policy;
mod pool;
mod profile;
mod rates;
mod record;
mod reload;
mod repro;
mod run;
mod set;
mod shell;
mod shim;
mod silence;
mod sim;
mod status;
mod stop;
mod target;
mod top;
mod topo;
mod trace;
mod what_if;

use clap::Parser;
use cli::{Cli, Command};
use numaestro_host::descriptors;
use numaestro_say as say;
use std::ffi::OsString;
#[cfg(not(test))]
use std::ffi::{c_char, c_int};
use std::process::ExitCode;

/// The entry point that the C library calls.
#[cfg(not(test))]
#[allow(unsafe_code)]
// SAFETY: no other `main` exists in this binary (`no_main`), and the signature is C's.
#[unsafe(no_mangle)]
unsafe extern "C" fn main(count: c_int, strings: *const *const c_char) -> c_int {
    // SAFETY: the C runtime passes `count` valid strings that live as long as the process.
    let arguments = unsafe { numaestro_host::exec::arguments(count, strings) };
    // Under `ulimit -s 64` there is not enough stack for us, which may be enough for the program.
    let enter = || numaestro_host::limits::with_stack(|| enter(arguments));
    let code = std::panic::catch_unwind(enter).unwrap_or(say::SOFTWARE);
    std::process::exit(i32::from(code))
}

/// Everything between the C entry point and the exit code.
#[cfg_attr(test, allow(dead_code))]
fn enter(arguments: Vec<OsString>) -> u8 {
    descriptors::fill_standard();
    let cli = match Cli::try_parse_from(arguments) {
        Ok(cli) => cli,
        Err(refusal) => {
            let _ = refusal.print();
            return if refusal.use_stderr() { say::USAGE } else { say::OK };
        }
    };
    if !matches!(cli.command, Command::Daemon(_)) {
        say::start_log(cli.verbose);
    }
    match dispatch(cli) {
        Ok(code) => code,
        Err(error) => say::failed(&error),
    }
}

/// One line per subcommand.
fn dispatch(cli: Cli) -> anyhow::Result<u8> {
    let own = cli.user && !matches!(cli.command, Command::Daemon(_));
    let dir = cli.dir.or_else(|| own.then(manager::own_directory));
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
        Command::Bench(what) => bench::run(&what).map(|code| u8::from(code != ExitCode::SUCCESS)),
        Command::Sim(what) => sim::sim(&what),
        Command::Repro(what) => repro::repro(&what),
        Command::Trace(what) => trace::trace(&what),
        Command::Record(what) => record::record(dir, &what),
        Command::WhatIf(args) => what_if::what_if(dir, &args),
        Command::Topo(args) => topo::topo(&args),
        Command::Reload(args) => reload::reload(dir, &args),
        Command::Stop => stop::stop(dir),
        Command::Daemon(args) => numaestro_manager::daemon(dir, &args, cli.verbose),
        Command::Completions { shell } => pages::completions(shell),
        Command::Man { into } => pages::manual(into.as_deref()),
    }
}
