//! A user with a home and a runtime directory of their own, for tests of the whole command.
//!
//! Every user has a manager of their own, which ends with them.
#![allow(dead_code)] // Every test program uses its part of this.

use numaestro_skip::machine::{self, Held};
use std::ffi::OsStr;
use std::io::Read;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use tempfile::TempDir;

/// This test measures, or looks at who runs where: no other one runs meanwhile.
#[track_caller]
pub fn turn() -> Held {
    machine::alone(env!("CARGO_TARGET_TMPDIR"))
}

/// The command under test: cargo builds it beside the directory of the tests, of the laboratory's
/// tests too.
pub fn numaestro() -> PathBuf {
    let test = std::env::current_exe().expect("a test has a file");
    test.ancestors().nth(2).expect("target/debug/deps").join("numaestro")
}

/// A user with a runtime directory, a home, and nothing else.
pub struct User {
    /// Everything of this user is below it.
    pub place: TempDir,
    /// Goes when its manager has ended.
    _beside: Held,
}

impl User {
    /// An empty place.
    pub fn new() -> Self {
        let place = tempfile::Builder::new().prefix("nm").tempdir().expect("a directory");
        Self { place, _beside: machine::beside(env!("CARGO_TARGET_TMPDIR")) }
    }

    /// A path in this user's place.
    pub fn path(&self, name: &str) -> PathBuf {
        self.place.path().join(name)
    }

    /// The command in this user's surroundings.
    pub fn command<S: AsRef<OsStr>>(&self, words: impl IntoIterator<Item = S>) -> Command {
        self.wrapped(&[], words)
    }

    /// The command, started by another program such as `nohup`.
    pub fn wrapped<S: AsRef<OsStr>>(&self, wrapper: &[&str], words: impl IntoIterator<Item = S>) -> Command {
        let me = numaestro();
        let mut command = match wrapper {
            [] => Command::new(me),
            [first, rest @ ..] => {
                let mut command = Command::new(first);
                command.args(rest).arg(me);
                command
            }
        };
        for (name, _) in std::env::vars_os() {
            let name = name.to_string_lossy().into_owned();
            if ["OMP_", "GOMP_", "KMP_", "NUMAESTRO_", "LD_PRELOAD", "XDG_"].iter().any(|p| name.starts_with(p)) {
                command.env_remove(name);
            }
        }
        command.env("NUMAESTRO_DIR", self.path("run")).env("HOME", self.place.path()).args(words);
        command
    }

    /// Runs the command to its end, without input.
    pub fn output<S: AsRef<OsStr>>(&self, words: impl IntoIterator<Item = S>) -> Output {
        self.command(words).stdin(Stdio::null()).output().expect("the command starts")
    }

    /// `numaestro run -- WORDS`, to its end.
    pub fn run(&self, words: &[&str]) -> Output {
        self.output(["run", "--"].iter().chain(words))
    }

    /// `numaestro run -- sh -c SCRIPT`, to its end.
    pub fn shell(&self, script: &str) -> Output {
        self.run(&["sh", "-c", script])
    }
}

impl Drop for User {
    fn drop(&mut self) {
        // Ends the manager of this test, if it started one.
        let _ = self.output(["stop"]);
    }
}

/// A process that does not outlive its test, however that ends.
pub struct Mortal(Child);

impl Drop for Mortal {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl std::ops::Deref for Mortal {
    type Target = Child;

    fn deref(&self) -> &Child {
        &self.0
    }
}

impl std::ops::DerefMut for Mortal {
    fn deref_mut(&mut self) -> &mut Child {
        &mut self.0
    }
}

/// Starts a process.
pub fn start(command: &mut Command) -> Mortal {
    Mortal(command.spawn().expect("starts"))
}

/// As text.
pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// What was printed, which must be JSON.
pub fn json(output: &Output) -> serde_json::Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {}", text(&output.stdout)))
}

/// Reads one line from a running child.
pub fn line(child: &mut Child) -> String {
    let mut found = Vec::new();
    let mut byte = [0];
    let stdout = child.stdout.as_mut().expect("a pipe");
    while stdout.read(&mut byte).expect("readable") == 1 && byte[0] != b'\n' {
        found.push(byte[0]);
    }
    text(&found)
}

/// Sends a signal by name; a target that begins with `-` is a process group.
pub fn kill(signal: &str, target: &str) {
    assert!(Command::new("kill").args(["-s", signal, "--", target]).status().expect("kill").success());
}

/// State letter of a process, as in `ps`.
pub fn state(pid: u32) -> String {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(')').next().unwrap_or_default().split_whitespace().next().unwrap_or_default().to_owned()
}

/// Waits until something holds, and fails the test if it never does.
pub fn until(what: &str, holds: impl Fn() -> bool) {
    for _ in 0..6000 {
        if holds() {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    panic!("never: {what}");
}
