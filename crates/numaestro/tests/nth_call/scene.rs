//! The twelve stories: programs, managers and commands, one role of which is counted; and what has
//! to hold at the end of each.

use crate::support::crowd::Crowd;
use crate::support::ended::{self, Ended, Running};
use crate::support::manager::{Manager, alone};
use crate::support::nth::{Fault, Role, left_of};
use crate::support::processors;
use crate::support::programs::{any, program};
use rustix::process::Signal;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Seconds that a program computes.
const SECONDS: &str = "0.25";
/// A program that takes longer hangs: ten times as long as it computes, and the patience of `run`
/// with a manager that is silent, once for each of its questions.
const HANG: Duration = Duration::from_secs(30);
/// The guard's patience and the helper thread's, and as much again.
const AFTER_DEATH: Duration = Duration::from_secs(12);
/// What may stay in the directory: the log of a manager that has complained, the chosen policy, and
/// the lock of a guard whose removal of it is the call that fails.
const STAYS: [&str; 3] = ["daemon.log", "policy.json", "cleaning.lock"];

/// One story with one fault.
pub struct Scene {
    manager: Manager,
    crowd: Crowd,
    pub fault: Fault,
    /// Programs that run, with what they have to print.
    running: Vec<(String, String, Running)>,
}

pub type Verdict = Result<(), String>;
pub type Story = (&'static str, fn(&mut Scene) -> Verdict);

pub const STORIES: [Story; 12] = [
    ("start and end", |scene| {
        scene.starts_everything();
        Ok(())
    }),
    ("side by side", |scene| {
        scene.begins()?;
        scene.openmp(true, "inside", SECONDS);
        scene.openmp(false, "reduce", SECONDS);
        Ok(())
    }),
    ("killed", |scene| {
        scene.begins()?;
        scene.openmp(true, "inside", SECONDS);
        scene.kill();
        Ok(())
    }),
    ("takeover", Scene::is_taken_over),
    ("child", |scene| {
        scene.begins()?;
        let path = any("inside");
        scene.program(true, &["sh", "-c", &format!("{path} {SECONDS} & {path} {SECONDS}; wait")]);
        Ok(())
    }),
    ("fork and exec", |scene| {
        scene.begins()?;
        scene.program(true, &[any("forks").as_str(), SECONDS, "exec"]);
        Ok(())
    }),
    ("set", |scene| {
        scene.begins()?;
        let pid = scene.openmp(true, "inside", "0.4");
        std::thread::sleep(Duration::from_millis(150));
        scene.say(&["set", &pid.to_string(), "--max", "1"])?;
        std::thread::sleep(Duration::from_millis(80));
        scene.say(&["set", &pid.to_string(), "--max", "none"])?;
        Ok(())
    }),
    ("stop", |scene| {
        scene.begins()?;
        scene.openmp(true, "inside", "0.5");
        std::thread::sleep(Duration::from_millis(200));
        scene.say(&["stop"])?;
        Ok(())
    }),
    ("turns", |scene| {
        scene.begins()?;
        scene.say(&["policy", "set", "rr"])?;
        scene.openmp(true, "inside", SECONDS);
        scene.openmp(false, "reduce", SECONDS);
        scene.openmp(false, "inside", SECONDS);
        Ok(())
    }),
    ("waits", Scene::waits),
    ("adopted", |scene| {
        scene.begins()?;
        let pid = scene.start(false, alone(["sh", "-c", "sleep 0.6; echo done"]), "done\n".to_owned());
        std::thread::sleep(Duration::from_millis(100));
        scene.say(&["adopt", &pid.to_string()])?;
        scene.openmp(true, "inside", SECONDS);
        Ok(())
    }),
    ("pool", |scene| {
        scene.begins()?;
        scene.openmp(true, "vps", SECONDS);
        if let Some(path) = program("gcc", "blas-openblas-threads") {
            scene.program(false, &[path.as_str(), SECONDS]);
        }
        Ok(())
    }),
];

impl Scene {
    pub fn new(name: &str, fault: Fault) -> Self {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let mark = format!("nth-{}-{name}", NEXT.fetch_add(1, Ordering::Relaxed));
        Self { manager: Manager::new(), crowd: Crowd::new(&mark), fault, running: Vec::new() }
    }

    /// A command whose processes of these roles are counted.
    fn counted(&self, roles: &[Role], command: Command) -> Command {
        if roles.contains(&self.fault.role) { self.fault.around(&command) } else { command }
    }

    /// The manager begins with the first `run`, and a program that sleeps is there until the end.
    fn begins(&mut self) -> Verdict {
        let mut first = self.counted(&[Role::Manager, Role::Guard], self.manager.run_command(["true"]));
        ends_well("the first `run`", ended::start(&mut first), "")?;
        let mut sleeper = self.manager.run_command(["sleep", "3600"]);
        self.crowd.add(&mut sleeper);
        Ok(())
    }

    fn start(&mut self, counts: bool, command: Command, expected: String) -> u32 {
        let roles: &[Role] = if counts { &[Role::Run, Role::Shim] } else { &[] };
        let what = format!("{:?}", command.get_args().collect::<Vec<_>>());
        let running = ended::start(&mut self.counted(roles, command));
        let outer = running.pid();
        let pid = if counts && roles.contains(&self.fault.role) { child_of(outer) } else { outer };
        self.running.push((what, expected, running));
        pid
    }

    /// A program under the manager, which prints what it prints alone. Gives its process.
    fn program(&mut self, counts: bool, words: &[&str]) -> u32 {
        let expected = plain(words);
        let command = self.manager.run_command(words);
        self.start(counts, command, expected)
    }

    /// The same for a program of `client/tests` that runs for so many seconds.
    fn openmp(&mut self, counts: bool, name: &str, seconds: &str) -> u32 {
        self.program(counts, &[any(name).as_str(), seconds])
    }

    /// A command that may fail, but has to end.
    fn say(&self, words: &[&str]) -> Verdict {
        let mut command = self.manager.command(words);
        ended::start(&mut command).end_within(HANG).map(drop).map_err(|hangs| format!("{words:?} hangs:\n{hangs}"))
    }

    fn kill(&self) {
        std::thread::sleep(Duration::from_millis(80));
        if let pid @ 1.. = self.manager.pid() {
            Manager::signal(pid, Signal::KILL);
        }
    }

    /// One `run` starts the manager, and everything of it is counted.
    fn starts_everything(&mut self) {
        let path = any("inside");
        let mut command = self.counted(&Role::ALL, self.manager.run_command([path.as_str(), SECONDS]));
        let expected = plain(&[path.as_str(), SECONDS]);
        self.running.push(("the only program".to_owned(), expected, ended::start(&mut command)));
    }

    /// The second manager is the one that is counted.
    fn is_taken_over(&mut self) -> Verdict {
        ends_well("the first `run`", ended::start(&mut self.manager.run_command(["true"])), "")?;
        let mut sleeper = self.manager.run_command(["sleep", "3600"]);
        self.crowd.add(&mut sleeper);
        self.openmp(true, "inside", "0.4");
        self.kill();
        let mut next = self.counted(&[Role::Manager, Role::Guard], self.manager.run_command(["true"]));
        ends_well("the next `run`", ended::start(&mut next), "")
    }

    /// The program waits until another one has ended.
    fn waits(&mut self) -> Verdict {
        self.begins()?;
        self.say(&["policy", "set", "admission=fifo"])?;
        self.openmp(false, "inside", SECONDS);
        let path = any("inside");
        let expected = plain(&[path.as_str(), "0.1"]);
        let mut command = self.manager.command(["run", "--wait", "--min", &processors().to_string(), "--"]);
        command.args([path.as_str(), "0.1"]);
        self.crowd.children.iter_mut().for_each(|sleeper| _ = sleeper.kill());
        self.start(true, command, expected);
        Ok(())
    }

    fn stop(&self) -> Verdict {
        let stops = |_| {
            let output = self.manager.command(["stop"]).stdin(Stdio::null()).output().expect("the command runs");
            output.status.success() && self.manager.pid() == 0
        };
        if (0..5).any(stops) { Ok(()) } else { Err("`stop` does not end the manager".to_owned()) }
    }

    /// Everything comes to its end, and nothing is left.
    pub fn ends(mut self) -> Verdict {
        for (what, expected, running) in self.running.drain(..) {
            ends_well(&what, running, &expected)?;
        }
        self.stop()?;
        until(AFTER_DEATH, || match self.crowd.narrow() {
            narrow if narrow.is_empty() => Ok(()),
            narrow => Err(format!("narrow after the end: {narrow:?}")),
        })?;
        if !self.crowd.stopped().is_empty() {
            return Err(format!("stopped after the end: {:?}", self.crowd.stopped()));
        }
        self.crowd = Crowd::new("nobody");
        until(AFTER_DEATH, || match left_of(self.manager.dir()) {
            left if left.is_empty() => Ok(()),
            left => Err(format!("still there: {left:?}")),
        })?;
        // The next manager begins as always, and clears up after one that was killed, and after
        // processes that needed a file. One that still sees such a process leaves the file.
        let clears = || {
            ends_well("the last `run`", ended::start(&mut self.manager.run_command(["true"])), "")?;
            self.stop()?;
            let files = fs::read_dir(self.manager.dir()).into_iter().flatten().flatten();
            let left = files.map(|entry| entry.file_name()).filter(|name| STAYS.iter().all(|stays| name != stays));
            let left: Vec<_> = left.collect();
            if left.is_empty() { Ok(()) } else { Err(format!("files are left: {left:?}")) }
        };
        until(AFTER_DEATH, clears)
    }
}

/// What a program prints without us.
fn plain(words: &[&str]) -> String {
    static KNOWN: Mutex<Vec<(Vec<String>, String)>> = Mutex::new(Vec::new());
    let key: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
    let found = KNOWN.lock().expect("no panic").iter().find(|(known, _)| *known == key).map(|(_, out)| out.clone());
    found.unwrap_or_else(|| {
        let Ended { status, stdout, stderr } = ended::run(&mut alone(words.iter().copied()));
        assert!(status.success(), "{words:?} alone: {stderr}");
        KNOWN.lock().expect("no panic").push((key, stdout.clone()));
        stdout
    })
}

fn ends_well(what: &str, running: Running, expected: &str) -> Verdict {
    let Ended { status, stdout, stderr } = running.end_within(HANG).map_err(|at| format!("{what} hangs\n{at}"))?;
    if status.success() && stdout == expected {
        return Ok(());
    }
    Err(format!("{what} ends with {status}, prints {stdout:?} and not {expected:?}; says {stderr:?}"))
}

/// The latest answer, or the first good one.
fn until(limit: Duration, mut look: impl FnMut() -> Verdict) -> Verdict {
    let began = Instant::now();
    loop {
        let verdict = look();
        if verdict.is_ok() || began.elapsed() > limit {
            return verdict;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// The only child of a process; 0: it has none.
fn child_of(pid: u32) -> u32 {
    let path = PathBuf::from(format!("/proc/{pid}/task/{pid}/children"));
    let began = Instant::now();
    while began.elapsed() < Duration::from_secs(2) {
        let text = fs::read_to_string(&path).unwrap_or_default();
        // The second one serves the calls.
        if let [first, _, ..] = text.split_whitespace().collect::<Vec<_>>()[..] {
            return first.parse().unwrap_or(0);
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    0
}
