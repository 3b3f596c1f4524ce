//! Changes one program's allocation every few milliseconds: neighbours that only sleep are adopted
//! and released again.
//!
//! Nothing is started for a change, so it costs the manager a decision and the machine almost
//! nothing.

use super::Dice;
use super::manager::{Control, Manager};
use numaestro_abi::control::{AppName, Options, Reply, Request, Status};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// Processes that sleep, to be adopted. They end with this.
pub struct Sleepers(Vec<Child>);

impl Sleepers {
    /// Starts so many.
    pub fn new(count: usize) -> Self {
        let sleeper = |_| Command::new("sleep").arg("100000").stdin(Stdio::null()).stdout(Stdio::null()).spawn();
        Self((0..count).map(|number| sleeper(number).expect("sleep can be run")).collect())
    }

    fn pids(&self) -> Vec<u32> {
        self.0.iter().map(Child::id).collect()
    }
}

impl Drop for Sleepers {
    fn drop(&mut self) {
        for sleeper in &mut self.0 {
            let _ = sleeper.kill();
            let _ = sleeper.wait();
        }
    }
}

/// How the neighbours come and go.
#[derive(Debug, Clone, Copy)]
pub struct Pattern {
    /// Neighbours at most.
    pub neighbours: usize,
    /// Time between two changes, on average.
    pub period: Duration,
    /// The first neighbour stays all the time.
    pub crowded: bool,
}

/// After so many steps without a change of the program's processors all neighbours leave. With
/// three applications on two processors the neighbours may share one of them as long as the first
/// one stays, and the program notices nothing.
const STEPS_UNNOTICED: u32 = 6;

/// Changes the allocation until it is ended.
pub struct Flipper {
    stop: Arc<AtomicBool>,
    changes: Arc<AtomicU64>,
    thread: Option<JoinHandle<()>>,
}

impl Flipper {
    /// Starts to change what the program with this process id has.
    pub fn start(manager: &Manager, sleepers: &Sleepers, pid: u32, pattern: Pattern, dice: Dice) -> Self {
        let (stop, changes) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let control = manager.control();
        let pids = sleepers.pids().into_iter().take(pattern.neighbours).collect();
        let mut work = Work { control, pids, pid, pattern, dice, last: None, unnoticed: 0, changes: changes.clone() };
        let stopped = stop.clone();
        let thread = std::thread::spawn(move || work.flip(&stopped));
        Self { stop, changes, thread: Some(thread) }
    }

    /// Ends it, with all neighbours gone; how often the program's own processors have changed.
    pub fn end(mut self) -> u64 {
        self.join();
        self.changes.load(Ordering::Relaxed)
    }

    fn join(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let result = thread.join();
            assert!(result.is_ok() || std::thread::panicking(), "changing the allocation failed");
        }
    }
}

impl Drop for Flipper {
    fn drop(&mut self) {
        self.join();
    }
}

struct Work {
    control: Control,
    pids: Vec<u32>,
    pid: u32,
    pattern: Pattern,
    dice: Dice,
    /// What the program had when it was looked at last, and by which decision.
    last: Option<(u32, String, bool, u32)>,
    /// Steps since that has changed.
    unnoticed: u32,
    changes: Arc<AtomicU64>,
}

impl Work {
    fn flip(&mut self, stopped: &AtomicBool) {
        while !stopped.load(Ordering::Relaxed) {
            let mut status = self.look();
            self.unnoticed += 1;
            if self.unnoticed > STEPS_UNNOTICED {
                self.unnoticed = 0;
                self.release_all(&status);
                status = self.look();
            }
            let fixed = usize::from(self.pattern.crowded);
            let number = match self.pids.len().saturating_sub(fixed) {
                0 => 0,
                loose => fixed + self.dice.roll(loose as u64) as usize,
            };
            match app_of(&status, self.pids[number]) {
                None => self.adopt(self.pids[number]),
                Some(app) => self.release(app),
            }
            if fixed == 1 && app_of(&status, self.pids[0]).is_none() {
                self.adopt(self.pids[0]);
            }
            self.look();
            let period = self.pattern.period;
            std::thread::sleep(period / 2 + self.dice.time(period));
        }
        let status = self.look();
        self.release_all(&status);
    }

    fn release_all(&mut self, status: &Status) {
        let there: Vec<u64> = self.pids.iter().filter_map(|pid| app_of(status, *pid)).collect();
        for app in there {
            self.release(app);
        }
    }

    fn adopt(&mut self, pid: u32) {
        let options = Options { name: "neighbour".to_owned(), wait: Some(false), ..Options::default() };
        let reply = self.control.ask(&Request::Adopt { pid, options, force: false });
        assert!(matches!(reply, Reply::Done | Reply::Run { .. } | Reply::Waiting { .. }), "adopt: {reply:?}");
    }

    fn release(&mut self, app: u64) {
        let reply = self.control.ask(&Request::Release { app: AppName::Number(app) });
        assert!(matches!(reply, Reply::Released { .. }), "release: {reply:?}");
    }

    /// Looks at what the program has now, and counts it if it is something else than before.
    fn look(&mut self) -> Status {
        let Reply::Status(status) = self.control.ask(&Request::Status) else { panic!("no status") };
        if let Some(app) = status.apps.iter().find(|app| app.pid == self.pid) {
            let now = (app.count, app.cpus.clone(), app.shared, app.epoch[0]);
            if self.last.as_ref().is_some_and(|last| *last != now) {
                self.changes.fetch_add(1, Ordering::Relaxed);
                self.unnoticed = 0;
            }
            self.last = Some(now);
        }
        *status
    }
}

fn app_of(status: &Status, pid: u32) -> Option<u64> {
    status.apps.iter().find(|app| app.pid == pid).map(|app| app.app)
}
