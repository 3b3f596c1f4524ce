//! Turns a journal into intervals: the application of each processor, the state of each
//! application, and the decisions with their times.
//!
//! The engine repeats the journal, so that all that follows from an event is known, not guessed
//! from the messages.

use super::super::sim::WRONG_FILE;
use crate::say::Failure;
use anyhow::Context;
use numaestro_engine::journal::{self, Replay};
use numaestro_engine::{Action, Event, Nanos, PuState, Snapshot};
use numaestro_topology::{Machine, PuId};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

/// The way in which an application is on a processor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum How {
    /// It is its own.
    Owner,
    /// It has been told to vacate it.
    Leaving,
    /// It runs there beside the owner.
    Guest,
}

impl How {
    /// The word for people.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Owner => "running",
            Self::Leaving => "leaving",
            Self::Guest => "guest",
        }
    }
}

/// An application on a processor for a while.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    pub from: Nanos,
    pub to: Nanos,
    pub app: u64,
    pub how: How,
    /// Number of the processor among the application's own, from 0: the lowest number that was free
    /// when it came.
    pub lane: u32,
}

/// The state of an application for a while: a word, and the number of its processors.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Phase {
    pub from: Nanos,
    pub to: Nanos,
    pub state: &'static str,
    pub count: u32,
}

/// One application.
#[derive(Debug, Clone, Default)]
pub struct AppRow {
    /// Its program, if the journal says it.
    pub name: String,
    pub phases: Vec<Phase>,
    /// The most processors it has been on at once.
    pub lanes: u32,
    taken: Vec<bool>,
}

/// Something that happened at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mark {
    pub at: Nanos,
    pub app: Option<u64>,
    pub kind: Kind,
    /// The value; `kind` gives its meaning.
    pub value: u64,
    /// For people; empty where the kind says it all.
    pub text: String,
}

/// The kind of a mark. The numbers are those of Paraver's event types, and stay.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    Arrive = 1,
    Depart = 2,
    Request = 3,
    Target = 4,
    Stop = 5,
    Continue = 6,
    Force = 7,
    Speedup = 8,
    Bandwidth = 9,
    Policy = 10,
    Turn = 11,
}

impl Kind {
    pub const ALL: [Self; 11] = [
        Self::Arrive,
        Self::Depart,
        Self::Request,
        Self::Target,
        Self::Stop,
        Self::Continue,
        Self::Force,
        Self::Speedup,
        Self::Bandwidth,
        Self::Policy,
        Self::Turn,
    ];

    /// The name and the meaning of the value.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Arrive => "arrives, wants processors",
            Self::Depart => "ends",
            Self::Request => "wants processors",
            Self::Target => "told processors",
            Self::Stop => "stopped",
            Self::Continue => "goes on",
            Self::Force => "folded by the manager",
            Self::Speedup => "speedup, thousandths",
            Self::Bandwidth => "bus transactions per ms",
            Self::Policy => "policy switched",
            Self::Turn => "turn ends",
        }
    }
}

/// Everything.
#[derive(Debug)]
pub struct Timeline {
    pub machine: Machine,
    pub policy: String,
    pub steps: u64,
    /// Length, from the first event to the last.
    pub end: Nanos,
    /// By processor, in order of time.
    pub pus: Vec<Vec<Span>>,
    pub apps: BTreeMap<u64, AppRow>,
    pub marks: Vec<Mark>,
    /// Time of the first event on the journal's clock.
    start: Nanos,
    /// By processor, the spans that have not ended.
    open: Vec<Vec<Span>>,
}

