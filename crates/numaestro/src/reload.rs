//! `numaestro reload`: has the manager read its configuration again.

use crate::cli::ReloadArgs;
use crate::manager::{self, Manager};
use crate::say;
use numaestro_abi::control::{Reloaded, Reply, Request};
use std::fmt::Write;
use std::path::PathBuf;

/// The subcommand.
pub fn reload(dir: Option<PathBuf>, args: &ReloadArgs) -> anyhow::Result<u8> {
    let reloaded = match Manager::required(dir)?.ask(&Request::Reload)? {
        Reply::Reloaded(reloaded) => reloaded,
        other => return Err(manager::unexpected(&other)),
    };
    if args.json {
        say::print(&format!("{}\n", serde_json::to_string(&reloaded)?))?;
        return Ok(say::OK);
    }
    reloaded.warnings.iter().for_each(|warning| say::warn(warning));
    say::print(&words(&reloaded))?;
    Ok(say::OK)
}

fn words(reloaded: &Reloaded) -> String {
    let mut text = String::from("the configuration has been read again\n");
    for file in &reloaded.files {
        let _ = writeln!(text, "read  {file}");
    }
    text
}
