//! The words of `numaestro bench`.

use clap::{Args, Subcommand};
use std::path::PathBuf;

/// `numaestro bench`.
#[derive(Debug, Subcommand)]
pub enum BenchCommand {
    /// Programs side by side: mixes times set-ups, interleaved, medians and ratios.
    Coexec(CoexecArgs),
    /// What the shim costs per parallel region.
    Shim(ProbeArgs),
    /// Time from a decision to its adoption, in regions of 50 µs.
    Adopt(ProbeArgs),
    /// Time from `numaestro set` until a limit is in force, in regions of 50 µs.
    Set(ProbeArgs),
    /// What a program notices of a manager that records.
    Record(ProbeArgs),
    /// Time to take processors back from 64 threads that do not react.
    Takeback(ProbeArgs),
    /// Time from `kill -9` of a program until another has its processors.
    Kill(ProbeArgs),
    /// Two ninja builds beside an OpenMP program: the whole against the best choice by hand, jobs
    /// against processors, tokens of a killed build.
    Builds(ProbeArgs),
    /// What it costs that programs take turns: stopping, the manager under a quantum, policies that
    /// follow each other.
    Turns(ProbeArgs),
    /// PDPA on programs that scale and programs that do not, against equal shares and against the
    /// right counts.
    Speedup(LiveArgs),
    /// Policies of memory bandwidth against `rr`, beside programs that do nothing but memory
    /// accesses.
    Bandwidth(LiveArgs),
    /// Those claims of the papers that this machine can show, with real programs: waiting for
    /// partners, changes of policy, PDPA's search, the overhead of policies of bandwidth.
    Claims(ClaimsArgs),
}

/// `numaestro bench coexec`.
#[derive(Debug, Clone, Args)]
#[command(
    after_help = "Examples: numaestro bench coexec --list\n          numaestro bench coexec --quick --json coexec.json\n          \
                        numaestro bench coexec --mix 'pair/gcc/*' --setup plain --setup numaestro --setup ideal\n\n\
                        Every program checks its own result; a wrong one fails the benchmark. A run beside which others used \
                        more than --foreign percent of the machine is repeated.\n\n\
                        Exit codes: 0 done; 1 a program failed, or with --check a bound does not hold."
)]
#[allow(clippy::struct_excessive_bools)] // They are switches of a command line.
pub struct CoexecArgs {
    /// Shorter and fewer runs: differences below 10 % are noise.
    #[arg(long)]
    pub quick: bool,
    /// Write the machine, every run, every ratio and every bound into this file.
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Write the table for the README into this file.
    #[arg(long, value_name = "FILE")]
    pub markdown: Option<PathBuf>,
    /// Keep the managers' journals in this directory, one for each policy: `numaestro sim replay`
    /// repeats them.
    #[arg(long, value_name = "DIR")]
    pub journal: Option<PathBuf>,
    /// Only mixes of this name; `*` stands for any text (repeat for several).
    #[arg(long, value_name = "NAME")]
    pub mix: Vec<String>,
    /// Only this set-up (repeat for several).
    #[arg(long, value_name = "NAME")]
    pub setup: Vec<String>,
    /// Runs of each mix under each set-up [default: 7, quick 3; twice as many of a program alone].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub runs: Option<u32>,
    /// Only list the mixes and set-ups.
    #[arg(long)]
    pub list: bool,
    /// Exit with 1 if a bound does not hold.
    #[arg(long)]
    pub check: bool,
    /// Kill a run after this many seconds; its times then are lower bounds [default: 20, quick 8].
    #[arg(long, value_name = "S", value_parser = positive)]
    pub time_limit: Option<f64>,
    /// Length of an ideal run in seconds [default: 0.8, quick 0.3].
    #[arg(long, value_name = "S", value_parser = positive)]
    pub length: Option<f64>,
    /// Share of the machine in percent that others may use during a run.
    #[arg(long, value_name = "PERCENT", default_value_t = 6.0, value_parser = positive)]
    pub foreign: f64,
    /// Rejected runs after which a mix is measured all the same, and marked as noisy.
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub tries: u32,
    /// Text to put into the results, such as the date.
    #[arg(long, value_name = "TEXT", default_value = "")]
    pub note: String,
    /// Where things are.
    #[command(flatten)]
    pub places: PlaceArgs,
}

