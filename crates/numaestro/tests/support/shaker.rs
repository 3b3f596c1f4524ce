//! Keeps changing everybody's allocation: programs arrive, are stopped, continued, killed, and end,
//! all the time.

use super::ended::{self, Running};
use super::manager::{Manager, NUMAESTRO, alone};
use super::{Dice, programs};
use rustix::process::Signal;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// Shakes until it is dropped.
pub struct Shaker {
    stop: Arc<AtomicBool>,
    visits: Arc<AtomicU64>,
    thread: Option<JoinHandle<()>>,
}

impl Shaker {
    /// Starts to shake the programs of this manager.
    pub fn start(manager: &Manager) -> Self {
        let (stop, visits) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let quiet = visitor(manager, &["sleep", "0.02"]);
        let parallel = visitor(manager, &[&programs::any("inside"), "0.03"]);
        let makers: [Box<dyn Fn() -> Command + Send>; 2] = [Box::new(quiet), Box::new(parallel)];
        let (stopped, counted) = (stop.clone(), visits.clone());
        let thread = std::thread::spawn(move || {
            let mut dice = Dice::new(7);
            while !stopped.load(Ordering::Relaxed) {
                let maker = &makers[dice.roll(makers.len() as u64) as usize];
                visit(ended::start(&mut maker()), &mut dice);
                counted.fetch_add(1, Ordering::Relaxed);
            }
        });
        Self { stop, visits, thread: Some(thread) }
    }

    /// Programs that came and went so far.
    pub fn visits(&self) -> u64 {
        self.visits.load(Ordering::Relaxed)
    }
}

/// Makes the command anew for each visit.
fn visitor(manager: &Manager, words: &[&str]) -> impl Fn() -> Command + Send + use<> {
    let words: Vec<String> = words.iter().map(ToString::to_string).collect();
    let dir = manager.dir().to_owned();
    move || {
        let mut command = alone([NUMAESTRO, "run", "--"]);
        command.args(&words).env("NUMAESTRO_DIR", &dir);
        command
    }
}

/// One program: left alone, stopped for a while, or killed somewhere in its life; then a pause.
fn visit(program: Running, dice: &mut Dice) {
    match dice.roll(4) {
        0 => {
            std::thread::sleep(dice.time(Duration::from_millis(30)));
            program.signal(Signal::STOP);
            std::thread::sleep(dice.time(Duration::from_millis(20)));
            program.signal(Signal::CONT);
        }
        1 => {
            std::thread::sleep(dice.time(Duration::from_millis(40)));
            program.signal(Signal::KILL);
        }
        _ => {}
    }
    let _ = program.end();
    std::thread::sleep(dice.time(Duration::from_millis(25)));
}

impl Drop for Shaker {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let result = thread.join();
            assert!(result.is_ok() || std::thread::panicking(), "a visitor did not end");
        }
    }
}
