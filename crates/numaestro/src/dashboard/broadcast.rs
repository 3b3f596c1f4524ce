//! What the thread that asks the manager has found, for every page that looks.

use super::backlog::{Backlog, Line};
use super::message::{Hello, Message, Step};
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::sync::broadcast::{Receiver, Sender};

/// A page may be so many lines behind. If it falls further behind, the server ends its connection,
/// and the page asks again.
const BEHIND_MOST: usize = 4096;

/// Steps of the past in one message.
const STEPS_TOGETHER: usize = 200;

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

    /// Begins anew for everybody, with what was before. The first step is to be the whole state.
    pub fn begin(&self, hello: &Hello, past: &[Step]) {
        let mut backlog = self.backlog();
        let begin = backlog.begin(hello);
        let steps = past.chunks(STEPS_TOGETHER).map(|steps| backlog.steps(steps));
        for line in std::iter::once(begin).chain(steps) {
            let _ = self.news.send(line);
        }
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

#[cfg(test)]
mod tests {
    use super::super::message::May;
    use super::super::teller::Teller;
    use super::*;
    use numaestro_engine::{AppId, Engine, Event, Settings, Wish, journal};
    use serde_json::Value;

    /// Times of steps in lines, in their order, and the processors that are known after them.
    fn heard(lines: &[Line]) -> (Vec<u64>, Value) {
        let mut known = serde_json::json!({});
        let mut times = Vec::new();
        for line in lines {
            let message: Value = serde_json::from_str(line).unwrap();
            for step in message["steps"].as_array().into_iter().flatten() {
                times.push(step["t"].as_u64().unwrap());
                for pu in step["pus"].as_array().into_iter().flatten() {
                    known[pu[0].to_string()] = pu.clone();
                }
            }
        }
        (times, known)
    }

    #[test]
    fn a_page_that_comes_late_knows_what_one_that_was_there_knows() {
        let machine = numaestro_topology::synthetic::parse("core:8 pu:1").unwrap();
        let settings = Settings::default();
        let mut engine = Engine::new(machine.clone(), settings.clone(), 1).unwrap();
        let mut teller = Teller::new(&journal::encode_head(&machine, &settings, 1)).unwrap();
        // Ten minutes from one event to the next: several parts of the backlog.
        let mut steps = (1..30_u64).map(|number| {
            let app = AppId(number / 2);
            let event = if number % 2 == 0 {
                Event::Arrive { app, wish: Wish::new(number as u32 % 7 + 1) }
            } else {
                Event::Depart { app: AppId(number / 4) }
            };
            let (at, mut actions) = (number * 600_000_000_000, Vec::new());
            engine.step(at, &event, &mut actions);
            journal::encode_named(at, None, &event, &actions)
        });
        let past: Vec<String> = steps.by_ref().take(9).collect();
        let past: Vec<Step> = past.iter().filter_map(|line| teller.line(line).unwrap()).collect();
        let broadcast = Broadcast::default();
        let (_, mut early) = broadcast.attend();
        broadcast.begin(&teller.hello(String::new(), true, Vec::new(), May::default()), &past);
        for line in steps {
            if let Some(step) = teller.line(&line).unwrap() {
                broadcast.step(&step, || teller.whole());
            }
        }
        let early: Vec<Line> = std::iter::from_fn(|| early.try_recv().ok()).collect();
        let (late, _) = broadcast.attend();
        let ((early_times, early), (late_times, late)) = (heard(&early), heard(&late));
        assert_eq!(early, late);
        assert!(early_times.is_sorted() && early_times.len() > 20, "{early_times:?}");
        assert!(late_times.is_sorted() && late_times.len() < early_times.len(), "an hour is kept: {late_times:?}");
        assert_eq!(early_times.last(), late_times.last());
    }
}
