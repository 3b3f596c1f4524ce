//! Running a program to its end, or to the end of patience.

use std::fs::{self, File};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use rustix::process::{Pid, Signal, kill_process_group};

/// How a program has ended, and what it wrote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ended {
    /// Exit code, or the number of the signal, negative.
    pub code: i32,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
}

/// What comes of a run.
#[derive(Debug)]
pub enum Outcome {
    /// It has ended, after this time.
    Ended(Ended, Duration),
    /// It was killed, while its threads were there.
    Hangs(String),
}

/// Runs it in an empty directory, and calls `meanwhile` again and again. Output goes to files, so
/// that what a child of the program holds open delays nobody.
pub fn run(command: &mut Command, scratch: &Path, limit: Duration, meanwhile: &mut dyn FnMut(u32)) -> Result<Outcome> {
    let what = format!("{command:?}");
    let empty = scratch.join("run");
    let _ = fs::remove_dir_all(&empty);
    fs::create_dir_all(&empty)?;
    let (out, err) = (scratch.join("stdout"), scratch.join("stderr"));
    command
        .stdin(Stdio::null())
        .stdout(File::create(&out)?)
        .stderr(File::create(&err)?)
        .current_dir(empty)
        .process_group(0);
    let begin = Instant::now();
    let mut child = command.spawn().with_context(|| what.clone())?;
    let status = wait(&mut child, limit, meanwhile)?;
    let took = begin.elapsed();
    let hangs = status.is_none().then(|| backtraces(child.id()));
    // What it has left behind too.
    let _ = kill_process_group(Pid::from_child(&child), Signal::KILL);
    let Some(status) = status else {
        child.wait()?;
        return Ok(Outcome::Hangs(hangs.unwrap_or_default()));
    };
    let text = |path: &Path| fs::read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    let code = status.code().unwrap_or_else(|| -status.signal().unwrap_or(0));
    Ok(Outcome::Ended(Ended { code, stdout: text(&out)?, stderr: text(&err)? }, took))
}

fn wait(child: &mut Child, limit: Duration, meanwhile: &mut dyn FnMut(u32)) -> Result<Option<ExitStatus>> {
    let begin = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if begin.elapsed() > limit {
            return Ok(None);
        }
        meanwhile(child.id());
        std::thread::sleep(Duration::from_micros(500));
    }
}

/// Where each thread is, if there is a debugger that can say it.
fn backtraces(pid: u32) -> String {
    let pid = pid.to_string();
    let words = ["20", "gdb", "-nx", "-batch", "-p", &pid, "-ex", "set pagination off", "-ex", "thread apply all bt 8"];
    let output = Command::new("timeout").args(words).stdin(Stdio::null()).stderr(Stdio::null()).output();
    let text = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    let lines: Vec<&str> = text.lines().filter(|line| line.starts_with(['#', 'T'])).take(80).collect();
    lines.join("\n")
}
