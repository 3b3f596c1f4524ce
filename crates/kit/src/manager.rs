//! Talks with the manager: sends one JSON line, and reads one or more back. Finds its sockets, and
//! starts it.

use crate::say;
use crate::silence::{IMPATIENCE, Silence};
use numaestro_abi::attach::Notice;
use numaestro_abi::control::{AppName, AppWishes, NewWishes, RefusalKind, Reply, Request, Status, Whole};
use numaestro_host::HostError;
use numaestro_host::rundir::RuntimeDir;
use numaestro_host::socket::{self, Sort};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::net::SendFlags;
use rustix::time::Timespec;
use std::io::{BufRead, BufReader};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A manager that is alive answers in microseconds; one that is stopped or hangs must not hold up a
/// program.
const PATIENCE: Duration = Duration::from_secs(5);
/// Who waits in its queue asks after so long whether it is still there.
const LOOK: Duration = Duration::from_secs(2);

/// A connection to the manager.
#[derive(Debug)]
pub struct Manager {
    dir: PathBuf,
    stream: BufReader<UnixStream>,
}

impl Manager {
    /// The manager of `dir`, if one runs, and is nobody else's than root's or our own.
    pub fn reach(dir: &Path) -> std::io::Result<Self> {
        let fd = socket::connect_trusted(&dir.join("control"), Sort::Stream).map_err(HostError::into_cause)?;
        Self::over(dir, fd.into())
    }

    fn over(dir: &Path, stream: UnixStream) -> std::io::Result<Self> {
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        Ok(Self { dir: dir.to_owned(), stream: BufReader::new(stream) })
    }

    /// Asks whether it answers at all, with little patience if it has not done so lately.
    fn greet(&mut self) -> std::io::Result<()> {
        let silence = Silence::of(&self.dir, self.stream.get_ref().as_fd());
        if silence.as_ref().is_some_and(Silence::is_known) {
            self.wait_at_most(IMPATIENCE);
        }
        let answer = self.send(&Request::Ping).and_then(|()| self.line());
        match &answer {
            Ok(_) => silence.iter().for_each(Silence::forget),
            Err(error) if is_silence(error) => silence.iter().for_each(Silence::note),
            Err(_) => {}
        }
        self.wait_at_most(PATIENCE);
        answer.map(drop)
    }

    /// The manager of `dir`, or a failure that says how to get one.
    pub fn required(dir: Option<PathBuf>) -> anyhow::Result<Self> {
        let dir = directory(dir)?;
        Self::reach(&dir).map_err(|error| absent(&dir, &error))
    }

    /// The manager of `dir`, started if there is none.
    pub fn started(dir: &Path) -> anyhow::Result<Self> {
        match Self::reach(dir) {
            Ok(mut manager) => match manager.greet() {
                Ok(()) => return Ok(manager),
                Err(error) if is_silence(&error) => return Err(lost(&error)),
                // It is just ending; another one is started.
                Err(_) => {}
            },
            Err(error) if is_absent(&error) => {}
            Err(error) => return Err(absent(dir, &error)),
        }
        // Its connection is kept: a manager does not end while somebody is connected.
        let connection = numaestro_daemon::ensure_running(dir, &std::env::current_exe()?)?;
        Ok(Self::over(dir, connection.stream().try_clone()?)?)
    }

    /// Asks, and waits for the first answer. A refusal is a [`say::Failure`].
    pub fn ask(&mut self, request: &Request) -> anyhow::Result<Reply> {
        self.send(request).map_err(|error| lost(&error))?;
        self.answer()
    }

    /// Lets the manager stop this process, and the program it becomes, for the length of other
    /// programs' turns.
    pub fn permit_to_stop(&self) {
        // With sockets of a service manager this is its process, of which the manager is a child:
        // that is permitted too.
        if let Ok(peer) = numaestro_host::socket::peer(self.stream.get_ref().as_fd()) {
            numaestro_host::stop::permit(peer.pid);
        }
    }

