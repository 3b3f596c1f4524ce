//! What the thread that asks the manager has found, for every page that looks.

use super::backlog::{Backlog, Line};
use super::message::{Hello, Message, Step};
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::sync::broadcast::{Receiver, Sender};

/// Lines that a page may be behind; then its connection ends, and it begins anew.
const BEHIND_MOST: usize = 4096;

/// See the file's header.
#[derive(Debug)]
pub struct Broadcast {
    backlog: Mutex<Backlog>,
    news: Sender<Line>,
}

impl Default for Broadcast {
    fn default() -> Self {
        Self { backlog: Mutex::default(), news: Sender::new(BEHIND_MOST) }
    }
}

impl Broadcast {
    /// What is known, and all that follows: nothing twice, and nothing left out.
    pub fn attend(&self) -> (Vec<Line>, Receiver<Line>) {
        let backlog = self.backlog();
        (backlog.all(), self.news.subscribe())
    }

    /// Somebody looks.
    pub fn is_watched(&self) -> bool {
        self.news.receiver_count() > 0
    }

    /// Begins anew for everybody.
    pub fn begin(&self, hello: &Hello) {
        self.change(|backlog| backlog.begin(hello));
    }

    /// Something has changed. `whole`: all that is true after the step.
    pub fn step(&self, step: &Step, whole: impl FnOnce() -> Step) {
        self.change(|backlog| {
            let line = backlog.steps(std::slice::from_ref(step));
            if backlog.wants_whole(step.t) {
                backlog.whole(&whole());
            }
            line
        });
    }

    /// What is soon out of date.
    pub fn passing(&self, message: &Message) {
        self.change(|backlog| backlog.passing(message));
    }

    /// The manager cannot be asked. `problem`: one clause.
    pub fn lost(&self, problem: &str) {
        self.passing(&Message::Lost { problem });
    }

    /// Lines are sent in the order in which they are kept.
    fn change(&self, change: impl FnOnce(&mut Backlog) -> Line) {
        let mut backlog = self.backlog();
        let line = change(&mut backlog);
        // Nobody looks: that is no error.
        let _ = self.news.send(line);
    }

    /// A thread that panicked has left whole lines.
    fn backlog(&self) -> MutexGuard<'_, Backlog> {
        self.backlog.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
