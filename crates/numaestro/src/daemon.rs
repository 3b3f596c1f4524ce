//! `numaestro daemon`: this process is the manager until it ends. What it does is in the crate `numaestro-daemon`.

use crate::cli::DaemonArgs;
use crate::{exec, manager, say};
use std::path::PathBuf;

/// The subcommand.
pub fn daemon(dir: Option<PathBuf>, args: &DaemonArgs) -> anyhow::Result<u8> {
    // A program that hangs up while it is answered must not take the manager with it.
    exec::ignore_broken_pipes();
    let _dir = manager::directory(dir)?;
    let _ = args;
    Ok(say::OK)
}
