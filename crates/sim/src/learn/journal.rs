//! Measured runs from a journal: of each application its processors and phases over time, and the
//! speedups that it reported.
//!
//! The journal has a phase only where the manager looked for it, which it does while others could
//! use the processors. So a serial part that nobody was interested in counts as parallel, and the
//! speedup becomes smaller by it.
//!
//! On processors that are shared, an application is assumed to have an equal part of each. Such a
//! time counts as a shorter one on as many processors of its own.

use super::measured::{Activity, Measured, Report, Span};
use crate::Nanos;
use numaestro_engine::journal::{self, JournalError, State};
use numaestro_engine::{Action, AppId, AppState, Event, Wish};
use numaestro_topology::{PuId, PuSet};

/// One application of a journal.
#[derive(Debug, Clone, PartialEq)]
pub struct Recorded {
    /// Its number.
    pub app: AppId,
    /// Its name; empty: not known.
    pub name: String,
    /// Its arrival on the journal's clock, nanoseconds. That of one that was there before the
    /// journal begins is the begin.
    pub arrived: Nanos,
    /// Its end; `None`: it was still there at the journal's end.
    pub ended: Option<Nanos>,
    /// It was there before the journal begins: its run is the rest of one.
    pub had_begun: bool,
    /// Its wishes, as far as they are known.
    pub wish: Wish,
    /// Its run, without the time in the queue and stops.
    pub run: Measured,
}

/// An application in the course of the journal.
#[derive(Debug)]
struct Course {
    recorded: Recorded,
    since: Nanos,
    activity: Activity,
    /// It only waits for its children, and holds nothing.
    is_wrapper: bool,
    /// Threads that it was told.
    count: u32,
    pus: PuSet,
    stopped: bool,
}

impl Course {
    fn new(app: AppId, name: String, at: Nanos, wish: Wish) -> Self {
        let run = Measured::default();
        Self {
            recorded: Recorded { app, name, arrived: at, ended: None, had_begun: false, wish, run },
            since: at,
            activity: Activity::Parallel,
            is_wrapper: false,
            count: 0,
            pus: PuSet::default(),
            stopped: false,
        }
    }

    fn runs(&self) -> bool {
        self.count > 0 && !self.stopped && !self.is_wrapper
    }

    /// It takes processor time. One that is paused is a guest where others are, and takes none.
    fn takes_time(&self) -> bool {
        self.runs() && self.activity != Activity::Paused
    }

    /// Time goes on until `at`. It has this part of its processors, thousandths.
    fn until(&mut self, at: Nanos, part_milli: u64) {
        let length_ns = at.saturating_sub(self.since);
        let part_milli = if self.takes_time() { part_milli } else { 1000 };
        let length_ns = if part_milli < 1000 { length_ns.saturating_mul(part_milli) / 1000 } else { length_ns };
        if self.runs() && length_ns > 0 {
            let span = Span { activity: self.activity, processors: self.count, length_ns };
            match self.recorded.run.spans.last_mut() {
                // Most decisions are about others.
                Some(last) if (last.activity, last.processors) == (span.activity, span.processors) => {
                    last.length_ns += length_ns;
                }
                _ => self.recorded.run.spans.push(span),
            }
        }
        self.since = at;
    }
}

/// Reads journals line by line.
#[derive(Debug, Default)]
pub struct Runs {
    courses: Vec<Course>,
    /// Places of those that have not ended.
    open: Vec<usize>,
    /// Applications that run on each processor; a buffer.
    beside: Vec<u64>,
    now: Nanos,
}

impl Runs {
    /// A line after the first; one beside the steps that is no state says nothing.
    ///
    /// # Errors
    /// It is no line of a journal.
    pub fn line(&mut self, line: &str) -> Result<(), JournalError> {
        if journal::is_aside(line) {
            if let (true, Ok(state)) = (self.courses.is_empty(), State::decode(line)) {
                self.begin(state);
            }
            return Ok(());
        }
        let (at, event, actions) = journal::decode(line)?;
        self.now = self.now.max(at);
        let at = self.now;
        if !actions.is_empty() || matches!(event, Event::Depart { .. }) {
            // The parts of shared processors may be others from now on.
            self.all_until(at);
        }
        // A refused event has changed nothing.
        if !actions.iter().any(Action::is_refusal) {
            if let Event::Arrive { app, wish } = &event {
                let name = journal::name(line).unwrap_or_default();
                self.add(Course::new(*app, name, at, wish.clone()));
            }
            self.happens(at, &event);
        }
        for action in &actions {
            self.decided(action);
        }
        Ok(())
    }

