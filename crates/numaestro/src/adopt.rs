//! `numaestro adopt` and `numaestro release`: take over a running program, and let one go.

use crate::cli::{AdoptArgs, ReleaseArgs};
use crate::manager::{self, Manager};
use crate::say::counted;
use crate::status::clean;
use crate::{run, say, stop};
use numaestro_abi::control::{AppName, Reply, Request, Whole};
use std::path::{Path, PathBuf};

/// Takes over a running process and its descendants; starts the manager if there is none.
pub fn adopt(dir: Option<PathBuf>, args: &AdoptArgs) -> anyhow::Result<u8> {
    let pid = args.pid;
    if !Path::new("/proc").join(pid.to_string()).exists() {
        return Err(say::Failure::error(
            say::FAILED,
            format!("there is no process {pid}"),
            "find it with `pgrep -a NAME`",
        ));
    }
    let dir = manager::directory(dir)?;
    let mut manager = Manager::started(&dir)?;
    let options = run::options(&args.wish)?;
    let text = match manager.ask(&Request::Adopt { pid, options, force: args.force })? {
        Reply::Run { app, cpus, count, .. } => {
            format!("process {pid} is application {app}: {}, {cpus}\n", counted(count as usize, "processor"))
        }
        Reply::Waiting { app, position } => {
            format!("process {pid} is application {app}, in the queue at position {position}\n")
        }
        Reply::Done => format!("process {pid} is adopted\n"),
        other => return Err(manager::unexpected(&other)),
    };
    say::print(&text)?;
    Ok(say::OK)
}

/// Full affinity, no limits.
pub fn release(dir: Option<PathBuf>, args: &ReleaseArgs) -> anyhow::Result<u8> {
    let (who, whole) = let_go(&mut Manager::required(dir)?, AppName::Word(args.app.clone()))?;
    if !whole.left.is_empty() {
        return stop::report(&format!("{who} is let go"), &whole);
    }
    say::print(&format!("{who} runs as if there were no manager{}\n", stop::kept(&whole.pinned)))?;
    Ok(say::OK)
}

/// Asks the manager to let an application go: gives its name for people, and what was given back.
pub fn let_go(manager: &mut Manager, app: AppName) -> anyhow::Result<(String, Whole)> {
    match manager.ask(&Request::Release { app })? {
        Reply::Released { app, pid, name, whole } => {
            Ok((format!("{} (application {app}, process {pid})", clean(&name)), whole))
        }
        other => Err(manager::unexpected(&other)),
    }
}
