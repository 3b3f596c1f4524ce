//! `numaestro stop`: the manager ends in order, every affinity restored and read back from the
//! kernel. Without a manager, the command gives back the affinities that a killed one has left.

use crate::manager::{self, Manager};
use crate::say;
use numaestro_abi::control::{LeftBehind, Request, Whole};
use numaestro_daemon::Left;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Restoring the affinities of a full machine takes milliseconds; the manager itself gives up after
/// two seconds.
const PATIENCE: Duration = Duration::from_secs(15);
/// From one look for a manager that begins or ends to the next.
const PAUSE: Duration = Duration::from_millis(20);
/// Names of processes in one message.
const NAMED_MOST: usize = 10;

/// Asks it to end and waits until it has.
pub fn stop(dir: Option<PathBuf>) -> anyhow::Result<u8> {
    let dir = manager::directory(dir)?;
    let until = Instant::now() + PATIENCE;
    let mut manager = loop {
        match Manager::reach(&dir) {
            Ok(manager) => break manager,
            Err(error) if manager::is_absent(&error) => match numaestro_daemon::restore_left(&dir) {
                // It takes over, or has just ended.
                Ok(Left::Taken) if Instant::now() < until => std::thread::sleep(PAUSE),
                left => return without_manager(&dir, left.ok()),
            },
            Err(_) => break Manager::required(Some(dir.clone()))?,
        }
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
fn without_manager(dir: &Path, left: Option<Left>) -> anyhow::Result<u8> {
    if let Some(Left::Paid(whole)) = left {
        let what = format!("no manager runs in {}; the last one was killed, and is cleaned up after", dir.display());
        return report(&what, &whole);
    }
    if let Some(Left::Taken) = left {
        let what = format!("something has {}, and does not answer", dir.display());
        return Err(say::Failure::error(say::UNAVAILABLE, what, "try again"));
    }
    say::print(&format!("no manager runs in {}\n", dir.display()))?;
    Ok(say::OK)
}

/// Says which affinities were given back, as the kernel has them; fails with the names of the
/// processes that keep one of ours.
pub fn report(what: &str, whole: &Whole) -> anyhow::Result<u8> {
    let Whole { processes, threads, left, pinned } = whole;
    if left.is_empty() {
        let count = match processes {
            0 => String::new(),
            1 => format!(" (1 process, {})", say::counted(*threads as usize, "thread")),
            _ => format!(" ({processes} processes, {})", say::counted(*threads as usize, "thread")),
        };
        let kept = kept(pinned);
        say::print(&format!("{what}; every program may use all processors again{count}{kept}\n"))?;
        return Ok(say::OK);
    }
    let (few, all) = (left.len(), left.len() + *processes as usize);
    let text = format!("{what}, but {few} of {all} processes keep an affinity of ours:{}", named(left));
    Err(say::Failure::error(say::FAILED, text, "`taskset -acp PROCESSORS PID` as the owner of the process, or as root"))
}

/// Names the processes whose affinity others have set; empty: there are none.
pub fn kept(pinned: &[LeftBehind]) -> String {
    match pinned.len() {
        0 => String::new(),
        1 => format!("; but 1 was bound by itself or by others:{}", named(pinned)),
        many => format!("; but {many} were bound by themselves or by others:{}", named(pinned)),
    }
}

/// The first of these processes, each with the reason.
fn named(processes: &[LeftBehind]) -> String {
    let one = |process: &LeftBehind| format!(" {} ({}): {}", process.pid, process.name, process.why);
    let few: Vec<String> = processes.iter().take(NAMED_MOST).map(one).collect();
    few.join(";") + if processes.len() > NAMED_MOST { "; and more" } else { "" }
}