/// Where the programs are.
#[derive(Debug, Clone, Args)]
pub struct PlaceArgs {
    /// Directory with the built kernels (it has gcc/ and clang/ in it) [default: build/kernels,
    /// here or above].
    #[arg(long, value_name = "DIR")]
    pub kernels: Option<PathBuf>,
    /// A Python with `NumPy` and scikit-learn [default: build/venv/bin/python, else python3].
    #[arg(long, value_name = "PATH", env = "NUMAESTRO_PYTHON", hide_env_values = true)]
    pub python: Option<PathBuf>,
    /// The command to measure [default: this one].
    #[arg(long, value_name = "PATH")]
    pub numaestro: Option<PathBuf>,
}

/// `numaestro bench shim`, `adopt`, `set`, `record`, `takeback`, `kill`, `builds`, `turns`.
#[derive(Debug, Clone, Args)]
pub struct ProbeArgs {
    /// Repetitions [default: as the measurement needs].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub runs: Option<u32>,
    /// Write every sample into this file.
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Exit with 1 if the bound does not hold.
    #[arg(long)]
    pub check: bool,
    /// Where things are.
    #[command(flatten)]
    pub places: PlaceArgs,
}

/// `numaestro bench speedup`, `bandwidth`.
#[derive(Debug, Clone, Args)]
pub struct LiveArgs {
    /// Runs of each workload under each policy, interleaved.
    #[arg(long, value_name = "N", default_value_t = 7, value_parser = clap::value_parser!(u32).range(1..))]
    pub runs: u32,
    /// Only this workload (repeat for several).
    #[arg(long, value_name = "NAME")]
    pub workload: Vec<String>,
    /// Times the work of each program, which is some seconds of one processor.
    #[arg(long, value_name = "FACTOR", default_value_t = 1.0, value_parser = positive)]
    pub length: f64,
    /// Kill a run after this many seconds; its times then are lower bounds.
    #[arg(long, value_name = "S", default_value_t = 60.0, value_parser = positive)]
    pub time_limit: f64,
    /// Keep the managers' journals in this directory, one for each policy: for
    /// `numaestro trace show`.
    #[arg(long, value_name = "DIR")]
    pub journal: Option<PathBuf>,
    /// Write the machine, every run and every ratio into this file.
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Exit with 1 if a bound does not hold or a journal cannot be repeated.
    #[arg(long)]
    pub check: bool,
    /// Where things are.
    #[command(flatten)]
    pub places: PlaceArgs,
}

/// `numaestro bench claims`.
#[derive(Debug, Clone, Args)]
#[command(
    after_help = "Examples: numaestro bench claims --list\n          numaestro bench claims --json measured.json\n          \
                        numaestro repro run --measured measured.json N-sync N-switch N-search A-over\n          \
                        numaestro bench claims N-sync --quick\n\n\
                        What is measured, its limits and what this cannot show were declared before the first run (--list).\n\
                        X of it takes about 10 minutes, --quick 5.\n\n\
                        Exit codes: 0 done, whatever came out; 1 a program failed or is missing, or with --check a claim is not\n\
                        reproduced."
)]
pub struct ClaimsArgs {
    /// Claims, as --list names them, `*` stands for any text; without any, all.
    #[arg(value_name = "CLAIM")]
    pub claim: Vec<String>,
    /// Only say what would be measured, with limits and reasons.
    #[arg(long)]
    pub list: bool,
    /// About half of the rounds: wider intervals.
    #[arg(long)]
    pub quick: bool,
    /// Rounds of every set-up, five at least [default: as declared].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(5..))]
    pub runs: Option<u32>,
    /// Share of the machine in percent that others may use during a run.
    #[arg(long, value_name = "PERCENT", default_value_t = 6.0, value_parser = positive)]
    pub foreign: f64,
    /// Rejected runs of a set-up after which its runs count all the same, and are marked as noisy.
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub tries: u32,
    /// Write the machine and every sample into this file, for `numaestro repro run --measured`.
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Exit with 1 if a claim is not reproduced.
    #[arg(long)]
    pub check: bool,
    /// Where things are.
    #[command(flatten)]
    pub places: PlaceArgs,
}

impl LiveArgs {
    /// Says whether this workload was asked for.
    pub fn wants(&self, name: &str) -> bool {
        self.workload.is_empty() || self.workload.iter().any(|wanted| wanted == name)
    }
}

fn positive(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(x) if x.is_finite() && x > 0.0 => Ok(x),
        _ => Err("a positive number".to_owned()),
    }
}
