//! Defines the words of the command line: every subcommand, option and help text. No code here acts
//! on them.
//!
//! Completions and man pages are made from these types alone, so nothing here uses sockets,
//! processes or files.

mod advise;
mod dashboard;
mod explain;
mod fold;
mod jobs;
mod jobserver;
mod lab;
mod library;
mod pool;
mod profile;
mod record;
mod reload;
mod run;
mod steering;
mod values;
mod wish;

pub use advise::AdviseArgs;
pub use dashboard::DashboardArgs;
pub use explain::ExplainArgs;
pub use fold::{FoldArg, FoldArgs};
pub use jobs::{JobsArgs, JobsCommand};
pub use jobserver::{JobserverArg, JobserverArgs};
pub use lab::LabArgs;
pub use library::LibraryRule;
pub use pool::{PoolArg, PoolArgs};
pub use profile::ProfileCommand;
pub use record::{RecordCommand, RecordDumpArgs, RecordListArgs};
pub use reload::ReloadArgs;
pub use run::{RunArgs, ShellArgs};
pub use steering::{AdoptArgs, ReleaseArgs, SetArgs};

use clap::{Args, Parser, Subcommand};
use numaestro_kit::global_args::GlobalArgs;
use std::path::PathBuf;
pub use values::{milli, parse_most, parse_weight};
pub use wish::WishArgs;

const AFTER_HELP: &str = "\
Start here:
  numaestro doctor                 what this machine offers, and what is missing
  numaestro demo                   what you gain, shown with real programs in under a minute
  numaestro run -- ./app ARGS      your program, on processors of its own
  numaestro top                    who has which processors, live

The manager starts by itself with the first `run` and ends when it is idle.

Exit codes (except `run`, which becomes the program and passes on the program's own):
   0  done
   1  it did not work; the message says why and what to do next
   2  `sim`: a file is wrong; the message says where and what was expected
      `repro`: there is no such claim
  64  wrong usage
  69  there is no manager to ask, or it cannot be reached
  75  the manager refused; later it may be possible
  77  not permitted
  78  `daemon`: a configuration file is wrong; the message says where
 125  `run`: numaestro refused to start the program    126  `run`: found, but cannot be executed
 127  `run`: not found

Environment:
  NUMAESTRO_DIR      runtime directory of the manager (default: the system's manager in
                     /run/numaestro if there is one, else $XDG_RUNTIME_DIR/numaestro)
  NUMAESTRO_USER     1: a manager of your own, also where the system has one (as --user)
  NUMAESTRO_LOG      what to log, e.g. `debug` or `numaestro_daemon=trace`
  NUMAESTRO_PRELOAD  use this shim instead of the built-in one
  NO_COLOR           no colours";

/// Gives every parallel program its own processors.
#[derive(Debug, Parser)]
#[command(
    name = "numaestro",
    version,
    about = "Gives every parallel program its own processors, and folds its threads onto them.",
    long_about = "Gives every parallel program on this machine its own processors, more or fewer as programs come and \
                  go, and folds the program's teams of threads onto them without changing their size. Unmodified \
                  programs, no root needed.",
    after_long_help = AFTER_HELP,
    after_help = "Try `numaestro demo`, or `numaestro help run`. All details: `numaestro --help`.",
    max_term_width = 110,
    propagate_version = true
)]
pub struct Cli {
    #[command(flatten)]
    pub global: GlobalArgs,
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What the command can do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Start a program on processors of its own.
    ///
    /// The program runs in place of this command: same process, same exit code, signals, terminal
    /// and descriptors. If no manager can be had, one warning is printed and the program runs as it
    /// would have without numaestro.
    Run(RunArgs),
    /// Start a shell in which every program is managed.
    Shell(ShellArgs),
    /// Take over a running program.
    Adopt(AdoptArgs),
    /// Change the limits, the weight or the class of a running application.
    Set(SetArgs),
    /// Stop managing an application: it runs on, with all processors and without limits.
    Release(ReleaseArgs),
    /// Say what a program would get now: processors, nodes, memory. Nothing is started.
    Advise(AdviseArgs),
    /// Show who has which processors.
    Status(StatusArgs),
    /// Explain a program's processors: the reason, the decisions that led to it, and the changes
    /// that would give it others.
    Explain(ExplainArgs),
    /// The same, live in the terminal.
    Top,
    /// The same with its history, as a page in the browser: live, or of a recording.
    Dashboard(DashboardArgs),
    /// List the jobs of a batch system on this machine, or change the limit of a malleable one.
    Jobs(JobsArgs),
    /// List, show, check or switch the policy.
    #[command(subcommand)]
    Policy(PolicyCommand),
    /// Remember how a program should be run.
    #[command(subcommand)]
    Profile(ProfileCommand),
    /// Say what this machine offers, what is missing and what to do about it.
    Doctor(DoctorArgs),
    /// Show on this machine, with real programs, what is gained.
    Demo(DemoArgs),
    /// Measure what numaestro gains and costs on this machine.
    Bench(LabArgs),
    /// Run modelled programs on modelled machines under any policy, and compare policies.
    Sim(LabArgs),
    /// Keep what the manager hears and decides, for later.
    #[command(subcommand)]
    Record(RecordCommand),
    /// Say what a recorded time would have been under other policies.
    WhatIf(LabArgs),
    /// Show a recorded run, of the manager or of the simulator, or write it for Paraver or
    /// Perfetto.
    Trace(LabArgs),
    /// Check the claims of the papers that this project builds on.
    Repro(LabArgs),
    /// Draw the machine: packages, NUMA nodes, caches, cores, processing units.
    Topo(TopoArgs),
    /// Have the manager read its configuration again. Nothing changes if something in it is wrong.
    Reload(ReloadArgs),
    /// End the manager in an orderly way: every affinity is restored.
    Stop,
    /// Be the manager (normally started by `run` itself).
    Daemon(numaestro_manager::Args),
    /// Print the completions for a shell.
    #[command(
        after_help = "Example: numaestro completions bash > ~/.local/share/bash-completion/completions/numaestro"
    )]
    Completions {
        /// Which shell.
        shell: clap_complete::Shell,
    },
    /// Write the manual pages into a directory, or the main one to stdout.
    #[command(after_help = "Example: numaestro man ~/.local/share/man/man1 && man numaestro-run")]
    Man {
        /// Where to; created if it is missing.
        #[arg(value_name = "DIR")]
        into: Option<PathBuf>,
    },
}

