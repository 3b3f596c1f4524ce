//! The manager's shell tells the same stories as the simulator's, and finds the same faults. Its
//! sensors are played; its programs are processes that sleep, and its actuators are real.
//!
//! The shell also observes by itself: it has moved a program, or a refused program has gone. Such
//! an observation is in the journal that it keeps, and has to be in the story too.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};

use numaestro_abi::control::Options;
use numaestro_contract::{Observation, stories};
use numaestro_engine::{AppId, Engine, Nanos};
use numaestro_host::PidFd;
use numaestro_host::stop::Remote;

use super::*;
use crate::programs::Owner;

/// See the file's header.
struct Played {
    shell: Shell,
    root: tempfile::TempDir,
    /// Bytes of the journal that have been read.
    read: usize,
    /// Observations of the shell that the story has not had yet.
    own: VecDeque<Observation>,
    children: Vec<Child>,
}

fn journal(root: &Path) -> PathBuf {
    root.join("journal")
}

impl Played {
    /// On the machine of an engine, and under its policy.
    fn new(engine: Engine) -> Self {
        let root = tempfile::tempdir().unwrap();
        let (machine, journal) = (engine.machine().clone(), Some(journal(root.path())));
        let config = Config { unmanaged: false, journal, journal_observations: true, ..Config::default() };
        let (usable, seen) = (machine.os_cpuset(machine.allowed()), CpuSet::default());
        let guard = Remote::in_this_process().ok();
        let mut shell =
            Shell::on(Rc::new(config), Site { machine, usable, seen }, root.path().join("attach"), guard).unwrap();
        shell.engine.replace(engine);
        Self { shell, root, read: 0, own: VecDeque::new(), children: Vec::new() }
    }

    /// A process for an application, which has not arrived yet.
    fn enter(&mut self, app: AppId) {
        if !self.shell.programs.contains(app.0) {
            let child = Command::new("sleep").arg("1000").spawn().unwrap();
            let process = PidFd::open(child.id()).unwrap();
            let options = Options::default();
            let (owner, name) = (Owner { uid: 0, party: 0, job: None }, "sleep".to_owned());
            let newcomer = Newcomer { process, owner, name, options, own: None };
            self.shell.insert_as(app.0, newcomer);
            self.children.push(child);
        }
    }

    /// Reads from the journal what the shell has observed since.
    fn read_journal(&mut self) {
        let text = std::fs::read_to_string(journal(self.root.path())).unwrap();
        let fresh = text[self.read..].lines().filter(|line| numaestro_engine::journal::is_observation(line));
        self.own.extend(fresh.map(|line| Observation::decode(line).unwrap().1));
        self.read = text.len();
    }

    /// The shell's sensors see this.
    fn happens(&mut self, at: Nanos, what: &Observation) {
        match what {
            Observation::Page { app } => {
                self.enter(*app);
                self.shell.open_page(app.0).unwrap();
            }
            Observation::Fact(Event::Arrive { app, wish }) => {
                self.enter(*app);
                self.shell.programs.get_mut(app.0).unwrap().class = wish.class;
                self.shell.tell([Event::Arrive { app: *app, wish: wish.clone() }]);
            }
            Observation::Fact(Event::Depart { app }) => self.shell.remove(app.0),
            // Only the shell itself can do that.
            Observation::Placed { .. } => {}
            Observation::Adopted { app, epoch } => _ = self.shell.adopts(app.0, *epoch),
            Observation::Fact(_) | Observation::Rates(_) | Observation::Look { .. } | Observation::Phase { .. } => {
                self.shell.engine.observed(at, what);
                self.shell.course.observe(at, what.clone());
            }
        }
    }
}

impl numaestro_contract::Shell for Played {
    fn observe(&mut self, at: Nanos, what: &Observation) {
        self.read_journal();
        if self.own.front() != Some(what) {
            self.happens(at, what);
            self.read_journal();
        }
        if self.own.front() == Some(what) {
            self.own.pop_front();
        }
    }

    fn next(&mut self, now: Nanos) -> Option<Next> {
        self.shell.course.next(now, self.shell.engine.measures_until())
    }

    fn decide(&mut self, at: Nanos, event: &Event) -> Vec<Action> {
        let mut actions = Vec::new();
        self.shell.decide(at, event, &mut actions);
        let decided = actions.clone();
        self.shell.carry_out_all(&mut actions);
        decided
    }

    fn unexpected(&mut self) -> Option<Observation> {
        self.read_journal();
        self.own.pop_front()
    }
}

impl Drop for Played {
    fn drop(&mut self) {
        self.shell.end_queue();
        for child in &mut self.children {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }
}

#[test]
fn the_manager_tells_the_stories_and_the_stories_find_the_faults() {
    let rung = numaestro_host::stop::rung();
    if !rung.works {
        numaestro_skip::skip!("programs cannot be stopped: {}", rung.detail);
    }
    let problems = stories::check(Played::new);
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}