impl Timeline {
    /// Reads a journal. A last line that was cut off (a manager that was killed) is left out.
    pub fn read(path: &Path) -> anyhow::Result<Self> {
        let name = path.display();
        let place = || format!("cannot read {name}");
        let wrong = |line: u64, problem: &str| {
            let next = "a journal is written by `numaestro daemon --journal` or `numaestro sim run --journal`";
            Failure::error(WRONG_FILE, format!("{name}:{line}: {problem}"), next)
        };
        let mut lines = BufReader::new(File::open(path).with_context(place)?).lines();
        let head = lines.next().transpose().with_context(place)?.ok_or_else(|| wrong(1, "it is empty"))?;
        let mut replay = Replay::new(&head).map_err(|error| wrong(1, &error.problem))?;
        let mut timeline = Self::new(&replay.engine().snapshot(), replay.engine().machine().clone());
        let mut lines = (2..).zip(lines).peekable();
        while let Some((number, line)) = lines.next() {
            let line = line.with_context(place)?;
            if journal::is_observation(&line) {
                continue;
            }
            match journal::decode(&line) {
                Ok((at, event, actions)) => {
                    replay.step(&line).map_err(|error| wrong(number, &error.problem))?;
                    if let (Event::Arrive { app, .. }, Some(name)) = (&event, journal::name(&line)) {
                        timeline.apps.entry(app.0).or_default().name = name;
                    }
                    timeline.step(at, &event, &actions, &replay.engine().snapshot());
                }
                Err(_) if lines.peek().is_none() => break,
                Err(error) => return Err(wrong(number, &error.problem)),
            }
        }
        timeline.close();
        Ok(timeline)
    }

    fn new(snapshot: &Snapshot, machine: Machine) -> Self {
        let pus = machine.pu_count();
        Self {
            machine,
            policy: snapshot.policy.clone(),
            steps: 0,
            end: 0,
            pus: vec![Vec::new(); pus],
            apps: BTreeMap::new(),
            marks: Vec::new(),
            start: 0,
            open: vec![Vec::new(); pus],
        }
    }

    fn step(&mut self, at: Nanos, event: &Event, actions: &[Action], after: &Snapshot) {
        if self.steps == 0 {
            self.start = at;
        }
        self.steps += 1;
        // The engine's time never goes back, even if the shell's clock does.
        let at = after.now.max(at).saturating_sub(self.start).max(self.end);
        self.end = at;
        self.mark(at, event, actions);
        self.occupy(at, after);
        self.phases(at, after);
    }

    fn mark(&mut self, at: Nanos, event: &Event, actions: &[Action]) {
        let mut add = |app: Option<u64>, kind: Kind, value: u64, text: String| {
            self.marks.push(Mark { at, app, kind, value, text });
        };
        let none = String::new;
        match event {
            Event::Arrive { app, wish } => add(Some(app.0), Kind::Arrive, u64::from(wish.request), none()),
            Event::Depart { app } => add(Some(app.0), Kind::Depart, 1, none()),
            Event::Request { app, processors } | Event::Demand { app, processors, .. } => {
                add(Some(app.0), Kind::Request, u64::from(*processors), none());
            }
            Event::Speedup { app, processors, speedup_milli } => {
                add(Some(app.0), Kind::Speedup, u64::from(*speedup_milli), format!("with {processors}"));
            }
            Event::Bandwidth { app, rates } => {
                let sum = rates.iter().flatten().map(|&rate| u64::from(rate)).sum();
                add(Some(app.0), Kind::Bandwidth, sum, none());
            }
            Event::Policy { policy } => add(None, Kind::Policy, 1, policy.clone()),
            Event::Timer => add(None, Kind::Turn, 1, none()),
            // The snapshot shows the effects of these.
            Event::Limits { .. }
            | Event::Class { .. }
            | Event::Adopted { .. }
            | Event::Sequential { .. }
            | Event::Blocked { .. }
            | Event::Parallel { .. }
            | Event::Saturation { .. }
            | Event::Memory { .. }
            | Event::FreeMemory { .. }
            | Event::Parties { .. }
            | Event::Unstoppable { .. }
            | Event::Stoppable { .. }
            | Event::Offline { .. }
            | Event::Online { .. }
            | Event::Unmanaged { .. } => {}
        }
        for action in actions {
            match action {
                Action::Target { app, count, pus, .. } => {
                    add(Some(app.0), Kind::Target, u64::from(*count), pus.to_string());
                }
                Action::Stop { app } => add(Some(app.0), Kind::Stop, 1, none()),
                Action::Continue { app } => add(Some(app.0), Kind::Continue, 1, none()),
                Action::Force { app, pus, .. } => add(Some(app.0), Kind::Force, 1, pus.to_string()),
                Action::Start { .. } | Action::Wait { .. } | Action::Pages { .. } | Action::Refuse { .. } => {}
            }
        }
    }

