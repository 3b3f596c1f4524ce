//! `numaestro run` and `numaestro shell` on the command line.

use super::values::parse_time;
use super::{FoldArgs, JobserverArgs, PoolArgs, WishArgs};
use clap::Args;
use std::ffi::OsString;

const AFTER_RUN_HELP: &str = "\
Examples:
  numaestro run -- ./lulesh -s 60           its own processors, as many as are fair
  numaestro run --max 4 -- python train.py  never more than four
  numaestro run --weight 2 -- ./app         twice the share of the others
  numaestro run --class malleable -- ./app  teams follow, as OMP_DYNAMIC=true lets them
  numaestro run --fold kernel -- ./app      for debuggers: no switching in user space
  numaestro run --pool now -- ./app         pools of threads as small as its present share
  numaestro run --mem 12G -- ./app          it is going to need so much memory
  numaestro run --jobserver -- make         as many jobs as processors, always up to date
  numaestro run --wait -- ./batch           wait in the queue until processors are free
  numaestro run --dry-run -- ./app          only say what would be done

What is changed for the program:
  affinity             the processors it is given
  LD_PRELOAD           begins with the shim, for dynamically linked glibc programs
  NUMAESTRO_ATTACH, NUMAESTRO_CLASS, NUMAESTRO_FOLD, NUMAESTRO_LIBRARIES, NUMAESTRO_POOL,
  NUMAESTRO_CPUS_ALL, NUMAESTRO_TERMINAL
                       how the shim finds the manager, and what it is to know
  number of processors what it is told when it asks the C library: all that it may ever
                       have, so that a pool that is sized once is not small for life
                       (`--pool now`: those that it has); the kernel's own answer stays true
  memory policy        set where the policy places pages, unless it has one already
  GOMP_SPINCOUNT       set, unless GOMP_SPINCOUNT or OMP_WAIT_POLICY is
  MAKEFLAGS, CARGO_MAKEFLAGS, NUMAESTRO_JOBSERVER, and two descriptors from 200 on
                       set for builds that follow their processors

Builds: ninja (1.13 or later), cargo and `gcc -flto=jobserver` are parallel anyway. They run as many
jobs as they have processors, and follow every change. make without -j runs one job after the
other, because only its user knows whether the Makefile may be run otherwise: --jobserver says so.
A number of jobs that you give (-j8, CARGO_BUILD_JOBS) is left alone, and `status` says so.
`--jobserver off` leaves all of them alone.

A profile (`numaestro profile`) supplies class, max, weight, btr, fold and pool where no option does,
and says how single libraries in the program are steered.

Exit codes: the program's own; 125 numaestro refused to start it, 126 it cannot be
executed, 127 it was not found.";

/// `numaestro run`.
#[derive(Debug, Args)]
#[command(after_long_help = AFTER_RUN_HELP)]
pub struct RunArgs {
    /// What is wished for.
    #[command(flatten)]
    pub wish: WishArgs,
    /// More threads than processors.
    #[command(flatten)]
    pub fold: FoldArgs,
    /// Pools that are sized once.
    #[command(flatten)]
    pub pool: PoolArgs,
    /// The jobs of builds.
    #[command(flatten)]
    pub jobserver: JobserverArgs,
    /// Wait in the queue until processors of its own are free.
    #[arg(long, overrides_with = "no_wait")]
    pub wait: bool,
    /// Never wait: share processors if need be.
    #[arg(long, overrides_with = "wait")]
    pub no_wait: bool,
    /// How long it will run at most, as far as you know: `90s`, `10m`, `1.5h`. With the policy
    /// `easy` short programs may overtake.
    #[arg(long, value_name = "DURATION", value_parser = parse_time)]
    pub time: Option<u64>,
    /// Only say what would be done.
    #[arg(long)]
    pub dry_run: bool,
    /// The program and its arguments.
    #[arg(value_name = "CMD", required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    pub command: Vec<OsString>,
}

/// `numaestro shell`.
#[derive(Debug, Args)]
#[command(after_help = "Example: numaestro shell            # then start programs as always\n         \
                        numaestro shell make test  # a command whose programs are all managed\n         \
                        numaestro shell --task-prolog   # the variables, for Slurm's TaskProlog")]
pub struct ShellArgs {
    /// What is wished for, for everything in this shell.
    #[command(flatten)]
    pub wish: WishArgs,
    /// More threads than processors, for everything in this shell.
    #[command(flatten)]
    pub fold: FoldArgs,
    /// Pools that are sized once, for everything in this shell.
    #[command(flatten)]
    pub pool: PoolArgs,
    /// The jobs of builds, for everything in this shell.
    #[command(flatten)]
    pub jobserver: JobserverArgs,
    /// Start nothing: print lines `export NAME=VALUE` and `unset NAME` for a task prolog of Slurm.
    /// Where no manager is, it prints none, and tasks run as always.
    #[arg(long, conflicts_with_all = ["command", "jobserver"])]
    pub task_prolog: bool,
    /// With --task-prolog: print what takes the variables of a managed shell around the task back.
    #[arg(long, requires = "task_prolog")]
    pub undo: bool,
    /// What to start; default: $SHELL.
    #[arg(value_name = "CMD", trailing_var_arg = true, allow_hyphen_values = true)]
    pub command: Vec<OsString>,
}
