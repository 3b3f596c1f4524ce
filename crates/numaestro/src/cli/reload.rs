//! `numaestro reload` on the command line.

use clap::Args;

const AFTER_HELP: &str = "\
Examples:
  numaestro daemon --check-config --system   try the system's configuration without touching the manager
  sudo numaestro reload                      the manager of all users takes it over
  sudo systemctl reload numaestro            the same by SIGHUP; what is wrong is in the journal

Users, groups, rules, the policy, metrics, memory and the administrators' group take effect at once, and no program loses
processors but where a new limit demands it. Directory, processors, grace time, cgroups, seed and journal are those of the
manager's start: the answer says if they are different now.";

/// `numaestro reload`.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub struct ReloadArgs {
    /// For programs.
    #[arg(long)]
    pub json: bool,
}
