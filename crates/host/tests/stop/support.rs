//! Programs to stop, and ways to look at them. It must not know what is tested with them.

use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use numaestro_host::procfs;
use numaestro_host::stop::{Group, Outcome, Stopped};
use rustix::process::Signal;

use crate::manager::Manager;

/// One test at a time: they look at what runs and what does not, which takes long among many that
/// compute.
pub fn turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A program in a role; killed when dropped.
pub struct Actor {
    pub child: Child,
    lines: BufReader<ChildStdout>,
}

impl Actor {
    /// Starts it, without waiting.
    pub fn start(role: &str, argument: &str) -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "roles::play", "--ignored", "--nocapture", "--test-threads=1"]);
        command
            .env(crate::roles::ROLE, role)
            .env(crate::roles::ARGUMENT, argument)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            // A group of its own, as a shell makes it: the kernel drops a terminal's stop for
            // groups without a parent outside.
            .process_group(0);
        numaestro_host::children::end_with_parent(&mut command, Signal::KILL);
        let mut child = command.spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap());
        Self { child, lines }
    }

    /// Starts it and waits until it says `ready`.
    pub fn ready(role: &str, argument: &str) -> Self {
        let mut actor = Self::start(role, argument);
        assert_eq!(actor.says(), "ready");
        actor
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// The next thing it says; what the test harness says is left out. Empty at its end.
    pub fn says(&mut self) -> String {
        loop {
            let mut line = String::new();
            if self.lines.read_line(&mut line).unwrap() == 0 {
                return line;
            }
            if let Some((_, said)) = line.split_once("says: ") {
                return said.trim_end().to_owned();
            }
        }
    }

    /// What it reads.
    pub fn input(&self) -> &ChildStdin {
        self.child.stdin.as_ref().unwrap()
    }

    /// It alone, as a group.
    pub fn alone(&self) -> Group {
        Group { root: self.pid(), tree: None }
    }

    /// It and what descends from it.
    pub fn with_children(&self) -> Group {
        Group { tree: Some(std::collections::BTreeSet::new()), ..self.alone() }
    }

    pub fn signal(&self, signal: Signal) {
        rustix::process::kill_process(rustix::process::Pid::from_child(&self.child), signal).unwrap();
    }

    /// It uses processor time.
    pub fn runs(&self) -> bool {
        let before = procfs::cpu_time_ns(self.pid()).unwrap();
        (0..400).any(|_| {
            pause(5);
            procfs::cpu_time_ns(self.pid()).unwrap() > before
        })
    }

    /// It uses no processor time for a while, after a moment in which threads that are late may
    /// leave the kernel.
    pub fn rests(&self) -> bool {
        let time = || procfs::cpu_time_ns(self.pid()).unwrap();
        (0..4).any(|_| {
            let before = time();
            pause(50);
            time() == before
        })
    }

    pub fn state(&self) -> char {
        procfs::stat(self.pid()).unwrap().state
    }

    /// Its state becomes this one.
    pub fn becomes(&self, state: char) -> bool {
        (0..2000).any(|_| {
            pause(1);
            self.state() == state
        })
    }
}

impl Drop for Actor {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Lets others go on for a while.
pub fn pause(milliseconds: u64) {
    std::thread::sleep(Duration::from_millis(milliseconds));
}

/// Stops it under number 1; must succeed, if need be at the second answer.
pub fn stop(manager: &Manager, group: &Group) -> Stopped {
    for _ in 0..100 {
        match manager.stop(1, group) {
            Outcome::Stopped(tally) => return tally,
            Outcome::Pending => {}
            Outcome::Unstoppable(reason) => panic!("{reason}"),
        }
    }
    panic!("no answer");
}

/// Stops and continues `actor` again and again, until it has ended or `most` times; how often, and
/// how many threads were caught.
pub fn harass(manager: &Manager, actor: &mut Actor, group: &Group, most: u32) -> (u32, u64) {
    let mut threads = 0;
    for round in 0..most {
        if actor.child.try_wait().unwrap().is_some() {
            return (round, threads);
        }
        threads += u64::from(stop(manager, group).threads);
        pause(u64::from(round % 3));
        manager.resume(1);
        pause(u64::from(round % 4));
    }
    (most, threads)
}

/// Its exit code; fails if it does not end.
pub fn exit_code(actor: &mut Actor) -> Option<i32> {
    for _ in 0..4000 {
        if let Some(status) = actor.child.try_wait().unwrap() {
            return status.code();
        }
        pause(5);
    }
    panic!("it does not end");
}
