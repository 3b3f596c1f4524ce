//! `numaestro adopt` and `numaestro release`: take over a running program, and let one go.

use crate::cli::{AdoptArgs, ReleaseArgs};
use crate::manager::{self, Manager};
use crate::{run, say, stop};
use numaestro_abi::control::{Reply, Request};
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
    let text = match manager.ask(&Request::Adopt { pid, options })? {
        Reply::Run { app, cpus, count, .. } => {
            format!("process {pid} is application {app}: {count} processor(s), {cpus}\n")
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
    let whole = Manager::required(dir)?.give_back(&Request::Release { app: args.app })?;
    if !whole.left.is_empty() {
        return stop::report(&format!("application {} is let go", args.app), &whole);
    }
    say::print(&format!("application {} runs as if there were no manager\n", args.app))?;
    Ok(say::OK)
}
