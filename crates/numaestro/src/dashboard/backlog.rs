//! What is told to a page that comes late: the lines of the last hour, as parts that each begin
//! with all that was true then, so that the oldest part can go.

use super::message::{Hello, Message, Step};
use std::collections::VecDeque;
use std::sync::Arc;

/// The time that is kept, microseconds.
const KEPT: u64 = 3_600_000_000;
/// Bytes that are kept, at most.
const BYTES_MOST: usize = 64 << 20;
/// A part has so many bytes, or so much time, and the next one begins.
const PART_BYTES: usize = 1 << 20;
const PART_TIME: u64 = KEPT / 12;

/// A message as it is sent, with its newline.
pub type Line = Arc<str>;

/// See the file's header.
#[derive(Debug, Default)]
pub struct Backlog {
    hello: Option<Line>,
    parts: VecDeque<Part>,
    /// The latest line of those that are soon out of date.
    latest: Option<Line>,
}

#[derive(Debug)]
struct Part {
    from: u64,
    lines: Vec<Line>,
    bytes: usize,
}

/// The message as it is sent.
fn line(message: &Message) -> Line {
    let mut text = serde_json::to_string(message).unwrap_or_default();
    text.push('\n');
    text.into()
}

impl Backlog {
    /// Begins anew. The first step is to be the whole state.
    pub fn begin(&mut self, hello: &Hello) -> Line {
        let line = line(&Message::Hello(hello));
        let first = Part { from: 0, lines: Vec::new(), bytes: 0 };
        *self = Self { hello: Some(Arc::clone(&line)), parts: [first].into(), latest: None };
        line
    }

    /// After the step at this time the whole state is to follow: a part begins.
    pub fn wants_whole(&self, t: u64) -> bool {
        self.parts.back().is_none_or(|part| part.bytes > PART_BYTES || t > part.from + PART_TIME)
    }

    /// The whole state, with which a part begins. Pages that are up to date do not need it.
    pub fn whole(&mut self, step: &Step) {
        self.parts.push_back(Part { from: step.t, lines: Vec::new(), bytes: 0 });
        self.steps(std::slice::from_ref(step));
        let is_over = |parts: &VecDeque<Part>| {
            let bytes: usize = parts.iter().map(|part| part.bytes).sum();
            parts.len() > 1 && (parts[1].from + KEPT < step.t || bytes > BYTES_MOST)
        };
        while is_over(&self.parts) {
            self.parts.pop_front();
        }
    }

    /// What has changed.
    pub fn steps(&mut self, steps: &[Step]) -> Line {
        let line = line(&Message::Steps { steps });
        if let Some(part) = self.parts.back_mut() {
            part.bytes += line.len();
            part.lines.push(Arc::clone(&line));
        }
        line
    }

    /// What is soon out of date: a page that comes late gets the latest one.
    pub fn passing(&mut self, message: &Message) -> Line {
        let line = line(message);
        self.latest = Some(Arc::clone(&line));
        line
    }

    /// Everything for a page that comes now.
    pub fn all(&self) -> Vec<Line> {
        let steps = self.parts.iter().flat_map(|part| &part.lines);
        self.hello.iter().chain(steps).chain(&self.latest).cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::message::Decision;
    use super::*;

    fn step(t: u64, words: usize) -> Step {
        let decision = Decision {
            number: t,
            because: None,
            app: None,
            event: "x".repeat(words),
            rule: String::new(),
            section: String::new(),
            action: String::new(),
            before: 0,
            after: 0,
        };
        Step { t, decisions: vec![decision], ..Step::default() }
    }

    /// Tells a step every so many microseconds; gives the times that are kept.
    fn told(count: u64, every: u64, words: usize) -> (usize, u64, u64) {
        let mut backlog = Backlog::default();
        for t in (1..=count).map(|number| number * every) {
            if backlog.wants_whole(t) {
                backlog.whole(&step(t, 1));
            }
            backlog.steps(&[step(t, words)]);
        }
        let bytes = backlog.all().iter().map(|line| line.len()).sum();
        (bytes, backlog.parts[0].from, backlog.parts.back().unwrap().from)
    }

    #[test]
    fn an_hour_is_kept_and_no_more_bytes_than_fit() {
        // Three hours of a step a second, of which the last is kept, and at most one part before.
        let (_, first, last) = told(3 * 3600, 1_000_000, 10);
        assert!((first..=first + PART_TIME).contains(&(3 * KEPT - KEPT - PART_TIME / 2)), "{first} {last}");
        // So many bytes in a second that they do not fit.
        let (bytes, first, _) = told(200, 5000, 1 << 20);
        assert!((BYTES_MOST / 2..=BYTES_MOST + 3 * PART_BYTES).contains(&bytes), "{bytes}");
        assert!(first > 5000);
    }

    #[test]
    fn a_page_that_comes_late_gets_the_begin_the_steps_and_the_latest_status() {
        let mut backlog = Backlog::default();
        backlog.whole(&step(1, 1));
        backlog.steps(&[step(2, 1)]);
        backlog.passing(&Message::Now { t: 3 });
        backlog.passing(&Message::Now { t: 4 });
        let all = backlog.all().concat();
        assert_eq!(all.lines().count(), 3);
        assert!(all.ends_with("{\"kind\":\"now\",\"t\":4}\n"), "{all}");
    }
}
