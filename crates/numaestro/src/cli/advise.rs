//! The words of `numaestro advise`.

use super::values::parse_size;
use clap::Args;
use std::ffi::OsString;

const AFTER_ADVISE_HELP: &str = "\
Examples:
  numaestro advise                                 what a program would get now, and why
  numaestro advise --cpus 8 --mem 12G              one that can use 8 processors and 12 GiB
  $(numaestro advise --taskset) ./app              start it there
  $(numaestro advise --numactl --mem 4G) ./app     and with its memory beside them
  eval \"$(numaestro advise --env)\"; ./app          for OpenMP programs
  make -j\"$(numaestro advise --count)\"             a number
  numaestro advise -- ./app ARGS                   the whole command line, to look at or to copy

Nothing is started, reserved or changed. With a manager the answer is exact as long as nobody else comes or goes; a program that is
to keep what it gets, while others come and go, is started with `numaestro run`. Without a manager the answer says what is idle
now on the processors that this shell may use, and is no promise.

JSON: `count` is the processors of its own, 0 where it would share some (`shared`) or wait; `threads` is the number to use on
`cpus`, and 0 where it would wait.

Memory: `--numactl` prefers one node, or leaves pages to the nodes of the threads that touch them first. It never binds: a program
that may not have memory elsewhere is killed when its node is full.

Exit codes: 0 there is an answer; 64 wrong usage; 69 the manager cannot be reached; 75 nothing can be had now: it would wait
(then --count says 1, and the other forms for programs say nothing), or it would be refused.";

/// `numaestro advise`.
#[derive(Debug, Args)]
#[command(after_long_help = AFTER_ADVISE_HELP)]
#[allow(clippy::struct_excessive_bools, reason = "each is a switch of the command line")]
pub struct AdviseArgs {
    /// Processors the program could use; default: as many as there are.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub cpus: Option<u32>,
    /// Never fewer processors than this.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub min: Option<u32>,
    /// Memory it is going to need: `512M`, `16G`, `1.5G`.
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub mem: Option<u64>,
    /// For programs: one JSON object, with the nodes of the machine.
    #[arg(long, group = "form")]
    pub json: bool,
    /// For `eval`: the variables that make an OpenMP program run so.
    #[arg(long, group = "form")]
    pub env: bool,
    /// The words before a command: `taskset -c LIST`.
    #[arg(long, group = "form")]
    pub taskset: bool,
    /// The words before a command: `numactl --physcpubind=LIST ...`.
    #[arg(long, group = "form")]
    pub numactl: bool,
    /// The number of threads to use.
    #[arg(long, group = "form", conflicts_with = "command")]
    pub count: bool,
    /// Print the command line that starts this program so; it is not started.
    #[arg(value_name = "CMD", last = true)]
    pub command: Vec<OsString>,
}
