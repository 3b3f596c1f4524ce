//! The processes of one test, whatever becomes of their parents, and where the kernel lets their
//! threads run.

use super::manager::NUMAESTRO;
use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Every process of a test bears this variable, whatever becomes of its parents.
const MARK: &str = "NUMAESTRO_TEST_MARK";

/// The processes of one test: started by it, and whatever they have become.
pub struct Crowd {
    mark: String,
    pub children: Vec<Child>,
}

/// A thread of the crowd that may not run everywhere.
#[derive(Debug)]
#[allow(dead_code)]
pub struct Narrow {
    process: String,
    thread: String,
    allowed: String,
}

pub fn field(status: &str, name: &str) -> String {
    status.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default().trim().to_owned()
}

/// Where the kernel lets a thread run.
pub fn allowed(task: &Path) -> Option<String> {
    Some(field(&fs::read_to_string(task.join("status")).ok()?, "Cpus_allowed_list:"))
}

pub fn own_list() -> String {
    allowed(Path::new("/proc/self")).expect("this process is there")
}

pub fn numbers(dir: &Path) -> Vec<PathBuf> {
    let all = fs::read_dir(dir).into_iter().flatten().flatten();
    all.filter(|entry| entry.file_name().as_encoded_bytes().iter().all(u8::is_ascii_digit)).map(|e| e.path()).collect()
}

/// The copies of a directory's manager, found by name and directory.
pub fn guards_of(dir: &Path) -> Vec<u32> {
    let dir = dir.to_str().expect("a plain path");
    let guard = |process: &PathBuf| {
        let name = fs::read_to_string(process.join("comm")).unwrap_or_default();
        let line = fs::read(process.join("cmdline")).unwrap_or_default();
        name.trim() == "numaestro-guard" && String::from_utf8_lossy(&line).contains(dir)
    };
    let all = numbers(Path::new("/proc")).into_iter().filter(guard);
    all.filter_map(|process| process.file_name()?.to_str()?.parse().ok()).collect()
}

impl Crowd {
    pub fn new(name: &str) -> Self {
        Self { mark: format!("{name}-{}", std::process::id()), children: Vec::new() }
    }

    pub fn add(&mut self, command: &mut Command) -> u32 {
        command.env(MARK, &self.mark).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.process_group(0).spawn().expect("the program starts");
        let pid = child.id();
        self.children.push(child);
        pid
    }

    /// Every process that bears the mark and is a program by now.
    pub fn processes(&self) -> Vec<PathBuf> {
        let entry = format!("{MARK}={}", self.mark);
        let bears = |path: &PathBuf| {
            let found = fs::read(path.join("environ")).unwrap_or_default();
            found.split(|byte| *byte == 0).any(|variable| variable == entry.as_bytes())
        };
        numbers(Path::new("/proc")).into_iter().filter(bears).collect()
    }

    /// `run`s that have not become their programs, and managers that they have started.
    pub fn commands(&self) -> Vec<PathBuf> {
        self.processes().into_iter().filter(|process| is_run(process)).collect()
    }

    /// Processes that are stopped.
    pub fn stopped(&self) -> Vec<PathBuf> {
        let state = |path: &PathBuf| field(&fs::read_to_string(path.join("status")).unwrap_or_default(), "State:");
        self.processes().into_iter().filter(|process| state(process).starts_with(['T', 't'])).collect()
    }

    pub fn threads(&self) -> usize {
        self.processes().iter().map(|process| numbers(&process.join("task")).len()).sum()
    }

    /// Threads that may not run wherever this test may.
    pub fn narrow(&self) -> Vec<Narrow> {
        let whole = own_list();
        let mut found = Vec::new();
        for process in self.processes() {
            let name = fs::read(process.join("cmdline")).unwrap_or_default();
            let name = String::from_utf8_lossy(&name).replace('\0', " ");
            for task in numbers(&process.join("task")) {
                let Some(allowed) = allowed(&task).filter(|allowed| *allowed != whole) else { continue };
                let comm = fs::read_to_string(task.join("comm")).unwrap_or_default();
                let thread = format!("{} {}", task.display(), comm.trim());
                found.push(Narrow { process: name.chars().take(80).collect(), thread, allowed });
            }
        }
        found
    }

    #[track_caller]
    pub fn expect_whole(&self, when: &str) {
        let (narrow, threads) = (self.narrow(), self.threads());
        assert!(
            narrow.is_empty(),
            "{when}: {} of {threads} threads are narrow, such as {:#?}",
            narrow.len(),
            &narrow[..narrow.len().min(5)]
        );
        eprintln!("{when}: {threads} threads of {} processes are whole", self.processes().len());
    }

    /// Waits until it is so; then it must stay so.
    #[track_caller]
    pub fn expect_whole_within(&self, limit: Duration, when: &str) {
        let began = Instant::now();
        while !self.narrow().is_empty() && began.elapsed() < limit {
            std::thread::sleep(Duration::from_millis(20));
        }
        eprintln!("{when}: after {:?}", began.elapsed());
        self.expect_whole(when);
    }
}

impl Drop for Crowd {
    fn drop(&mut self) {
        // What is being started while we look is found by the next look.
        for _ in 0..3 {
            for process in self.processes() {
                let pid = process.file_name().and_then(|name| name.to_str()?.parse::<i32>().ok());
                if let Some(pid) = pid.and_then(Pid::from_raw) {
                    let _ = kill_process(pid, Signal::KILL);
                }
            }
        }
        for child in &mut self.children {
            let _ = child.wait();
        }
    }
}

/// It has not become its program yet.
pub fn is_run(process: &Path) -> bool {
    fs::read_link(process.join("exe")).is_ok_and(|exe| exe == Path::new(NUMAESTRO))
}
