//! Measured runs from a journal: of each application its processors and phases over time, and the
//! speedups that it reported.
//!
//! The journal has a phase only where the manager looked for it, which it does while others could
//! use the processors. So a serial part that nobody was interested in counts as parallel, and the
//! speedup becomes smaller by it.
//!
//! On processors that are shared, an application is assumed to have an equal part of each
//! ([`super::courses`]).

use super::courses::{Course, Courses};
use super::measured::{Activity, Measured, Report};
use super::recorded::Recorded;
use crate::Nanos;
use numaestro_engine::journal::{self, JournalError, State};
use numaestro_engine::{Action, AppId, AppState, Event, Wish};

/// The content of a line after the first.
#[derive(Debug)]
pub enum Heard {
    /// A step: its time, the name of an application that arrives, event and actions.
    Step(Nanos, Option<String>, Event, Vec<Action>),
    /// The state of all applications.
    State(Box<State>),
    /// Nothing of applications.
    Aside,
}

impl Heard {
    /// Reads a line.
    ///
    /// # Errors
    /// It is no line of a journal.
    pub fn decode(line: &str) -> Result<Self, JournalError> {
        if journal::is_aside(line) {
            return Ok(State::decode(line).map_or(Self::Aside, |state| Self::State(Box::new(state))));
        }
        let (at, name, event, actions) = journal::decode_named(line)?;
        Ok(Self::Step(at, name, event, actions))
    }
}

/// Reads journals line by line.
#[derive(Debug, Default)]
pub struct Runs {
    courses: Courses,
    now: Nanos,
}

impl Runs {
    /// A line after the first; one beside the steps that is no state says nothing.
    ///
    /// # Errors
    /// It is no line of a journal.
    pub fn line(&mut self, line: &str) -> Result<(), JournalError> {
        self.hear(&Heard::decode(line)?);
        Ok(())
    }

    /// The same of a line that has been read.
    pub fn hear(&mut self, heard: &Heard) {
        match heard {
            Heard::Step(at, name, event, actions) => self.step(*at, name.as_deref(), event, actions),
            Heard::State(state) if self.courses.is_empty() => self.begin(state),
            Heard::State(_) | Heard::Aside => {}
        }
    }

    fn step(&mut self, at: Nanos, name: Option<&str>, event: &Event, actions: &[Action]) {
        self.now = self.now.max(at);
        let at = self.now;
        // A refused event has changed nothing.
        if !actions.iter().any(Action::is_refusal) {
            if let Event::Arrive { app, wish } = event {
                let name = name.unwrap_or_default().to_owned();
                self.courses.add(Course::new(*app, name, at, wish.clone()));
            }
            self.happens(at, event);
        }
        for action in actions {
            self.decided(at, action);
        }
    }

    /// The applications in order of their arrival, with spans of at least `least` nanoseconds.
    pub fn recorded(self, least: Nanos) -> Vec<Recorded> {
        self.courses
            .end(self.now)
            .map(|recorded| Recorded { run: recorded.run.without_short_spans(least), ..recorded })
            .collect()
    }

    /// The time of the latest line, nanoseconds.
    pub fn now(&self) -> Nanos {
        self.now
    }

    /// The runs of applications of this name that have ended.
    pub fn measured(self, name: &str, least: Nanos) -> Vec<Measured> {
        let those = self.recorded(least).into_iter().filter(|app| app.name == name && app.ended.is_some());
        those.map(|app| app.run).filter(|run| run.length() > 0).collect()
    }

    /// The names of all applications, in order of their first arrival.
    pub fn names(&self) -> Vec<&str> {
        let mut names = Vec::new();
        for recorded in self.courses.all() {
            if !names.contains(&recorded.name.as_str()) {
                names.push(recorded.name.as_str());
            }
        }
        names
    }

    /// The journal begins in the middle of a manager's life.
    fn begin(&mut self, state: &State) {
        self.now = state.at;
        for seen in &state.state.apps {
            let wish = Wish {
                min: seen.min,
                max: seen.max,
                weight_milli: seen.weight_milli,
                class: seen.class,
                ..Wish::new(seen.request)
            };
            let name = state.names.get(&seen.app).cloned().unwrap_or_default();
            let mut course = Course::new(seen.app, name, state.at, wish);
            course.recorded.had_begun = seen.state != AppState::Waiting;
            course.is_wrapper = seen.state == AppState::Wrapper;
            (course.count, course.pus, course.stopped) =
                (seen.count, seen.pus.clone(), seen.state == AppState::Stopped);
            course.activity = match seen.state {
                AppState::Sequential => Activity::Serial,
                AppState::Blocked => Activity::Paused,
                _ => Activity::Parallel,
            };
            self.courses.add(course);
        }
    }