    /// The applications in order of their arrival, with spans of at least `least` nanoseconds.
    pub fn recorded(mut self, least: Nanos) -> Vec<Recorded> {
        self.all_until(self.now);
        let all = self.courses.into_iter().map(|course| course.recorded);
        all.map(|recorded| Recorded { run: recorded.run.without_short_spans(least), ..recorded }).collect()
    }

    /// The runs of applications of this name that have ended.
    pub fn measured(self, name: &str, least: Nanos) -> Vec<Measured> {
        let those = self.recorded(least).into_iter().filter(|app| app.name == name && app.ended.is_some());
        those.map(|app| app.run).filter(|run| run.length() > 0).collect()
    }

    /// The names of all applications, in order of their first arrival.
    pub fn names(&self) -> Vec<&str> {
        let mut names = Vec::new();
        for course in &self.courses {
            if !names.contains(&course.recorded.name.as_str()) {
                names.push(course.recorded.name.as_str());
            }
        }
        names
    }

    /// The journal begins in the middle of a manager's life.
    fn begin(&mut self, state: State) {
        self.now = state.at;
        for seen in state.state.apps {
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
            (course.count, course.pus, course.stopped) = (seen.count, seen.pus, seen.state == AppState::Stopped);
            course.activity = match seen.state {
                AppState::Sequential => Activity::Serial,
                AppState::Blocked => Activity::Paused,
                _ => Activity::Parallel,
            };
            self.add(course);
        }
    }

    fn add(&mut self, course: Course) {
        self.open.push(self.courses.len());
        self.courses.push(course);
    }

    fn all_until(&mut self, at: Nanos) {
        self.beside.clear();
        for &place in &self.open {
            let course = &self.courses[place];
            for pu in course.pus.iter().filter(|_| course.takes_time()) {
                if self.beside.len() <= pu.index() {
                    self.beside.resize(pu.index() + 1, 0);
                }
                self.beside[pu.index()] += 1;
            }
        }
        for &place in &self.open {
            let course = &mut self.courses[place];
            // An equal part of each processor; more threads than processors have them together.
            let part = |pu: PuId| 1000 / self.beside.get(pu.index()).copied().unwrap_or(1).max(1);
            let parts: u64 = course.pus.iter().map(part).sum();
            course.until(at, (parts / u64::from(course.count.max(1))).min(1000));
        }
    }

    fn course(&mut self, app: AppId) -> Option<&mut Course> {
        let place = self.open.iter().rev().find(|&&place| self.courses[place].recorded.app == app)?;
        self.courses.get_mut(*place)
    }

    fn happens(&mut self, at: Nanos, event: &Event) {
        match event {
            Event::Depart { app } => {
                if let Some(course) = self.course(*app) {
                    course.recorded.ended = Some(at);
                }
                self.open.retain(|&place| self.courses[place].recorded.ended.is_none());
            }
            Event::Arrive { app, wish: Wish { request, .. } } | Event::Request { app, processors: request } => {
                self.all_until(at);
                if let Some(course) = self.course(*app) {
                    course.is_wrapper = *request == 0;
                    course.recorded.wish.request = course.recorded.wish.request.max(*request);
                }
            }
            Event::Sequential { app } => self.activity(at, *app, Activity::Serial),
            Event::Blocked { app } => self.activity(at, *app, Activity::Paused),
            Event::Parallel { app } => self.activity(at, *app, Activity::Parallel),
            Event::Speedup { app, processors, speedup_milli } => {
                if let Some(course) = self.course(*app) {
                    let (at, speedup) = (at - course.recorded.arrived, f64::from(*speedup_milli) / 1000.0);
                    course.recorded.run.reports.push(Report { at, processors: *processors, speedup });
                }
            }
            _ => {}
        }
    }

    fn activity(&mut self, at: Nanos, app: AppId, activity: Activity) {
        self.all_until(at);
        if let Some(course) = self.course(app) {
            course.activity = activity;
            course.recorded.run.has_told_phases = true;
        }
    }

    fn decided(&mut self, action: &Action) {
        let Some(course) = action.app().and_then(|app| self.course(app)) else { return };
        match action {
            Action::Target { count, pus, .. } => (course.count, course.pus) = (*count, pus.clone()),
            Action::Stop { .. } => course.stopped = true,
            Action::Continue { .. } => course.stopped = false,
            _ => {}
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
