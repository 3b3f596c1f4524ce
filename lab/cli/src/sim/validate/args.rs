//! The words of `numaestro sim validate`.

use crate::bench::args::PlaceArgs;
use clap::Args;
use std::path::PathBuf;

/// `numaestro sim validate`.
#[derive(Debug, Clone, Args)]
#[command(
    after_help = "Examples:\n  numaestro sim validate --list\n  numaestro sim validate --quick --html quick.html\n  \
                  numaestro sim validate --json validate.json --html validate.html --state validate.jsonl            # stopped with Ctrl-C ...\n  \
                  numaestro sim validate --json validate.json --html validate.html --state validate.jsonl --resume   # ... goes on\n  \
                  numaestro sim validate --mix 'pair-*' --policies equi,batch --keep models && numaestro sim run models/pair-sor-cg.toml\n  \
                  numaestro sim validate --staged testdata/staged/four-hs-con-narrow.jsonl --json steps.json\n  \
                  numaestro sim validate --staged testdata/staged/four-hs-con-narrow.jsonl --policies worst-fit        # another policy: exit code 1\n\n\
                  Each program is learned alone (as `sim learn` does); no mix is used for that. Every mix runs under each policy, by a manager of its\n\
                  own, and in the simulator. Programs alone and mixes take turns, because a machine becomes slower and faster. Bounds: median error of makespan and of mean turnaround at most 10 %, 90th percentile at most\n\
                  20 %; the better of two policies told right in 90 % of the pairs that differ by more than the noise.\n\n\
                  With --staged nothing runs for real: a staged run of `make test-numa` has what programs got from a live manager on a machine with\n\
                  several NUMA nodes, and the same steps are simulated. Compared are processors, nodes and homes, no times.\n\n\
                  Exit codes: 0 done; 1 a program failed, with --check a bound does not hold, or with --staged a step does not agree; 2 a file is wrong; 64 wrong usage; 130 stopped\n\
                  by Ctrl-C; with --state, --resume goes on."
)]
#[allow(clippy::struct_excessive_bools)] // They are switches of a command line.
pub struct ValidateArgs {
    /// The mixes [default: those of the source tree, lab/bench/mixes.toml, which are built in].
    #[arg(value_name = "MIXES.toml")]
    pub mixes: Option<PathBuf>,
    /// Compare what programs got in these staged runs with what they get in the simulator.
    #[arg(long, value_name = "FILE", num_args = 1.., conflicts_with_all = ["mixes", "mix", "quick", "list", "runs", "length", "html", "keep", "state", "resume"])]
    pub staged: Vec<PathBuf>,
    /// Only mixes of this name; `*` stands for any text (repeat for several).
    #[arg(long, value_name = "NAME")]
    pub mix: Vec<String>,
    /// These policies instead of those of the file; with --staged one, which is simulated.
    #[arg(long, value_name = "A,B,...")]
    pub policies: Vec<String>,
    /// The mixes marked as quick only, with a third of the work and two runs.
    #[arg(long)]
    pub quick: bool,
    /// Only list the mixes.
    #[arg(long)]
    pub list: bool,
    /// Rounds: runs of each mix under each policy; programs run alone once or twice in each
    /// [default: 3, quick 2].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100))]
    pub runs: Option<u32>,
    /// Times the work of the load programs [default: 1, quick 0.35].
    #[arg(long, value_name = "FACTOR", value_parser = positive)]
    pub length: Option<f64>,
    /// Share of the machine in percent that others may use during a run; more, and it is repeated.
    #[arg(long, value_name = "PERCENT", default_value_t = 6.0, value_parser = positive)]
    pub foreign: f64,
    /// Runs of a program alone, or of a mix under a policy, that are repeated at most; then they
    /// count, and are marked.
    #[arg(long, value_name = "N", default_value_t = 5)]
    pub tries: u32,
    /// A run that takes longer than this many seconds is an error.
    #[arg(long, value_name = "S", default_value_t = 120.0, value_parser = positive)]
    pub time_limit: f64,
    /// The simulator's machine [default: made of what numaestro sees; with --staged the staged
    /// one].
    #[arg(long, value_name = "FILE")]
    pub machine: Option<PathBuf>,
    /// Write all programs, runs, errors and pairs as JSON.
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Write a report with a plot into one file that needs no other.
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Keep machine, learned programs and mixes here, as files for `numaestro sim run`, and the
    /// managers' journals.
    #[arg(long, value_name = "DIR")]
    pub keep: Option<PathBuf>,
    /// Keep finished runs here, one JSON object a line [default: beside the JSON file or report].
    #[arg(long, value_name = "FILE")]
    pub state: Option<PathBuf>,
    /// Go on with what the state file has.
    #[arg(long)]
    pub resume: bool,
    /// Exit with 1 if a bound does not hold.
    #[arg(long)]
    pub check: bool,
    /// Where things are.
    #[command(flatten)]
    pub places: PlaceArgs,
}

fn positive(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(x) if x.is_finite() && x > 0.0 => Ok(x),
        _ => Err("a positive number".to_owned()),
    }
}
