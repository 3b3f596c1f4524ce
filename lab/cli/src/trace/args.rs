//! The words of `numaestro trace`.

use clap::{Args, Subcommand, ValueEnum};
use numaestro_quantity::DURATION;
use std::path::PathBuf;

/// What can be done with a journal.
#[derive(Debug, Subcommand)]
pub enum TraceCommand {
    /// Write a trace for Paraver or Perfetto.
    Export(ExportArgs),
    /// Draw it in the terminal.
    Show(ShowArgs),
}

/// `numaestro trace export`.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  numaestro daemon --journal run.journal          record what the manager does, or
  numaestro sim run lab/scenarios/two-openmp.toml --seeds 1 --journal run.journal
  numaestro trace export run.journal              writes run.pftrace, for https://ui.perfetto.dev
  numaestro trace export --format paraver run.journal
                                                  writes run.prv, run.pcf, run.row and run.cfg, for Paraver

Every processor and every application has a row; decisions, reports and departures are events. Guests on processors
and load that is not managed are shown, too. A recording (numaestro record dump) has the date of its run.

In Paraver, open run.prv first, then run.cfg: it opens windows on who is on which processor and on the number of
processors of each application.

Exit codes: 0 written; 1 a file cannot be read or written; 2 it is no journal.")]
pub struct ExportArgs {
    /// The journal.
    #[arg(value_name = "JOURNAL")]
    pub journal: PathBuf,
    /// For which viewer.
    #[arg(short, long, value_enum, default_value_t = Format::Perfetto)]
    pub format: Format,
    /// Name of the files, without ending [default: the journal's].
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// A viewer's format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Track events as protobuf, for Perfetto's viewer and its trace processor.
    Perfetto,
    /// The text files of Paraver, with windows that show them.
    Paraver,
}

/// `numaestro trace show`.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  numaestro trace show run.journal                    who had which processor, over time
  numaestro trace show run.journal --by application   how many processors each application had
  numaestro trace show run.journal --from 2s --to 3s  a part of it
  numaestro trace show run.journal --at 2.5s          one placement: a letter for each processor, by node

A row `guests` has the applications that run on a processor beside its owner, `+` stands for several. `x` is load that is not managed.
Times count from the first event of the journal.

Exit codes: 0 drawn; 1 it cannot be read; 2 it is no journal.")]
pub struct ShowArgs {
    /// The journal.
    #[arg(value_name = "JOURNAL")]
    pub journal: PathBuf,
    /// What the rows are.
    #[arg(long, value_enum, default_value_t = Rows::Processor)]
    pub by: Rows,
    /// Begin here.
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub from: Option<u64>,
    /// End here.
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub to: Option<u64>,
    /// The placement at one moment instead of a chart.
    #[arg(long, value_name = "TIME", value_parser = time, conflicts_with_all = ["by", "from", "to"])]
    pub at: Option<u64>,
    /// Columns [default: the terminal's width, else 100].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(10..=1000))]
    pub width: Option<u16>,
}

/// What a row of the chart is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Rows {
    /// A processor; a letter is an application.
    Processor,
    /// An application; a digit is a number of processors.
    Application,
}

/// A time from the beginning, in nanoseconds; a number alone is of seconds.
fn time(text: &str) -> Result<u64, String> {
    DURATION.or_bare("s").read_within(text, 0..=u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::time;
    use numaestro_quantity::spellings::DURATIONS;

    #[test]
    fn a_time_is_written_as_everywhere_or_a_number_of_seconds() {
        for (text, ns) in DURATIONS.into_iter().chain([("0", 0), ("2.5", 2_500_000_000), ("300 ms", 300_000_000)]) {
            assert_eq!(time(text), Ok(ns), "{text}");
        }
        for wrong in ["", "-1s", "soon"] {
            assert!(time(wrong).is_err_and(|said| said.ends_with("or a number of s")), "{wrong}");
        }
    }
}
