//! Measured runs from a journal: of each application with a given name, its processors and phases
//! over time, and the speedups that it reported.
//!
//! The journal has a phase only where the manager looked for it, which it does while others could
//! use the processors. So a serial part that nobody was interested in counts as parallel, and the
//! speedup becomes smaller by it.

use super::measured::{Activity, Measured, Report, Span};
use crate::Nanos;
use numaestro_engine::journal::{self, JournalError};
use numaestro_engine::{Action, AppId, Event};
use std::collections::BTreeMap;

/// An application that has not ended.
#[derive(Debug)]
struct Open {
    arrived: Nanos,
    since: Nanos,
    activity: Activity,
    processors: u32,
    stopped: bool,
    measured: Measured,
}

impl Open {
    fn new(at: Nanos) -> Self {
        Self {
            arrived: at,
            since: at,
            activity: Activity::Parallel,
            processors: 0,
            stopped: false,
            measured: Measured::default(),
        }
    }

    /// Time goes on until `at`. Time in the queue and stops are no part of the run.
    fn until(&mut self, at: Nanos) {
        let length_ns = at.saturating_sub(self.since);
        if self.processors > 0 && !self.stopped && length_ns > 0 {
            self.measured.spans.push(Span { activity: self.activity, processors: self.processors, length_ns });
        }
        self.since = at;
    }
}

/// Reads journals line by line.
#[derive(Debug, Default)]
pub struct Runs {
    name: String,
    open: BTreeMap<AppId, Open>,
    ended: Vec<Measured>,
    names: Vec<String>,
}

impl Runs {
    /// The runs of applications of this name.
    pub fn of(name: &str) -> Self {
        Self { name: name.to_owned(), ..Self::default() }
    }

    /// A line after the first; one beside the steps says nothing.
    ///
    /// # Errors
    /// It is no line of a journal.
    pub fn line(&mut self, line: &str) -> Result<(), JournalError> {
        if journal::is_aside(line) {
            return Ok(());
        }
        let (at, event, actions) = journal::decode(line)?;
        if let Event::Arrive { app, .. } = &event {
            let name = journal::name(line).unwrap_or_default();
            if name == self.name {
                self.open.insert(*app, Open::new(at));
            }
            if !self.names.contains(&name) {
                self.names.push(name);
            }
        }
        self.happens(at, &event);
        for action in &actions {
            self.decided(at, action);
        }
        Ok(())
    }

    /// The runs that have ended, with spans of at least `least` nanoseconds.
    pub fn measured(self, least: Nanos) -> Vec<Measured> {
        self.ended.into_iter().map(|run| run.without_short_spans(least)).filter(|run| run.length() > 0).collect()
    }

    /// The names of all applications, in order of their first arrival.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    fn happens(&mut self, at: Nanos, event: &Event) {
        match event {
            Event::Depart { app } => {
                if let Some(mut open) = self.open.remove(app) {
                    open.until(at);
                    self.ended.push(open.measured);
                }
            }
            Event::Sequential { app } => self.activity(at, *app, Activity::Serial),
            Event::Blocked { app } => self.activity(at, *app, Activity::Paused),
            Event::Parallel { app } => self.activity(at, *app, Activity::Parallel),
            Event::Speedup { app, processors, speedup_milli } => {
                if let Some(open) = self.open.get_mut(app) {
                    let speedup = f64::from(*speedup_milli) / 1000.0;
                    open.measured.reports.push(Report { at: at - open.arrived, processors: *processors, speedup });
                }
            }
            _ => {}
        }
    }

    fn activity(&mut self, at: Nanos, app: AppId, activity: Activity) {
        if let Some(open) = self.open.get_mut(&app) {
            open.until(at);
            open.activity = activity;
            open.measured.has_told_phases = true;
        }
    }

    fn decided(&mut self, at: Nanos, action: &Action) {
        let (app, processors, stopped) = match action {
            // On shared processors nobody knows the part that it has.
            Action::Target { app, count, .. } => (app, Some(*count), None),
            Action::Stop { app } => (app, None, Some(true)),
            Action::Continue { app } => (app, None, Some(false)),
            _ => return,
        };
        if let Some(open) = self.open.get_mut(app) {
            open.until(at);
            open.processors = processors.unwrap_or(open.processors);
            open.stopped = stopped.unwrap_or(open.stopped);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Activity::{Parallel, Serial};

    const JOURNAL: &str = r#"{"at":0,"name":"a","event":{"what":"arrive","app":1,"request":2,"min":1,"max":2,"weight_milli":1000,"class":"malleable"},"actions":[{"do":"start","app":1},{"do":"target","app":1,"epoch":1,"count":2,"pus":"0-1","shared":false,"lent":false}]}
{"at":300,"name":"b","event":{"what":"arrive","app":2,"request":2,"min":1,"max":2,"weight_milli":1000,"class":"malleable"},"actions":[{"do":"target","app":1,"epoch":2,"count":1,"pus":"0","shared":false,"lent":false}]}
{"at":350,"event":{"what":"speedup","app":1,"processors":1,"speedup_milli":900},"actions":[]}
{"at":400,"event":{"what":"sequential","app":1},"actions":[]}
{"at":450,"event":{"what":"parallel","app":1},"actions":[{"do":"stop","app":1}]}
{"at":600,"event":{"what":"timer"},"actions":[{"do":"continue","app":1}]}
{"at":700,"event":{"what":"depart","app":1},"actions":[]}"#;

    #[test]
    fn a_run_has_its_processors_phases_and_reports_and_no_stops() {
        let mut runs = Runs::of("a");
        for line in JOURNAL.lines() {
            runs.line(line).expect("a line");
        }
        assert_eq!(runs.names(), ["a", "b"]);
        let found = runs.measured(0);
        let span = |activity, processors, length_ns| Span { activity, processors, length_ns };
        let spans = vec![span(Parallel, 2, 300), span(Parallel, 1, 100), span(Serial, 1, 50), span(Parallel, 1, 100)];
        let reports = vec![Report { at: 350, processors: 1, speedup: 0.9 }];
        assert_eq!(found, [Measured { spans, regions: 0, has_told_phases: true, reports }]);
    }

    #[test]
    fn applications_of_other_names_and_without_end_are_left_out() {
        let mut runs = Runs::of("b");
        for line in JOURNAL.lines() {
            runs.line(line).expect("a line");
        }
        assert!(runs.measured(0).is_empty());
    }

    #[test]
    fn another_text_is_refused() {
        assert!(Runs::of("a").line("no journal").is_err());
    }
}
