//! The words of `numaestro sim`.

use super::part::Part;
use super::scenario_args::{ScenarioArgs, percent};
use super::slurm_args::SlurmArgs;
use clap::{Args, Subcommand};
use numaestro_sim::chaos::Fault;
use std::path::PathBuf;

/// `numaestro sim`.
#[derive(Debug, Subcommand)]
pub enum SimCommand {
    /// Run a scenario under one policy, with as many seeds as it says.
    Run(RunArgs),
    /// Compare policies, over parameters, on the same jobs.
    Compare(CompareArgs),
    /// List the modelled machines, or describe one.
    Machines(MachinesArgs),
    /// How fast the simulator is on this machine.
    Bench(BenchArgs),
    /// Let everything go wrong that can, from a seed; then it must come right.
    Chaos(ChaosArgs),
    /// Repeat a journal, of the manager or of a simulation: the same events must give the same
    /// actions.
    Replay(ReplayArgs),
    /// Make a program file of a command, from runs of it alone or from a journal.
    Learn(super::learn::LearnArgs),
    /// How near the simulator is to this machine: run mixes for real, and simulate the same.
    Validate(super::validate::ValidateArgs),
}

const EXIT_CODES: &str = "Exit codes: 0 done; 1 it did not work; 2 a file is wrong (file, line, field and what was expected are \
                          said, and nothing has run); 64 wrong usage.";

/// `numaestro sim run`.
#[derive(Debug, Clone, Args)]
#[command(after_help = format!(
    "Examples:\n  numaestro sim run lab/scenarios/two-openmp.toml\n  numaestro sim run lab/scenarios/two-openmp.toml --policy dss --seeds 30 --chart\n  \
     numaestro sim run lab/scenarios/pools-hector.toml --set machine.delay=4 --json result.json\n  \
     numaestro sim run lab/scenarios/two-openmp.toml --seeds 1 --journal run.journal && numaestro sim replay run.journal\n\n\
     The log, the journal and the charts show the first seed.\n\n{EXIT_CODES}"
))]
pub struct RunArgs {
    /// What to run.
    #[command(flatten)]
    pub what: ScenarioArgs,
    /// Under this policy [default: the scenario's].
    #[arg(long, value_name = "POLICY")]
    pub policy: Option<String>,
    /// Go on with further seeds until the interval of the mean response time is this narrow (half
    /// its width in percent of the mean), with at most --seeds.
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    pub precision: Option<f64>,
    /// Check conservation of time, work, threads and processors at every event (slow).
    #[arg(long)]
    pub checks: bool,
    /// Draw who ran on which processor, over time.
    #[arg(long)]
    pub chart: bool,
    /// Columns of the chart [default: as the terminal is wide].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(10..=1000))]
    pub width: Option<u16>,
    /// Write means, intervals and every run as JSON.
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Write one line for each seed as CSV.
    #[arg(long, value_name = "FILE")]
    pub csv: Option<PathBuf>,
    /// Write one line for each application that ended, as CSV.
    #[arg(long, value_name = "FILE")]
    pub jobs: Option<PathBuf>,
    /// Write one line for each event.
    #[arg(long, value_name = "FILE")]
    pub log: Option<PathBuf>,
    /// Write what the engine was told and what it decided, as the manager's --journal does.
    #[arg(long, value_name = "FILE")]
    pub journal: Option<PathBuf>,
    /// Write a report with plots into one file that needs no other.
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
}

