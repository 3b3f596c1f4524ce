//! The options of every command, of the product and of the laboratory.

use clap::Args;
use std::path::PathBuf;

/// Options of every subcommand stand apart from its own in the help pages.
const EVERYWHERE: &str = "Options of every command";

/// The options that stand before or behind every subcommand.
#[derive(Debug, Clone, Default, Args)]
pub struct GlobalArgs {
    /// Say more on stderr: -v what is done, -vv every step.
    #[arg(short, long, global = true, help_heading = EVERYWHERE, action = clap::ArgAction::Count)]
    pub verbose: u8,
    /// Runtime directory of the manager, instead of the usual one (see Environment).
    #[arg(long, global = true, help_heading = EVERYWHERE, value_name = "DIR")]
    pub dir: Option<PathBuf>,
    /// Use a manager of your own, also where the system has one for everybody. `--dir` goes before
    /// it.
    // Not refused beside `--dir`: the variable may be there whatever is typed.
    #[arg(long, global = true, help_heading = EVERYWHERE, env = "NUMAESTRO_USER", hide_env = true,
          value_parser = clap::builder::FalseyValueParser::new())]
    pub user: bool,
}

impl GlobalArgs {
    /// The manager's directory as far as the user has named one.
    #[must_use]
    pub fn directory(self) -> Option<PathBuf> {
        self.dir.or_else(|| self.user.then(crate::manager::own_directory))
    }
}
