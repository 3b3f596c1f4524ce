//! Running a process to its end, with what it wrote; one that does not end is described thread by
//! thread, then killed.

use super::hang;
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use std::fmt::Write as _;
use std::fs;
use std::io::{Read, Write as _};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// A process that has ended, and everything that held its standard output too.
#[derive(Debug, Clone)]
pub struct Ended {
    pub status: ExitStatus,
    pub stdout: String,
    pub stderr: String,
}

impl Ended {
    /// Exit code, or 128 and the signal's number as a shell says it.
    pub fn code(&self) -> i32 {
        self.status.code().unwrap_or_else(|| 128 + self.status.signal().unwrap_or(0))
    }

    /// The team sizes that the program saw and how often.
    pub fn sizes(&self) -> Vec<(u32, u64)> {
        let words = self.stderr.lines().filter_map(|line| line.strip_prefix("sizes")).flat_map(str::split_whitespace);
        words
            .filter_map(|word| word.split_once(':'))
            .filter_map(|(s, n)| Some((s.parse().ok()?, n.parse().ok()?)))
            .collect()
    }

    /// Fails with everything that was written unless the program ended well with this output.
    #[track_caller]
    pub fn expect(&self, what: &str, output: &str) {
        assert!(
            self.status.success() && self.stdout == output,
            "{what}: {}\nexpected: {output}stdout: {}stderr: {}",
            self.status,
            self.stdout,
            self.stderr
        );
    }
}

/// A process that runs.
pub struct Running {
    what: String,
    pid: Pid,
    /// Its standard input, where that ends when its end is asked for.
    input: Option<ChildStdin>,
    end: mpsc::Receiver<(ExitStatus, Vec<u8>, Vec<u8>)>,
}

/// A test that fails must not leave a busy process: it would take processors from all later tests.
impl Drop for Running {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let _ = kill_process_group(self.pid, Signal::KILL);
        }
    }
}

/// Starts it as leader of a process group, with `input` on its standard input.
pub fn start_with_input(command: &mut Command, input: &[u8]) -> Running {
    let mut running = start_until_told(command);
    let _ = running.input.take().expect("it is there").write_all(input);
    running
}

/// Instead of a number of seconds: the programs of `client/tests` work until their standard input
/// ends.
pub const UNTIL_TOLD: &str = "-";

/// Starts it with a standard input that ends when its end is asked for: see [`UNTIL_TOLD`].
pub fn start_until_told(command: &mut Command) -> Running {
    let what = format!("{command:?}");
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    let mut child = command.spawn().unwrap_or_else(|error| panic!("{what}: {error}"));
    let pid = Pid::from_child(&child);
    let input = child.stdin.take();
    let (tell, end) = mpsc::channel();
    std::thread::spawn(move || tell.send(collect(child)));
    Running { what, pid, input, end }
}

/// Starts it with nothing to read.
pub fn start(command: &mut Command) -> Running {
    start_with_input(command, b"")
}

/// Runs it to its end.
pub fn run(command: &mut Command) -> Ended {
    start(command).end()
}

fn collect(mut child: Child) -> (ExitStatus, Vec<u8>, Vec<u8>) {
    let mut errors = child.stderr.take().expect("was piped");
    let reader = std::thread::spawn(move || {
        let mut text = Vec::new();
        let _ = errors.read_to_end(&mut text);
        text
    });
    let mut text = Vec::new();
    let _ = child.stdout.take().expect("was piped").read_to_end(&mut text);
    let status = child.wait().expect("is our child");
    (status, text, reader.join().expect("does not panic"))
}

impl Running {
    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.pid.as_raw_nonzero().get().unsigned_abs()
    }

    /// Sends a signal; nothing happens if it is gone.
    pub fn signal(&self, signal: Signal) {
        let _ = kill_process(self.pid, signal);
    }

    /// Its end, which must come within [`hang`](super::hang).
    #[track_caller]
    pub fn end(self) -> Ended {
        let what = self.what.clone();
        match self.end_within(hang()) {
            Ok(ended) => ended,
            Err(description) => panic!("{what} hangs\n{description}"),
        }
    }

    /// Its end, or what it was doing when it was killed after `limit`.
    pub fn end_within(mut self, limit: Duration) -> Result<Ended, String> {
        drop(self.input.take());
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        if let Ok((status, stdout, stderr)) = self.end.recv_timeout(limit) {
            return Ok(Ended { status, stdout: text(stdout), stderr: text(stderr) });
        }
        let description = describe_group(self.pid) + &backtraces(self.pid);
        let _ = kill_process_group(self.pid, Signal::KILL);
        let rest = self.end.recv_timeout(Duration::from_secs(5));
        let written = rest.map(|(_, out, err)| format!("stdout: {}stderr: {}", text(out), text(err)));
        Err(format!("{description}{}", written.unwrap_or_else(|_| "somebody else holds its output open\n".to_owned())))
    }
}

/// Every thread of every process of a group: name, state, where in the kernel, affinity.
fn describe_group(group: Pid) -> String {
    let mut text = String::new();
    for process in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let stat = fs::read_to_string(process.path().join("stat")).unwrap_or_default();
        let after_name = stat.rsplit(") ").next().unwrap_or_default();
        if after_name.split(' ').nth(2) != Some(&group.as_raw_nonzero().to_string()) {
            continue;
        }
        for thread in fs::read_dir(process.path().join("task")).into_iter().flatten().flatten() {
            let read = |name: &str| fs::read_to_string(thread.path().join(name)).unwrap_or_default();
            let status = read("status");
            let field =
                |name: &str| status.lines().find(|l| l.starts_with(name)).unwrap_or_default().replace('\t', " ");
            let (wchan, syscall) = (read("wchan"), read("syscall"));
            let _ = writeln!(
                text,
                "  thread {} {} {} {} wchan {wchan} syscall {}",
                thread.file_name().to_string_lossy(),
                field("Name:"),
                field("State:"),
                field("Cpus_allowed_list:"),
                syscall.trim()
            );
        }
    }
    text
}

/// Where each thread of a process is, if there is a debugger that can say it.
fn backtraces(pid: Pid) -> String {
    let pid = pid.as_raw_nonzero().to_string();
    let words =
        ["20", "gdb", "-nx", "-batch", "-p", &pid, "-ex", "set pagination off", "-ex", "thread apply all bt 12"];
    let output = Command::new("timeout").args(words).stdin(Stdio::null()).stderr(Stdio::null()).output();
    let text = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    text.lines()
        .filter(|line| line.starts_with(['#', 'T']))
        .take(400)
        .fold(String::new(), |all, line| all + line + "\n")
}

/// The state letters of all threads of a process; empty when it is gone.
pub fn thread_states(pid: u32) -> Vec<char> {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let stat = threads.filter_map(|thread| fs::read_to_string(thread.path().join("stat")).ok());
    stat.filter_map(|line| line.rsplit(") ").next()?.chars().next()).collect()
}

/// Waits for a process that is not our child to be gone.
pub fn gone(pid: u32, limit: Duration) -> bool {
    let until = Instant::now() + limit;
    while fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z ")) {
        if Instant::now() > until {
            return false;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    true
}
