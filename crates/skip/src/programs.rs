//! Programs that a test makes for itself and then starts.
//!
//! No test writes them itself. A program that is open for writing cannot be started ("Text file
//! busy"). Tests are threads of one process, so a child that another test starts at the same
//! moment inherits the open file, and keeps it until its own `execve`. `install` is a process of
//! its own, and it has ended when the program is started.

use std::ffi::OsStr;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

/// A copy of a program, with this mode.
///
/// # Panics
/// If it cannot be made.
#[track_caller]
pub fn copy(from: impl AsRef<OsStr>, to: impl AsRef<Path>, mode: u32) {
    let done = install(mode).arg(from).arg(to.as_ref()).status().expect("install, of coreutils");
    assert!(done.success(), "{}: {done}", to.as_ref().display());
}

/// A script that everybody may start.
///
/// # Panics
/// If it cannot be made.
#[track_caller]
pub fn script(at: impl AsRef<Path>, text: &str) {
    let mut command = install(0o755);
    let mut child =
        command.arg("/dev/stdin").arg(at.as_ref()).stdin(Stdio::piped()).spawn().expect("install, of coreutils");
    child.stdin.take().expect("piped").write_all(text.as_bytes()).expect("it reads");
    let done = child.wait().expect("ours");
    assert!(done.success(), "{}: {done}", at.as_ref().display());
}

fn install(mode: u32) -> Command {
    let mut command = Command::new("install");
    command.arg("--mode").arg(format!("{mode:o}"));
    command
}
