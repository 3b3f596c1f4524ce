//! Builds the program of the probes, `lab/bench/programs/regions.c`, where it is needed, and reads
//! the kernel's view of its threads.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_getaffinity};
use serde_json::Value;
use tempfile::TempDir;

use super::super::launch::{self, Started};
use super::super::measure::{report_of, says_ok};
use super::super::places::Places;

/// The built program; removed when dropped.
#[derive(Debug)]
pub struct Regions {
    dir: TempDir,
}

impl Regions {
    /// Builds it with `compiler`; an error names the missing part.
    pub fn build(places: &Places, compiler: &str) -> Result<Self> {
        let source = places.script("regions.c").map_err(anyhow::Error::msg)?;
        let dir = tempfile::tempdir().context("cannot make a directory to build in")?;
        let mut command = Command::new(compiler);
        command.args(["-std=c11", "-O2", "-fopenmp", "-o"]).arg(dir.path().join("regions")).arg(source);
        let output = command.output().with_context(|| format!("cannot start {compiler}: is it installed?"))?;
        if !output.status.success() {
            bail!("{compiler} cannot build regions.c: {}", String::from_utf8_lossy(&output.stderr).trim());
        }
        Ok(Self { dir })
    }

    /// Calls `measure` for the program built with gcc, for libgomp, and with clang, for libomp. A
    /// compiler that cannot build it is said and passed over.
    pub fn of_each_compiler(places: &Places, mut measure: impl FnMut(&str, &Self) -> Result<()>) -> Result<()> {
        for compiler in ["gcc", "clang"] {
            match Self::build(places, compiler) {
                Ok(regions) => measure(compiler, &regions)?,
                Err(error) => eprintln!("skipped {compiler}: {error:#}"),
            }
        }
        Ok(())
    }

    /// The executable.
    pub fn path(&self) -> PathBuf {
        self.dir.path().join("regions")
    }
}

/// Runs a command that ends by itself and gives its report.
pub fn report(command: &mut Command) -> Result<Value> {
    let started = launch::start(command, None)?;
    report_after(started, &command.get_program().display().to_string())
}

/// Waits for a program that ends by itself and gives its report; `name` is for people.
pub fn report_after(started: Started, name: &str) -> Result<Value> {
    let ended = launch::wait_all(vec![started], Instant::now(), Duration::from_mins(2))?;
    let output = &ended[0].output;
    if !ended[0].success || !says_ok(output) {
        bail!("{name} failed: {}", output.trim());
    }
    report_of(output).context("a program without a report")
}

/// The threads of `pid`.
pub fn threads(pid: u32) -> Vec<Pid> {
    let Ok(tasks) = std::fs::read_dir(format!("/proc/{pid}/task")) else { return Vec::new() };
    let number = |name: std::ffi::OsString| name.to_str()?.parse().ok().and_then(Pid::from_raw);
    tasks.flatten().filter_map(|task| number(task.file_name())).collect()
}

/// Number of processors that a thread may use; `None` if it is gone.
pub fn allowed(thread: Pid) -> Option<u32> {
    sched_getaffinity(Some(thread)).ok().map(|set: CpuSet| set.count())
}

/// Asks `done` again and again, with `pause` in between, and gives the seconds until it says yes;
/// `None` after `limit`.
pub fn until(pause: Duration, limit: Duration, mut done: impl FnMut() -> bool) -> Option<f64> {
    let since = Instant::now();
    loop {
        if done() {
            return Some(since.elapsed().as_secs_f64());
        }
        if since.elapsed() > limit {
            return None;
        }
        if !pause.is_zero() {
            std::thread::sleep(pause);
        }
    }
}

/// The shell, for programs that only have to be there.
pub fn shell() -> &'static Path {
    Path::new("/bin/sh")
}