/// `numaestro status`.
#[derive(Debug, Args)]
#[command(
    after_help = "A program is `folded` while its team has more threads than processors. A line below the table then says whether the threads \
                        are switched in user space or by the kernel, and if by the kernel, why and what to do about it (JSON: `folding`).\n\n\
                        Where no manager runs, this says so and exits with 0 (JSON: `\"running\": false`)."
)]
pub struct StatusArgs {
    /// For programs: one JSON object (with --watch: one a line).
    #[arg(long)]
    pub json: bool,
    /// Print again after every change, until interrupted.
    #[arg(long)]
    pub watch: bool,
    /// Where threads and memory are, by node. Looks now, which takes about a second for 100 GiB.
    #[arg(long, conflicts_with = "watch")]
    pub memory: bool,
}

/// `numaestro policy`.
#[derive(Debug, Subcommand)]
pub enum PolicyCommand {
    /// Every policy and part there is.
    List {
        /// For programs.
        #[arg(long)]
        json: bool,
    },
    /// The present policy; where no manager runs, the one that the next manager begins with.
    Show {
        /// For programs.
        #[arg(long)]
        json: bool,
    },
    /// Say whether this is a policy: silent and 0, or the mistake and 64.
    Check {
        /// A name, or parts as `part=name`.
        #[arg(required = true, value_name = "POLICY")]
        policy: Vec<String>,
    },
    /// Switch, live; nothing is restarted. The next manager of this directory begins with it too.
    #[command(
        after_help = "Examples: numaestro policy set dss\n          numaestro policy set share=dss placement=worst-fit admission=fifo"
    )]
    Set {
        /// A name, or parts as `part=name`.
        #[arg(required = true, value_name = "POLICY")]
        policy: Vec<String>,
    },
}

/// `numaestro doctor`.
#[derive(Debug, Args)]
pub struct DoctorArgs {
    /// For programs.
    #[arg(long)]
    pub json: bool,
}

/// `numaestro demo`.
#[derive(Debug, Args)]
pub struct DemoArgs {
    /// Runs of each pair under each set-up; the median is shown.
    #[arg(long, default_value_t = 3, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=20))]
    pub runs: u32,
    /// Directory with other builds of the programs (it has gcc/ and clang/ in it).
    #[arg(long, value_name = "DIR")]
    pub kernels: Option<PathBuf>,
}

/// `numaestro topo`.
#[derive(Debug, Args)]
#[command(after_help = "Example: numaestro topo --synthetic \"pack:2 numa:2 l3:4 core:8 pu:2\"")]
pub struct TopoArgs {
    /// Draw this hwloc synthetic machine instead.
    #[arg(long, value_name = "S", group = "source")]
    pub synthetic: Option<String>,
    /// Draw the machine of this hwloc XML file.
    #[arg(long, value_name = "FILE", group = "source")]
    pub xml: Option<PathBuf>,
    /// Draw the machine whose /sys was recorded below this directory.
    #[arg(long, value_name = "DIR", group = "source")]
    pub sysfs_root: Option<PathBuf>,
}
