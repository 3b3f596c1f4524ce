//! The manager's guard: a copy of its process that stops programs for it, sleeps otherwise until
//! the manager ends, and gives back the affinities that a killed one owes.
//!
//! It stops programs because a manager may be frozen (`SIGSTOP`, a debugger): the guard misses the
//! signs of life then, and lets everything go.
//!
//! Programs with a page notice by themselves that their manager is gone. A program without one (a
//! shell, Python, Go, a static binary) has nobody inside: it would keep an affinity of ours for
//! ever. So the manager makes a copy of itself before it does anything else. The copy holds the
//! other end of a socket and nothing more, and costs nothing while it sleeps. When the socket ends,
//! the state file lists the affinities that are owed: an orderly end removes it. First the guard
//! waits, because another manager may be on its way and take over; then it gives every affinity
//! back, as an orderly end does, and leaves the file to the next manager. Where the guard was
//! killed too (`killall -9`), the next manager or `numaestro stop` pays.

use std::io::Write;
use std::os::fd::OwnedFd;
use std::time::Duration;

use numaestro_abi::control::Whole;
use numaestro_host::detach;
use numaestro_host::rundir::RuntimeDir;
use numaestro_host::stop::{self, Remote};
use tracing::{info, warn};

use crate::config::Config;
use crate::hands::kernel::Linux;
use crate::hands::masks::Masks;
use crate::hands::notes::NOTES_FILE;
use crate::hands::whole::Debts;
use crate::state::{LOG_FILE, STATE_FILE, owed_by_former};

/// Time for the next manager. A service manager needs a fraction of it, a waiting `run`
/// milliseconds.
const GRACE: Duration = Duration::from_secs(3);
/// Most time for which the guard tries affinities that it cannot give back at once.
const PATIENCE: Duration = Duration::from_secs(2);

/// Makes the copy. To be called before the manager has threads. Without one no program can be
/// stopped, and a manager that is killed is followed up by the next one only.
pub(crate) fn start(config: &Config) -> Option<Remote> {
    let dir = crate::service::directory(config).ok()?;
    match detach::fork_watcher(c"numaestro-guard", move |socket| watch(&dir, socket)) {
        Ok(guard) => Some(Remote::new(guard)),
        Err(cause) => {
            warn!("nobody will stop programs, or look after them if this manager is killed: {cause}");
            None
        }
    }
}

/// The life of the copy.
fn watch(dir: &RuntimeDir, socket: OwnedFd) {
    if !stop::serve(&socket) || !dir.file(STATE_FILE).exists() {
        return;
    }
    drop(socket);
    std::thread::sleep(GRACE);
    if let Ok(Left::Paid(whole)) = pay_for_former(dir) {
        let _ = record(dir, &whole);
    }
}

/// What a manager that does not run has left behind.
#[derive(Debug, PartialEq, Eq)]
pub enum Left {
    /// It owed nothing.
    Nothing,
    /// It was killed, and what it owed has been given back.
    Paid(Whole),
    /// Somebody has the directory: a manager that begins or ends, which pays.
    Taken,
}

/// Gives back the affinities that a killed manager owes.
fn pay_for_former(dir: &RuntimeDir) -> anyhow::Result<Left> {
    let _cleaning = dir.lock_cleaning()?;
    let Some(_lock) = dir.lock_manager()? else { return Ok(Left::Taken) };
    let Some((owed, memory)) = owed_by_former(dir) else { return Ok(Left::Nothing) };
    let managed = std::collections::BTreeSet::new();
    let mut masks = Masks::new(std::rc::Rc::new(Linux), dir.attach_socket());
    masks.remember(memory);
    let masks = std::cell::RefCell::new(masks);
    Ok(Left::Paid(Debts { owed: &owed, managed: &managed, masks: &masks }.pay(PATIENCE, || true)))
}

/// Adds the result to the log that holds the killed manager's last words.
fn record(dir: &RuntimeDir, whole: &Whole) -> anyhow::Result<()> {
    let mut log = dir.log_file(LOG_FILE)?;
    let Whole { processes, threads, left, .. } = whole;
    writeln!(log, "the manager was killed; {processes} processes with {threads} threads have their affinity back")?;
    for left in left {
        writeln!(log, "process {} ({}) keeps an affinity of ours: {}", left.pid, left.name, left.why)?;
    }
    Ok(())
}

/// For `stop` without a manager: gives back the affinities that the last one owed if it was killed,
/// and forgets about it.
pub fn restore_left(dir: &std::path::Path) -> anyhow::Result<Left> {
    let dir = RuntimeDir::open(dir)?;
    if dir.is_shared() && numaestro_host::own_uid() != 0 {
        return Ok(Left::Nothing);
    }
    let left = pay_for_former(&dir)?;
    if let Left::Paid(whole) = &left
        && whole.left.is_empty()
    {
        info!("what the last manager left is paid");
        for name in [STATE_FILE, NOTES_FILE] {
            let _ = std::fs::remove_file(dir.file(name));
        }
    }
    Ok(left)
}
