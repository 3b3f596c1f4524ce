//! Finds the manager of a runtime directory, or starts one: the first step of every command.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use numaestro_abi::control::{Reply, Request};
use numaestro_host::detach;
use numaestro_host::rundir::RuntimeDir;
use numaestro_host::signals::{BlockedSignals, Signal};
use numaestro_host::socket::{self, Sort};

use crate::Config;
use crate::guard;
use crate::manager::Manager;
use crate::people::front::Ending;
use crate::state::LOG_FILE;

/// Set by [`ensure_running`] for the manager it starts: a line on standard output is waited for.
const READY_VARIABLE: &str = "NUMAESTRO_READY";
/// Most of the log that is read for the reason of an end.
const LAST_WORDS_BYTES: u64 = 16 * 1024;
/// Attempts to reach a manager: one may end just when a command comes.
const TRIES: u32 = 5;
/// A living manager answers a ping in microseconds.
const PATIENCE: Duration = Duration::from_secs(5);

/// A connection to the manager, one request and one reply a line.
#[derive(Debug)]
pub struct Connection {
    stream: BufReader<UnixStream>,
}

impl Connection {
    /// Connects to the manager of a directory; an error if there is none that can be believed.
    pub fn open(dir: &RuntimeDir) -> Result<Self> {
        let fd = socket::connect_trusted(&dir.control_socket(), Sort::Stream)?;
        Ok(Self { stream: BufReader::new(UnixStream::from(fd)) })
    }

    /// Sends one request.
    pub fn send(&mut self, request: &Request) -> Result<()> {
        let mut line = serde_json::to_vec(request)?;
        line.push(b'\n');
        let mut sent = 0;
        while sent < line.len() {
            // Not `write`: a manager that has gone must not raise SIGPIPE in the command.
            sent += socket::send_waiting(self.stream.get_ref().as_fd(), &line[sent..])?;
        }
        Ok(())
    }

    /// Waits for one reply; `None` if the manager has closed the connection.
    pub fn receive(&mut self) -> Result<Option<Reply>> {
        let mut line = String::new();
        let read = self.stream.read_line(&mut line).context("the manager does not answer")?;
        if read == 0 {
            return Ok(None);
        }
        Ok(Some(serde_json::from_str(&line).context("the manager's answer is not understood")?))
    }

    /// Sends one request and waits for its first reply.
    pub fn ask(&mut self, request: &Request) -> Result<Reply> {
        self.send(request)?;
        self.receive()?.context("the manager has ended; try again")
    }

    /// The socket, for callers that wait on several things.
    pub fn stream(&self) -> &UnixStream {
        self.stream.get_ref()
    }

    fn is_alive(&mut self) -> bool {
        matches!(self.ask(&Request::Ping), Ok(Reply::Done))
    }
}

/// Connects to the manager of `dir`, starting `exe daemon --dir DIR` if there is none. Any number
/// of callers at once start one manager.
///
/// The connection has been tried: while it is open, the manager does not end by itself.
pub fn ensure_running(dir: &Path, exe: &Path) -> Result<Connection> {
    let dir = RuntimeDir::open(dir)?;
    if dir.is_shared() {
        let why = "the system's manager does not answer";
        let hint = "`systemctl status numaestro` says more; --user starts one of your own";
        return living(&dir).with_context(|| format!("{why}: {hint}"));
    }
    let mut said = String::new();
    for attempt in 0..TRIES {
        if let Some(connection) = living(&dir) {
            return Ok(connection);
        }
        let _starting = dir.lock_start()?;
        // Somebody else may have started it while we waited for the lock.
        if let Some(connection) = living(&dir) {
            return Ok(connection);
        }
        said = start(&dir, exe)?;
        if let Some(connection) = living(&dir) {
            return Ok(connection);
        }
        std::thread::sleep(Duration::from_millis(u64::from(attempt + 1) * 20));
    }
    if said.is_empty() {
        said = format!("it ended without a word, see {}", dir.file(LOG_FILE).display());
    }
    bail!("no manager could be started in {}: {said}", dir.path().display())
}

fn living(dir: &RuntimeDir) -> Option<Connection> {
    let mut connection = Connection::open(dir).ok()?;
    // A manager that is stopped or hangs must not hold up anybody for ever.
    connection.stream().set_read_timeout(Some(PATIENCE)).ok()?;
    let alive = connection.is_alive();
    connection.stream().set_read_timeout(None).ok()?;
    alive.then_some(connection)
}

