//! The words of `numaestro profile`.

use super::values::parse_weight;
use super::{FoldArg, LibraryRule, PoolArg};
use crate::class::ClassArg;
use clap::Subcommand;

/// `numaestro profile`.
#[derive(Debug, Subcommand)]
pub enum ProfileCommand {
    /// Every profile there is.
    List {
        /// For programs.
        #[arg(long)]
        json: bool,
    },
    /// Add or replace one.
    #[command(
        after_help = "Examples: numaestro profile add --class malleable ./lulesh\n          numaestro profile add --max 4 lulesh\n          numaestro profile add --fold kernel ./app\n          numaestro profile add --library 'libscipy_openblas*=leave' python3\n          numaestro profile add --pool now ./app"
    )]
    Add {
        /// How the program may be steered.
        #[arg(long, value_enum)]
        class: Option<ClassArg>,
        /// Never more processors.
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
        max: Option<u32>,
        /// Share relative to others.
        #[arg(long, value_name = "X", value_parser = parse_weight)]
        weight: Option<f64>,
        /// Cache lines that each of its threads moves to and from memory per millisecond.
        #[arg(long, value_name = "RATE")]
        btr: Option<u32>,
        /// Party that switches between threads while they are more than the processors.
        #[arg(long, value_enum, value_name = "WHO")]
        fold: Option<FoldArg>,
        /// How a library in it is steered: `set` by its own setter, `answer` its questions about
        /// numbers of threads with the processors, or `leave` alone. NAME is that of the library's
        /// file; * and ? stand for other characters. May be given several times.
        #[arg(long, value_name = "NAME=VERB")]
        library: Vec<LibraryRule>,
        /// What pools of threads that are sized once are sized for.
        #[arg(long, value_enum, value_name = "SIZE")]
        pool: Option<PoolArg>,
        /// Path of the program, or its name without a slash.
        program: String,
    },
    /// Forget one.
    Remove {
        /// As `list` shows it.
        program: String,
    },
}
