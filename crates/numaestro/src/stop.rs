//! `numaestro stop`: the manager ends in order, every affinity restored and read back from the
//! kernel. Without a manager, the command gives back the affinities that a killed one has left.

use crate::manager::{self, Manager};
use crate::say;
use numaestro_abi::control::{Request, Whole};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Restoring the affinities of a full machine takes milliseconds; the manager itself gives up after
/// two seconds.
const PATIENCE: Duration = Duration::from_secs(15);
/// Names of processes in one message.
const NAMED_MOST: usize = 10;

/// Asks it to end and waits until it has.
pub fn stop(dir: Option<PathBuf>) -> anyhow::Result<u8> {
    let dir = manager::directory(dir)?;
    let mut manager = match Manager::reach(&dir) {
        Ok(manager) => manager,
        Err(error) if manager::is_absent(&error) => return without_manager(&dir),
        Err(_) => Manager::required(Some(dir.clone()))?,
    };
    let pid = manager.status()?.pid;
    manager.wait_at_most(PATIENCE);
    let whole = manager.give_back(&Request::Stop)?;
    // It closes its connections when everything is said.
    if !manager.wait_for_end() {
        let next = "look at it with `numaestro status`; `kill` ends it too";
        return Err(say::Failure::error(say::FAILED, "the manager has agreed to end but has not", next));
    }
    if manager.is_activated(pid) {
        say::note("the next command starts it again; `systemctl stop numaestro.socket numaestro` prevents that");
    }
    report("the manager has ended", &whole)
}

/// One that was killed may have left programs where it had put them.
fn without_manager(dir: &Path) -> anyhow::Result<u8> {
    if let Ok(Some(whole)) = numaestro_daemon::restore_left(dir) {
        let what = format!("no manager runs in {}; the last one was killed, and is cleaned up after", dir.display());
        return report(&what, &whole);
    }
    say::print(&format!("no manager runs in {}\n", dir.display()))?;
    Ok(say::OK)
}

/// Says which affinities were given back, as the kernel has them; fails with the names of the
/// processes that keep one of ours.
pub fn report(what: &str, whole: &Whole) -> anyhow::Result<u8> {
    let Whole { processes, threads, left } = whole;
    if left.is_empty() {
        let count = match processes {
            0 => String::new(),
            1 => format!(" (1 process, {})", say::counted(*threads as usize, "thread")),
            _ => format!(" ({processes} processes, {})", say::counted(*threads as usize, "thread")),
        };
        say::print(&format!("{what}; every program may use all processors again{count}\n"))?;
        return Ok(say::OK);
    }
    let mut text = format!(
        "{what}, but {} of {} processes keep an affinity of ours:",
        left.len(),
        left.len() + *processes as usize
    );
    for left in left.iter().take(NAMED_MOST) {
        write!(text, " {} ({}): {};", left.pid, left.name, left.why)?;
    }
    let text = if left.len() > NAMED_MOST { format!("{text} and more") } else { text.trim_end_matches(';').to_owned() };
    Err(say::Failure::error(say::FAILED, text, "`taskset -acp PROCESSORS PID` as the owner of the process, or as root"))
}
