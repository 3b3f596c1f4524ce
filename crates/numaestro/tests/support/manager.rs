//! A manager in a temporary directory, spoken to with the command only.

use super::ended::{self, Ended};
use super::{beside, eventually};
use numaestro_abi::control::{Reply, Request, Status};
use numaestro_skip::machine::Held;
use rustix::process::{Pid, Signal, kill_process};
use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

/// The command under test.
pub const NUMAESTRO: &str = env!("CARGO_BIN_EXE_numaestro");
/// What would change the programs' team sizes behind the test's back.
const QUIET: [&str; 13] = [
    "OMP_NUM_THREADS",
    "OMP_DYNAMIC",
    "OMP_PROC_BIND",
    "OMP_PLACES",
    "OMP_WAIT_POLICY",
    "GOMP_SPINCOUNT",
    "KMP_BLOCKTIME",
    "OPENBLAS_NUM_THREADS",
    "XDG_RUNTIME_DIR",
    "LD_PRELOAD",
    "NUMAESTRO_ATTACH",
    "NUMAESTRO_CLASS",
    "NUMAESTRO_POOL",
];

/// The settings of every manager here: it does not give way to what else runs on the machine, which
/// would leave nothing to change hands on a busy one.
fn settings() -> &'static Path {
    static SETTINGS: OnceLock<PathBuf> = OnceLock::new();
    SETTINGS.get_or_init(|| {
        let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("settings");
        std::fs::create_dir_all(dir.join("numaestro")).expect("a directory for tests");
        std::fs::write(dir.join("numaestro/config.toml"), "unmanaged = false\nidle_exit_s = 120\n").expect("written");
        dir
    })
}

/// Nothing of the caller's environment that has a say in team sizes, and the settings above.
fn settle(command: &mut Command) {
    for name in QUIET {
        command.env_remove(name);
    }
    command.env("XDG_CONFIG_HOME", settings());
}

/// A directory in which a manager runs or will run.
pub struct Manager {
    dir: tempfile::TempDir,
    /// Goes when its manager has ended.
    _beside: Held,
}

impl Manager {
    /// Only the directory: the first `run` starts the manager.
    pub fn new() -> Self {
        let dir = tempfile::Builder::new().prefix("numaestro-test-").tempdir().expect("a temporary directory");
        Self { dir, _beside: beside() }
    }

    /// With a manager that runs already.
    #[track_caller]
    pub fn started() -> Self {
        let it = Self::new();
        let first = it.run(["true"]);
        assert!(first.status.success() && it.status().is_some(), "no manager: {}{}", first.stdout, first.stderr);
        it
    }

    /// With a manager that gives out these processors only.
    #[track_caller]
    pub fn of_processors(cpus: &str) -> Self {
        let it = Self::new();
        let mut daemon = it.command(["daemon", "--cpus", cpus]);
        let daemon = daemon.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        let mut daemon = daemon.expect("the command runs");
        // It is our child: somebody has to wait for it.
        std::thread::spawn(move || daemon.wait());
        assert!(eventually(|| it.status().is_some()), "no manager of the processors {cpus}");
        it
    }

    /// A connection of its own for requests.
    #[track_caller]
    pub fn control(&self) -> Control {
        let stream = UnixStream::connect(self.dir().join("control")).expect("the manager listens");
        stream.set_read_timeout(Some(super::hang())).expect("a time limit");
        Control(BufReader::new(stream))
    }

    /// Where its sockets and files are.
    pub fn dir(&self) -> &Path {
        self.dir.path()
    }

    /// The socket of the programs.
    pub fn attach_socket(&self) -> PathBuf {
        self.dir().join("attach")
    }

    /// `numaestro` with these arguments, for this directory.
    pub fn command<S: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = S>) -> Command {
        let mut command = Command::new(NUMAESTRO);
        command.args(arguments).env("NUMAESTRO_DIR", self.dir());
        settle(&mut command);
        command
    }

    /// `numaestro run -- …`.
    pub fn run_command<S: AsRef<OsStr>>(&self, program: impl IntoIterator<Item = S>) -> Command {
        let mut command = self.command(["run", "--"]);
        command.args(program);
        command
    }

    /// `numaestro run -- …` to its end.
    #[track_caller]
    pub fn run<S: AsRef<OsStr>>(&self, program: impl IntoIterator<Item = S>) -> Ended {
        ended::run(&mut self.run_command(program))
    }

    /// What the manager says of itself; `None` if there is none.
    pub fn status(&self) -> Option<Status> {
        let output = self.command(["status", "--json"]).stdin(Stdio::null()).output().expect("the command runs");
        let value: serde_json::Value = serde_json::from_slice(&output.stdout).ok()?;
        if !output.status.success() || value["running"] == false {
            return None;
        }
        Some(serde_json::from_value(value).expect("status --json is a Status"))
    }

    /// Process id of the manager, 0 if there is none.
    pub fn pid(&self) -> u32 {
        self.status().map_or(0, |status| status.pid)
    }

    /// Ends the manager the hard way, whatever it is doing.
    pub fn signal(pid: u32, signal: Signal) {
        assert!(pid > 1, "no manager to send {signal:?} to");
        let _ = kill_process(Pid::from_raw(pid.cast_signed()).expect("not 0"), signal);
    }

    /// Nothing is lost: the manager answers, has no application, and every processor it gives out
    /// is free.
    #[track_caller]
    pub fn expect_all_free(&self) {
        let mut last = None;
        let free = eventually(|| {
            last = self.status();
            last.as_ref().is_some_and(|s| s.apps.is_empty() && s.queue.is_empty() && s.pus.iter().all(is_not_held))
        });
        assert!(free, "processors or applications were left behind: {last:#?}");
        let status = last.expect("was there");
        assert!(status.pus.iter().any(|pu| pu.state == "free" || pu.state == "unmanaged"), "no processor: {status:#?}");
    }
}

/// A connection to the manager; each request has one answer.
pub struct Control(BufReader<UnixStream>);

impl Control {
    /// Asks, and waits for the answer.
    #[track_caller]
    pub fn ask(&mut self, request: &Request) -> Reply {
        let mut line = serde_json::to_vec(request).expect("a request is JSON");
        line.push(b'\n');
        self.0.get_mut().write_all(&line).expect("the manager reads");
        let mut answer = String::new();
        self.0.read_line(&mut answer).expect("the manager answers");
        serde_json::from_str(&answer).unwrap_or_else(|error| panic!("{answer:?} is no reply: {error}"))
    }
}

fn is_not_held(pu: &numaestro_abi::control::PuStatus) -> bool {
    pu.owner.is_none() && pu.guests.is_empty() && pu.state != "owned" && pu.state != "leaving"
}

/// The same program without numaestro.
pub fn alone<S: AsRef<OsStr>>(program: impl IntoIterator<Item = S>) -> Command {
    let mut words = program.into_iter();
    let mut command = Command::new(words.next().expect("a program"));
    command.args(words);
    settle(&mut command);
    command
}

impl Drop for Manager {
    fn drop(&mut self) {
        let stopped = self.command(["stop"]).stdin(Stdio::null()).output().is_ok_and(|output| output.status.success());
        if !stopped && let Some(status) = self.status() {
            Self::signal(status.pid, Signal::KILL);
        }
    }
}