/// `numaestro sim compare`.
#[derive(Debug, Clone, Args)]
#[command(after_help = format!(
    "Examples:\n  numaestro sim compare lab/scenarios/two-openmp.toml --policies equi,dss,batch\n  \
     numaestro sim compare lab/scenarios/pools-hector.toml --baseline first-fit --html report.html\n  \
     numaestro sim compare lab/scenarios/pools-hector.toml --state pools.jsonl            # stopped with Ctrl-C ...\n  \
     numaestro sim compare lab/scenarios/pools-hector.toml --state pools.jsonl --resume   # ... goes on where it was\n  \
     numaestro sim compare lab/scenarios/pools-hector.toml --part 2/3 --state two.jsonl   # a third of it, on one machine of three ...\n  \
     numaestro sim compare lab/scenarios/pools-hector.toml --finished *.jsonl             # ... and everything together\n  \
     numaestro sim compare lab/scenarios/pools-hector.toml --json pools.json --slurm      # the same on a Slurm cluster\n\n\
     Every policy gets the same jobs (common random numbers). `*` marks a difference that is real with 95 % confidence among all that \
     are shown (Holm 1979).\n\nCommas inside parentheses belong to a policy: --policies 'equi,placement=worst-fit(equal=4,tie=lowest)'.\n\n{EXIT_CODES} \
     130 stopped by Ctrl-C; with --state, --resume goes on."
))]
pub struct CompareArgs {
    /// What to run.
    #[command(flatten)]
    pub what: ScenarioArgs,
    /// These policies [default: the scenario's sweep.policies, else its policy].
    #[arg(long, value_name = "A,B,...")]
    pub policies: Vec<String>,
    /// Compare with this one [default: the first].
    #[arg(long, value_name = "POLICY")]
    pub baseline: Option<String>,
    /// Write all means, intervals, differences and runs as JSON.
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Write one line for each run as CSV.
    #[arg(long, value_name = "FILE")]
    pub csv: Option<PathBuf>,
    /// Write a report with plots into one file that needs no other.
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Keep finished runs here, one JSON object a line [default: beside the report, JSON or CSV
    /// file; none without these].
    #[arg(long, value_name = "FILE")]
    pub state: Option<PathBuf>,
    /// Go on with what the state file has.
    #[arg(long)]
    pub resume: bool,
    /// Do only this part of the runs, and show nothing: part 2/3 is the second of three. Each part
    /// needs a state file of its own.
    #[arg(long, value_name = "K/N", requires = "state", conflicts_with_all = ["json", "csv", "html", "slurm"])]
    pub part: Option<Part>,
    /// Take the finished runs of these state files too, and do only what is missing. The files are
    /// only read.
    #[arg(long, value_name = "FILE", num_args = 1..)]
    pub finished: Vec<PathBuf>,
    /// On a cluster.
    #[command(flatten)]
    pub slurm: SlurmArgs,
}

/// `numaestro sim machines`.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Example: numaestro sim machines hector")]
pub struct MachinesArgs {
    /// Describe this one: a name from the list, or a machine's file.
    #[arg(value_name = "NAME")]
    pub name: Option<String>,
    /// For programs.
    #[arg(long)]
    pub json: bool,
}

/// `numaestro sim bench`.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Example: numaestro sim bench --swf NASA-iPSC-1993-3.1-cln.swf.gz\n\n\
                  Processor time of one thread; medians. With --check, exit code 1 where a promised number is not kept.")]
pub struct BenchArgs {
    /// Also replay this log (Standard Workload Format, also .gz) under FCFS and EASY (repeat for
    /// several).
    #[arg(long, value_name = "FILE")]
    pub swf: Vec<PathBuf>,
    /// Repetitions of each measurement.
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub runs: u32,
    /// Shorter runs.
    #[arg(long)]
    pub quick: bool,
    /// Exit with 1 if a promised number is not kept.
    #[arg(long)]
    pub check: bool,
    /// Write every number into this file.
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
}

/// `numaestro sim chaos`.
#[derive(Debug, Clone, Args)]
#[command(
    after_help = "Examples:\n  numaestro sim chaos --seeds 10000\n  numaestro sim chaos --seed 77 --trace              # one run, event by event\n  \
                  numaestro sim chaos --seed 77 --without lost,clock # does it need these?\n  numaestro sim chaos --seed 77 --steps 200 --trace  # only its beginning\n\n\
                  Faults: late, lost, repeated, wrong (notices), action (what the engine wants is not done), death, never (programs that do\n\
                  nothing they are told), unplug, clock, load, restart (of the manager), policy.\n\n\
                  Exit codes: 0 nothing found; 1 something is wrong, and how to see it again is said; 64 wrong usage; 130 stopped by Ctrl-C."
)]
pub struct ChaosArgs {
    /// Runs with this many seeds.
    #[arg(long, value_name = "N", default_value_t = 1000, conflicts_with_all = ["seed", "trace"])]
    pub seeds: u64,
    /// The first of them.
    #[arg(long, value_name = "N", default_value_t = 0, conflicts_with = "seed")]
    pub first: u64,
    /// One run with this seed.
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Print every event and every action.
    #[arg(long, requires = "seed")]
    pub trace: bool,
    /// End each run after so many steps, and ask nothing of it then.
    #[arg(long, value_name = "N")]
    pub steps: Option<u64>,
    /// Switch these faults off.
    #[arg(long, value_name = "FAULT,...", value_delimiter = ',', value_parser = fault)]
    pub without: Vec<Fault>,
    /// Runs at the same time [default: one for each processor]. The results do not depend on it.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub workers: Option<u16>,
}

/// A fault by its word.
fn fault(text: &str) -> Result<Fault, String> {
    let names = || Fault::ALL.map(Fault::name).join(", ");
    Fault::named(text).ok_or_else(|| format!("there are {}", names()))
}

/// `numaestro sim replay`.
#[derive(Debug, Clone, Args)]
#[command(
    after_help = "Example: numaestro daemon --journal run.journal   # later:\n         numaestro sim replay run.journal\n\n\
                  Exit codes: 0 byte-equal; 1 the first difference is shown; 2 it is no journal."
)]
pub struct ReplayArgs {
    /// The journal.
    #[arg(value_name = "JOURNAL")]
    pub journal: PathBuf,
}
