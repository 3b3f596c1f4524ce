//! The words of a command line for a comparison on a Slurm cluster.

use clap::Args;

/// Where, and on how much of a cluster.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "On a cluster")]
pub struct SlurmArgs {
    /// Run on a Slurm cluster: one array job, whose tasks share the runs. The nodes need this very
    /// numaestro in the same path, and the directories of the scenario and of the state file.
    #[arg(long)]
    pub slurm: bool,
    /// In this partition [default: the cluster's].
    #[arg(long, value_name = "NAME", requires = "slurm")]
    pub partition: Option<String>,
    /// On so many whole nodes at the same time, at most [default: on single processors, as many as
    /// Slurm gives].
    #[arg(long, value_name = "N", requires = "slurm", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub nodes: Option<u32>,
    /// Tasks of the array job [default: two for each processor of the partition; with --nodes, four
    /// for each node].
    #[arg(long, value_name = "N", requires = "slurm", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub tasks: Option<u32>,
    /// Hand this option to sbatch, such as --time=2:00:00 or --account=lab (repeat for several).
    #[arg(long, value_name = "OPTION", requires = "slurm", allow_hyphen_values = true)]
    pub sbatch: Vec<String>,
}
