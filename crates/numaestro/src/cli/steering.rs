//! The words of the commands that steer programs which run already.

use super::WishArgs;
use super::values::{parse_most, parse_weight};
use crate::class::ClassArg;
use clap::Args;
use numaestro_abi::control::Most;

/// The ways to name an application, for the help of every command that takes one.
const APP_HELP: &str = "\
APP is one of
  the letter in the first column of `numaestro status`    B
  the application's number                                 3
  the id of any process that belongs to it                 4711
  the program's name                                       lulesh
A word that fits two applications is refused with the list of both.";

/// `numaestro adopt`.
#[derive(Debug, Args)]
#[command(
    after_help = "Example: numaestro adopt --max 4 $(pgrep -n lulesh)\n\nAn adopted program is folded: its threads stay as \
                        many as they are and are kept on the processors it gets. Its descendants come with it."
)]
pub struct AdoptArgs {
    /// Its process id.
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    pub pid: u32,
    /// What is wished for.
    #[command(flatten)]
    pub wish: WishArgs,
    /// Also init, a thread of the kernel, or the shell that you ask from.
    #[arg(long)]
    pub force: bool,
}

/// `numaestro release`.
#[derive(Debug, Args)]
#[command(after_help = format!("Examples: numaestro release B\n          numaestro release lulesh\n\n{APP_HELP}"))]
pub struct ReleaseArgs {
    /// The application.
    #[arg(value_name = "APP")]
    pub app: String,
}

/// `numaestro set`.
#[derive(Debug, Args)]
#[command(after_help = format!(
    "Examples: numaestro set lulesh --max 4            never more than four processors from now on\n          \
               numaestro set B --max none --weight 2   no limit, twice the share of the others\n          \
               numaestro set 4711 --min 2              never fewer than two\n          \
               numaestro set A --class malleable       its OpenMP teams follow the processors\n\n{APP_HELP}\n\n\
     Your limit goes before whatever the program asks for, earlier or later. What you set for a shell or a\n\
     script also holds for the programs in it. It lasts until the program ends, also under the next manager."
))]
pub struct SetArgs {
    /// The application.
    #[arg(value_name = "APP")]
    pub app: String,
    /// What changes.
    #[command(flatten)]
    pub changes: ChangeArgs,
    /// For programs: the wishes that hold now.
    #[arg(long)]
    pub json: bool,
}

/// New wishes; at least one.
#[derive(Debug, Clone, Default, Args)]
#[group(required = true, multiple = true)]
pub struct ChangeArgs {
    /// Never more processors than this; `none`: no limit.
    #[arg(long, value_name = "N|none", value_parser = parse_most)]
    pub max: Option<Most>,
    /// Never fewer processors than this; 1 is usual.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub min: Option<u32>,
    /// Share relative to others; 1 is usual, 2 means twice as many processors.
    #[arg(long, value_name = "X", value_parser = parse_weight)]
    pub weight: Option<f64>,
    /// How the program may be steered. A running OpenMP program can change between auto, malleable
    /// and fold.
    #[arg(long, value_enum, value_name = "CLASS")]
    pub class: Option<ClassArg>,
}