    fn happens(&mut self, at: Nanos, event: &Event) {
        match event {
            Event::Depart { app } => self.courses.depart(*app, at),
            Event::Arrive { app, wish: Wish { request, .. } } | Event::Request { app, processors: request } => {
                self.courses.change(*app, at, |course| {
                    course.is_wrapper = *request == 0;
                    course.recorded.wish.request = course.recorded.wish.request.max(*request);
                });
            }
            Event::Sequential { app } => self.activity(at, *app, Activity::Serial),
            Event::Blocked { app } => self.activity(at, *app, Activity::Paused),
            Event::Parallel { app } => self.activity(at, *app, Activity::Parallel),
            Event::Speedup { app, processors, speedup_milli } => self.courses.change(*app, at, |course| {
                let (at, speedup) = (at - course.recorded.arrived, f64::from(*speedup_milli) / 1000.0);
                course.recorded.run.reports.push(Report { at, processors: *processors, speedup });
            }),
            _ => {}
        }
    }

    fn activity(&mut self, at: Nanos, app: AppId, activity: Activity) {
        self.courses.change(app, at, |course| {
            course.activity = activity;
            course.recorded.run.has_told_phases = true;
        });
    }

    fn decided(&mut self, at: Nanos, action: &Action) {
        let Some(app) = action.app() else { return };
        match action {
            Action::Target { count, pus, .. } => self.courses.change(app, at, |course| {
                (course.count, course.pus) = (*count, pus.clone());
            }),
            Action::Stop { .. } => self.courses.change(app, at, |course| course.stopped = true),
            Action::Continue { .. } => self.courses.change(app, at, |course| course.stopped = false),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::measured::Span;
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
        let mut runs = Runs::default();
        for line in JOURNAL.lines() {
            runs.line(line).expect("a line");
        }
        assert_eq!(runs.names(), ["a", "b"]);
        let found = runs.measured("a", 0);
        let span = |activity, processors, length_ns| Span { activity, processors, length_ns };
        let spans = vec![span(Parallel, 2, 300), span(Parallel, 1, 100), span(Serial, 1, 50), span(Parallel, 1, 100)];
        let reports = vec![Report { at: 350, processors: 1, speedup: 0.9 }];
        assert_eq!(found, [Measured { spans, regions: 0, has_told_phases: true, reports }]);
    }

    /// The runs of `a`, while `beside` is there on the same processor from 100 on.
    fn beside(beside: &str) -> Vec<Span> {
        let target = |app: u64| {
            format!(r#"{{"do":"target","app":{app},"epoch":1,"count":1,"pus":"0","shared":true,"lent":false}}"#)
        };
        let arrive = |app: u64, name: &str, at: u64| {
            format!(
                r#"{{"at":{at},"name":"{name}","event":{{"what":"arrive","app":{app},"request":1,"min":1,"max":1,"weight_milli":1000,"class":"malleable"}},"actions":[{{"do":"start","app":{app}}},{}]}}"#,
                target(app)
            )
        };
        let end = r#"{"at":300,"event":{"what":"depart","app":1},"actions":[]}"#;
        let mut runs = Runs::default();
        for line in [&arrive(1, "a", 0), &arrive(2, "b", 100), beside, end] {
            runs.line(line).expect("a line");
        }
        runs.measured("a", 0).remove(0).spans
    }

    #[test]
    fn shared_processors_count_in_parts_and_who_takes_no_time_takes_no_part() {
        let span = |length_ns| vec![Span { activity: Parallel, processors: 1, length_ns }];
        assert_eq!(beside(r#"{"at":100,"event":{"what":"timer"},"actions":[]}"#), span(200), "100 alone, 200 by half");
        assert_eq!(beside(r#"{"at":100,"event":{"what":"blocked","app":2},"actions":[]}"#), span(300));
        assert_eq!(beside(r#"{"at":100,"event":{"what":"request","app":2,"processors":0},"actions":[]}"#), span(300));
        let refused = r#"{"at":100,"event":{"what":"request","app":2,"processors":0},"actions":[{"do":"refuse","app":2,"reason":"no"}]}"#;
        assert_eq!(beside(refused), span(200), "nothing has changed");
    }

    #[test]
    fn applications_of_other_names_and_without_end_are_left_out() {
        let mut runs = Runs::default();
        for line in JOURNAL.lines() {
            runs.line(line).expect("a line");
        }
        assert!(runs.measured("b", 0).is_empty());
    }

    #[test]
    fn another_text_is_refused() {
        assert!(Runs::default().line("no journal").is_err());
    }
}
