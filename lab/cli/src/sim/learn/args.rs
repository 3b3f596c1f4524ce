//! The words of `numaestro sim learn`.

use crate::bench::args::PlaceArgs;
use crate::class::ClassArg;
use clap::Args;
use std::ffi::OsString;
use std::path::PathBuf;

/// `numaestro sim learn`.
#[derive(Debug, Clone, Args)]
#[command(
    after_help = "Examples:\n  numaestro sim learn -- ./app --size 500 > app.toml\n  numaestro sim learn --class malleable --runs 5 --output app.toml -- ./app\n  \
                  numaestro sim learn --journal run.journal --name app\n\n\
                  The command runs alone, under a manager of its own, on 1, 2, 4 … processors, several times on each; the median run counts.\n\
                  Then put `programs = [\"app.toml\"]` into a scenario.\n\n\
                  Exit codes: 0 done; 1 it did not work; 2 the journal is wrong; 64 wrong usage."
)]
pub struct LearnArgs {
    /// Learn from the applications of this journal that are called --name.
    #[arg(long, value_name = "FILE", requires = "name", conflicts_with = "command")]
    pub journal: Option<PathBuf>,
    /// The program's name [default: the command's].
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,
    /// Numbers of processors to run on [default: 1, 2, 4 … and all].
    #[arg(long, value_name = "N,...", value_delimiter = ',')]
    pub processors: Option<Vec<u32>>,
    /// Runs on each number of processors.
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub runs: u32,
    /// The class under which it runs, as for `numaestro run`.
    #[arg(long, value_enum, value_name = "CLASS")]
    pub class: Option<ClassArg>,
    /// Share of the machine in percent that others may use during a run; more, and it is repeated.
    #[arg(long, value_name = "PERCENT", default_value_t = 6.0)]
    pub foreign: f64,
    /// Runs that are repeated at most, for each number of processors.
    #[arg(long, value_name = "N", default_value_t = 5)]
    pub tries: u32,
    /// Kill a run after this many seconds, and give up.
    #[arg(long, value_name = "S", default_value_t = 600.0)]
    pub time_limit: f64,
    /// Write the program file here [default: stdout].
    #[arg(long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Write curve and program as JSON.
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Where things are.
    #[command(flatten)]
    pub places: PlaceArgs,
    /// The program and its arguments.
    #[arg(
        required_unless_present = "journal",
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "COMMAND"
    )]
    pub command: Vec<OsString>,
}