    fn send(&mut self, request: &Request) -> std::io::Result<()> {
        let mut line = serde_json::to_vec(request)?;
        line.push(b'\n');
        let mut rest = line.as_slice();
        while !rest.is_empty() {
            // Not `write`: the disposition of SIGPIPE belongs to the user, and a dying manager must
            // not kill us.
            match rustix::net::send(self.stream.get_ref(), rest, SendFlags::NOSIGNAL) {
                Ok(sent) => rest = &rest[sent..],
                Err(rustix::io::Errno::INTR) => {}
                // It has hung up; its earlier answer, a refusal perhaps, is still there to be read.
                Err(rustix::io::Errno::PIPE) => return Ok(()),
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    fn line(&mut self) -> std::io::Result<String> {
        let mut line = String::new();
        if self.stream.read_line(&mut line)? == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        Ok(line)
    }

    /// Waits for the next answer.
    pub fn answer(&mut self) -> anyhow::Result<Reply> {
        let line = self.line().map_err(|error| lost(&error))?;
        understood(&line)
    }

    /// The next answer to who waits in the queue, as long as that takes; `None` if the manager has
    /// gone without one. One that is there and answers nobody holds nobody up.
    pub fn next_in_queue(&mut self) -> anyhow::Result<Option<Reply>> {
        self.wait_at_most(LOOK);
        let mut line = String::new();
        loop {
            match self.stream.read_line(&mut line) {
                Ok(0) => return Ok(None),
                Ok(_) => return understood(&line).map(Some),
                Err(error) if is_silence(&error) => {
                    if let Err(error) = Self::reach(&self.dir).and_then(|mut it| it.greet())
                        && is_silence(&error)
                    {
                        return Err(lost(&error));
                    }
                }
                Err(_) => return Ok(None),
            }
        }
    }

    /// Says whether another process than `pid` listens: it holds the sockets, and the next command
    /// that connects starts the manager again.
    pub fn is_activated(&self, pid: u32) -> bool {
        numaestro_host::socket::peer(self.stream.get_ref().as_fd()).is_ok_and(|peer| peer.pid != pid)
    }

    /// From now on wait for answers for so long.
    pub fn wait_at_most(&self, patience: Duration) {
        let _ = self.stream.get_ref().set_read_timeout(Some(patience));
    }

    /// Waits until the manager has ended; tells whether it has.
    pub fn wait_for_end(&mut self) -> bool {
        matches!(self.line(), Err(error) if !is_silence(&error))
    }

    /// From now on wait for answers as long as it takes.
    pub fn be_patient(&self) {
        let _ = self.stream.get_ref().set_read_timeout(None);
    }

    /// The snapshot.
    pub fn status(&mut self) -> anyhow::Result<Status> {
        match self.ask(&Request::Status)? {
            Reply::Status(status) => Ok(*status),
            other => Err(unexpected(&other)),
        }
    }

    /// For requests after which affinities are given back.
    pub fn give_back(&mut self, request: &Request) -> anyhow::Result<Whole> {
        match self.ask(request)? {
            Reply::Whole(whole) => Ok(whole),
            other => Err(unexpected(&other)),
        }
    }

    /// Asks for other wishes; gives those that hold then, of the application and of all inside it.
    pub fn set(&mut self, app: AppName, wishes: NewWishes) -> anyhow::Result<Vec<AppWishes>> {
        match self.ask(&Request::Set { app, wishes })? {
            Reply::Set { apps } => Ok(apps),
            other => Err(unexpected(&other)),
        }
    }

    /// For requests that are answered by `Done`.
    pub fn order(&mut self, request: &Request) -> anyhow::Result<()> {
        match self.ask(request)? {
            Reply::Done => Ok(()),
            other => Err(unexpected(&other)),
        }
    }
}

/// A refusal is a failure with the manager's own words.
fn understood(line: &str) -> anyhow::Result<Reply> {
    match serde_json::from_str(line) {
        Ok(Reply::Refused { reason, hint, kind }) => Err(refused(reason, hint, kind)),
        Ok(reply) => Ok(reply),
        Err(error) => Err(say::Failure::error(
            say::UNAVAILABLE,
            format!("the manager's answer was not understood ({error})"),
            "it is probably another version: `numaestro stop`, then try again",
        )),
    }
}

/// A refusal as a failure.
pub fn refused(reason: String, hint: String, kind: RefusalKind) -> anyhow::Error {
    let usual = "`numaestro status` shows what there is, and who has it";
    let hint = if hint.is_empty() { usual.to_owned() } else { hint };
    say::Failure::error(code_of(kind), reason, hint)
}

/// The exit code after a refusal.
fn code_of(kind: RefusalKind) -> u8 {
    match kind {
        RefusalKind::Later => say::REFUSED,
        RefusalKind::Usage => say::USAGE,
        RefusalKind::Permission => say::NOT_PERMITTED,
        RefusalKind::Absent => say::FAILED,
    }
}

/// Says to the manager of `dir` that this process is about to become a program that sizes itself by
/// all processors that it may have, and waits a moment until the manager knows.
pub fn announce_beginning(dir: &Path) {
    const WAIT: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };
    let Ok(manager) = socket::connect_trusted(&dir.join("attach"), Sort::Packets) else { return };
    if rustix::net::send(&manager, &Notice::begins(), SendFlags::NOSIGNAL | SendFlags::DONTWAIT).is_ok() {
        let _ = poll(&mut [PollFd::new(&manager, PollFlags::IN)], Some(&WAIT));
    }
}

/// The runtime directory: the given one, else the system's if there is a manager for everybody,
/// else the usual one of this user.
pub fn directory(dir: Option<PathBuf>) -> anyhow::Result<PathBuf> {
    match dir {
        Some(dir) => Ok(std::path::absolute(dir)?),
        None => match RuntimeDir::usual_path() {
            Ok(path) => Ok(std::path::absolute(path)?),
            Err(error) => {
                let next = "tell an administrator; --user uses a manager of your own";
                Err(say::Failure::error(say::UNAVAILABLE, error.to_string(), next))
            }
        },
    }
}

/// The directory of a manager of one's own, for users who insist on it.
pub fn own_directory() -> PathBuf {
    RuntimeDir::default_path()
}

/// Says whether the manager there is everybody's.
pub fn is_of_system(dir: &Path) -> bool {
    dir == RuntimeDir::system_path()
}

/// The answer makes no sense for the question.
pub fn unexpected(reply: &Reply) -> anyhow::Error {
    say::Failure::error(
        say::UNAVAILABLE,
        format!("the manager gave an answer to another question ({reply:?})"),
        "it is probably another version: `numaestro stop`, then try again",
    )
}

/// Says whether an answer is missing because the manager has ended, or is about to.
pub fn has_gone(error: &anyhow::Error) -> bool {
    error.downcast_ref::<say::Failure>().is_some_and(|failure| failure.code == say::UNAVAILABLE)
}

/// Says whether an attempt to reach a manager failed because there is none.
pub fn is_absent(error: &std::io::Error) -> bool {
    matches!(error.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::ConnectionRefused)
}

fn absent(dir: &Path, error: &std::io::Error) -> anyhow::Error {
    if is_absent(error) && is_of_system(dir) {
        let next = "`systemctl start numaestro` starts it, for administrators; --user uses one of your own";
        return say::Failure::error(say::UNAVAILABLE, "the system's manager does not run", next);
    }
    if is_absent(error) {
        let next = "it starts by itself with the first `numaestro run -- PROGRAM`";
        return say::Failure::error(say::UNAVAILABLE, format!("no manager runs in {}", dir.display()), next);
    }
    let code = if error.kind() == std::io::ErrorKind::PermissionDenied { say::NOT_PERMITTED } else { say::UNAVAILABLE };
    let what = format!("the manager in {} cannot be reached: {error}", dir.display());
    say::Failure::error(code, what, "look at it with `numaestro doctor`")
}

/// A stopped or hanging manager; as opposed to one that has gone.
fn is_silence(error: &std::io::Error) -> bool {
    matches!(error.kind(), std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut)
}

fn lost(error: &std::io::Error) -> anyhow::Error {
    let what = match error.kind() {
        _ if is_silence(error) => "the manager does not answer".to_owned(),
        std::io::ErrorKind::UnexpectedEof => "the manager closed the connection".to_owned(),
        _ => format!("the connection to the manager broke: {error}"),
    };
    say::Failure::error(
        say::UNAVAILABLE,
        what,
        "try again; if it stays so, `numaestro stop` and see `numaestro doctor`",
    )
}