/// Starts a manager, and waits until it is ready or has ended. Gives the reason why it has ended,
/// as it said it; empty if it is ready or has said nothing.
fn start(dir: &RuntimeDir, exe: &Path) -> Result<String> {
    let mut log = dir.log_file(LOG_FILE)?;
    let before = log.seek(SeekFrom::End(0)).unwrap_or(0);
    let mut command = Command::new(exe);
    command.arg("daemon").arg("--dir").arg(dir.path()).env(READY_VARIABLE, "1");
    // A library that is preloaded into programs has no business in the manager.
    command.env_remove("LD_PRELOAD");
    let mut ready = detach::spawn_detached(command, log).context("cannot start the manager")?;
    let mut line = [0; 16];
    // An end without a line: it did not start, or another one is there already; the next connection
    // tells.
    if ready.read(&mut line).is_ok_and(|bytes| bytes > 0) {
        return Ok(String::new());
    }
    let mut text = Vec::new();
    let _ = File::open(dir.file(LOG_FILE)).and_then(|mut log| {
        log.seek(SeekFrom::Start(before))?;
        log.take(LAST_WORDS_BYTES).read_to_end(&mut text)
    });
    Ok(last_words(&String::from_utf8_lossy(&text)))
}

/// The reason in the log of a manager that did not start.
fn last_words(log: &str) -> String {
    let reason = |line: &str| line.split_once("error: ").map(|(_, reason)| reason.trim().to_owned());
    let error = log.lines().rev().find_map(reason);
    error.or_else(|| log.lines().rev().find(|line| !line.trim().is_empty()).map(str::to_owned)).unwrap_or_default()
}

/// The end of a manager's life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// In an orderly way.
    Orderly,
    /// Before it began: another manager has the directory.
    Taken,
}

/// The manager's whole life: returns when it has ended in an orderly way, or at once if another
/// manager has the directory.
pub fn main_loop(config: Config) -> Result<End> {
    let waited_for = std::env::var_os(READY_VARIABLE).is_some();
    prefer_to_react();
    if waited_for {
        trim_log(&config);
    }
    let guard = guard::start(&config);
    let Some(mut manager) = Manager::new(config, guard)? else {
        tracing::info!("another manager has this directory");
        return Ok(End::Taken);
    };
    let place = manager.place().to_owned();
    if waited_for {
        let mut out = std::io::stdout();
        let _ = out.write_all(b"ready\n").and_then(|()| out.flush());
        detach::close_ready_pipe();
    }
    manager.announce();
    // Whoever started a manager by hand, with options, starts the next one.
    if manager.run()? == Ending::Homeless && waited_for {
        follow(&place);
    }
    Ok(End::Orderly)
}

/// The manager's directory has gone and cannot be made again, as after a logout: if it was one of
/// the usual ones, the programs that have lost their manager look for the next one in the next
/// usual place.
fn follow(place: &Path) {
    let next = RuntimeDir::default_path();
    if next == place || !RuntimeDir::own_places().iter().any(|usual| usual == place) {
        return;
    }
    let begun = std::env::current_exe().map_err(anyhow::Error::from).and_then(|exe| ensure_running(&next, &exe));
    match begun {
        Ok(_) => tracing::info!(directory = %next.display(), "the next manager is there"),
        Err(cause) => tracing::warn!("programs are on their own until the next `numaestro run`: {cause:#}"),
    }
}

/// The manager has little to do, but that at once; and another thread must not take the reports to
/// the thread that stops programs.
fn prefer_to_react() {
    numaestro_host::stop::prefer_short();
    if let Err(cause) = BlockedSignals::block(&[Signal::CHILD]) {
        tracing::warn!("programs are stopped a little later: {cause}");
    }
}

/// Keeps the log of a manager that nobody reads from growing for ever.
fn trim_log(config: &Config) {
    const LOG_BYTES_MAX: u64 = 1 << 20;
    let path = config.dir.join(LOG_FILE);
    if std::fs::metadata(&path).is_ok_and(|found| found.len() > LOG_BYTES_MAX) {
        let _ = File::options().write(true).truncate(true).open(path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reason_of_an_end_is_found_in_the_log() {
        let log = "WARN something\nnumaestro: error: /x/config.toml: cannot be read\nnumaestro: next: try\n";
        assert_eq!(last_words(log), "/x/config.toml: cannot be read");
        assert_eq!(last_words("ld.so: no such library\n\n"), "ld.so: no such library");
        assert_eq!(last_words(""), "");
    }
}