    fn occupy(&mut self, at: Nanos, after: &Snapshot) {
        let mut there: Vec<(u64, How)> = Vec::new();
        for entry in &after.pus {
            let pu = entry.pu.index();
            there.clear();
            let how = if entry.state == PuState::Leaving { How::Leaving } else { How::Owner };
            there.extend(entry.owner.map(|app| (app.0, how)));
            there.extend(entry.guests.iter().map(|app| (app.0, How::Guest)));
            let ended = |span: &Span| !there.contains(&(span.app, span.how));
            for span in self.open[pu].extract_if(.., |span| ended(span)) {
                let lane = span.lane as usize;
                if let Some(row) = self.apps.get_mut(&span.app) {
                    row.taken[lane] = false;
                }
                if at > span.from {
                    self.pus[pu].push(Span { to: at, ..span });
                }
            }
            for &(app, how) in &there {
                if !self.open[pu].iter().any(|span| (span.app, span.how) == (app, how)) {
                    let lane = self.apps.entry(app).or_default().lane();
                    self.open[pu].push(Span { from: at, to: at, app, how, lane });
                }
            }
        }
    }

    fn phases(&mut self, at: Nanos, after: &Snapshot) {
        for app in &after.apps {
            let count = after.pus.iter().filter(|pu| pu.owner == Some(app.app)).count() as u32;
            self.apps.entry(app.app.0).or_default().phase(at, app.state.name(), count);
        }
        // Applications that are gone are not in the snapshot any more.
        for (&id, row) in &mut self.apps {
            let there = after.apps.binary_search_by_key(&id, |app| app.app.0).is_ok();
            if !there && let Some(phase) = row.phases.last_mut().filter(|phase| phase.to == Nanos::MAX) {
                phase.to = at;
            }
        }
    }

    /// Ends the intervals that are still open.
    fn close(&mut self) {
        let end = self.end;
        for (done, open) in self.pus.iter_mut().zip(&mut self.open) {
            done.extend(open.drain(..).filter(|span| span.from < end).map(|span| Span { to: end, ..span }));
            done.sort_by_key(|span| (span.from, span.to, span.app));
        }
        for row in self.apps.values_mut() {
            if let Some(phase) = row.phases.last_mut().filter(|phase| phase.to == Nanos::MAX) {
                phase.to = end;
            }
            row.phases.retain(|phase| phase.from < phase.to);
        }
    }

    /// The name of an application: its number, and its program if that is known.
    pub fn name(&self, app: u64) -> String {
        match self.apps.get(&app).map_or("", |row| &row.name) {
            "" => format!("app {app}"),
            program => format!("{app} {program}"),
        }
    }

    /// The application on a processor at one moment; the owner before guests.
    pub fn at(&self, pu: PuId, time: Nanos) -> Option<u64> {
        let there = self.pus[pu.index()].iter().filter(|span| span.from <= time && time < span.to);
        there.min_by_key(|span| (span.how, span.app)).map(|span| span.app)
    }
}

impl AppRow {
    /// A number for one more processor.
    fn lane(&mut self) -> u32 {
        let lane = self.taken.iter().position(|taken| !taken).unwrap_or(self.taken.len());
        if lane == self.taken.len() {
            self.taken.push(true);
        }
        self.taken[lane] = true;
        self.lanes = self.lanes.max(self.taken.len() as u32);
        lane as u32
    }

    fn phase(&mut self, at: Nanos, state: &'static str, count: u32) {
        if let Some(phase) = self.phases.last_mut() {
            if (phase.state, phase.count) == (state, count) {
                return;
            }
            phase.to = at;
        }
        self.phases.push(Phase { from: at, to: Nanos::MAX, state, count });
    }
}

#[cfg(test)]
pub mod tests;
