//! Lets the n-th system call of one role fail: `client/tests/nth.c`.

use super::programs::any;
use std::ffi::OsStr;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

/// The processes whose calls are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// `numaestro daemon`.
    Manager,
    /// The manager's guard.
    Guard,
    /// `numaestro run`, until it is its program.
    Run,
    /// The shim in programs.
    Shim,
}

impl Role {
    pub const ALL: [Self; 4] = [Self::Manager, Self::Guard, Self::Run, Self::Shim];

    /// The word that `nth` knows.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Manager => "manager",
            Self::Guard => "guard",
            Self::Run => "run",
            Self::Shim => "shim",
        }
    }
}

/// One call that is to fail; with `n` 0 none does, and the calls are counted.
pub struct Fault {
    pub role: Role,
    pub n: u64,
    pub seed: u64,
    /// What `nth` writes.
    file: tempfile::NamedTempFile,
}

impl Fault {
    pub fn new(role: Role, n: u64, seed: u64) -> Self {
        Self { role, n, seed, file: tempfile::NamedTempFile::new().expect("a temporary file") }
    }

    /// The same command, whose processes of the role are counted.
    pub fn around(&self, command: &Command) -> Command {
        let mut outer = Command::new(any("nth"));
        outer.args([self.role.name(), &self.n.to_string(), &self.seed.to_string()]).arg(self.file.path());
        outer.arg(command.get_program()).args(command.get_args());
        for (name, value) in command.get_envs() {
            match value {
                Some(value) => outer.env(name, value),
                None => outer.env_remove(name),
            };
        }
        outer
    }

    fn text(&self) -> String {
        fs::read_to_string(self.file.path()).unwrap_or_default()
    }

    /// Calls that were counted.
    pub fn count(&self) -> u64 {
        self.text().split_whitespace().next().and_then(|word| word.parse().ok()).unwrap_or(0)
    }

    /// The call that failed, and how.
    pub fn struck(&self) -> Option<String> {
        let text = self.text();
        text.find("call").map(|at| text[at..].trim().to_owned())
    }
}

/// Processes that speak to the manager of this directory, managers and guards among them, each with
/// its command line.
pub fn left_of(dir: &std::path::Path) -> Vec<(PathBuf, String)> {
    let wanted = [OsStr::new("NUMAESTRO_DIR=").as_encoded_bytes(), dir.as_os_str().as_encoded_bytes()].concat();
    let belongs = |path: &PathBuf| {
        let found = fs::read(path.join("environ")).unwrap_or_default();
        let name = fs::read_to_string(path.join("comm")).unwrap_or_default();
        name != "nth\n" && found.split(|byte| *byte == 0).any(|variable| variable == wanted)
    };
    let line = |path: &PathBuf| {
        let words = fs::read(path.join("cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&words).replace('\0', " ")
    };
    let all = super::crowd::numbers(std::path::Path::new("/proc")).into_iter().filter(belongs);
    all.map(|path| (path.clone(), line(&path))).collect()
}
