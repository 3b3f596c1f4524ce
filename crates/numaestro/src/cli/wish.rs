//! The wishes of a user for one application.

use super::values::{parse_size, parse_weight};
use crate::class::ClassArg;
use clap::Args;

/// Wishes for one application, the same for `run`, `shell` and `adopt`.
#[derive(Debug, Clone, Default, Args)]
pub struct WishArgs {
    /// Never fewer processors than this.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub min: Option<u32>,
    /// Never more processors than this.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub max: Option<u32>,
    /// Share relative to others; 1 is usual, 2 means twice as many processors.
    #[arg(long, value_name = "X", value_parser = parse_weight)]
    pub weight: Option<f64>,
    /// Name to show; default: the program's.
    #[arg(long, value_name = "S")]
    pub name: Option<String>,
    /// How the program may be steered.
    #[arg(long, value_enum, value_name = "CLASS")]
    pub class: Option<ClassArg>,
    /// Cache lines that each of its threads moves to and from memory per millisecond, where nothing
    /// counts them (1 GB/s is 15625).
    #[arg(long, value_name = "RATE")]
    pub btr: Option<u32>,
    /// Memory it is going to need, all its processes together: `800M`, `12G`, `1.5T`. Policies that
    /// place pages may go by it.
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub mem: Option<u64>,
}
