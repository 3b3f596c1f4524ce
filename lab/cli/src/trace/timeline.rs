//! Turns a journal into intervals: the application of each processor, the state of each
//! application, and the decisions with their times.
//!
//! The engine repeats a journal, so that all that follows from an event is known, not guessed from
//! the messages. A recording may begin in mid-life and be of another version: its events and
//! actions alone tell what they can ([`Picture`]).

mod kind;
mod row;
mod source;

use crate::recordings::{Part, Recording};
use anyhow::Context;
pub use kind::Kind;
use numaestro_engine::journal::{self, Picture, State};
use numaestro_engine::{Action, Event, Nanos, PuState, Snapshot};
use numaestro_recording::{Begins, Stamp};
use numaestro_topology::{Machine, PuId};
pub use row::{AppRow, How, Mark, Phase, Span};
use source::Source;
use std::collections::BTreeMap;
use std::path::Path;
use std::time::UNIX_EPOCH;

/// The name of the row of load that is not managed.
const UNMANAGED: &str = "unmanaged load";

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
    /// The load that is not managed; without lanes if there was none.
    pub unmanaged: AppRow,
    pub marks: Vec<Mark>,
    /// The processors that nobody has, from each moment at which their number changes.
    pub free: Vec<(Nanos, u32)>,
    /// When the run began, nanoseconds since 1970.
    pub began: u64,
    /// A recording says when the run began. A journal has no date: its file was written last at the
    /// run's end, and that of a simulation says nothing of the simulated time.
    pub dated: bool,
    /// Time of the first event on the journal's clock.
    start_at: Option<Nanos>,
    /// By processor, the spans that have not ended.
    open: Vec<Vec<Span>>,
}

impl Timeline {
    /// Reads a journal or a dumped recording. A last line that was cut off (a manager that was
    /// killed) is left out.
    pub fn read(path: &Path) -> anyhow::Result<Self> {
        let place = || format!("cannot read {}", path.display());
        let written = path.metadata().and_then(|data| data.modified()).with_context(place)?;
        let mut journal = Recording::at(path)?.journal(Part::default())?;
        let is_recorded = journal.coming().is_some_and(|second| Begins::decode(second).is_ok());
        let mut source = journal.headed(Source::new(journal.head(), is_recorded))?;
        let mut timeline = Self::new(&source.snapshot(), source.machine().clone());
        let mut stamp = None;
        while let Some(line) = journal.line()? {
            let text = &line.text;
            if journal::is_aside(text) {
                stamp = stamp.or_else(|| Stamp::decode(text));
                if let Source::Recorded { picture, .. } = &mut source
                    && let Ok(state) = State::decode(text)
                {
                    timeline.resume(&state);
                    *picture = Picture::of(state.state);
                }
                continue;
            }
            let Some((at, event, actions)) = line.understood(journal::decode(text))? else { break };
            line.followed(source.step(text, at, &event, &actions))?;
            if let (Event::Arrive { app, .. }, Some(name)) = (&event, journal::name(text)) {
                timeline.apps.entry(app.0).or_default().name = name;
            }
            timeline.step(at, &event, &actions, &source.snapshot());
        }
        timeline.close();
        timeline.dated = stamp.is_some();
        let written = written.duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
        timeline.began = match stamp {
            Some(stamp) => stamp.wall_at(timeline.start_at.unwrap_or_default()),
            None => u64::try_from(written).unwrap_or(u64::MAX).saturating_sub(timeline.end),
        };
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
            unmanaged: AppRow::default(),
            marks: Vec::new(),
            free: Vec::new(),
            began: 0,
            dated: false,
            start_at: None,
            open: vec![Vec::new(); pus],
        }
    }

    /// The recording says the whole state.
    fn resume(&mut self, state: &State) {
        for (app, name) in &state.names {
            self.apps.entry(app.0).or_default().name.clone_from(name);
        }
        let at = self.time(state.at.max(state.state.now));
        self.occupy(at, &state.state);
        self.phases(at, &state.state);
    }

    /// The time since the begin, as far as it goes on.
    fn time(&mut self, at: Nanos) -> Nanos {
        let start = *self.start_at.get_or_insert(at);
        // The engine's time never goes back, even if the shell's clock does.
        self.end = at.saturating_sub(start).max(self.end);
        self.end
    }

    fn step(&mut self, at: Nanos, event: &Event, actions: &[Action], after: &Snapshot) {
        self.steps += 1;
        if self.start_at.is_none() {
            self.time(at);
        }
        let at = self.time(after.now.max(at));
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
            Event::Unmanaged { processors } => add(None, Kind::Unmanaged, u64::from(*processors), none()),
            // The snapshot shows the effects of these.
            Event::Limits { .. }
            | Event::Allowed { .. }
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
            | Event::Online { .. } => {}
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
        let mut there: Vec<(Option<u64>, How)> = Vec::new();
        for entry in &after.pus {
            let pu = entry.pu.index();
            let node = self.machine.pus()[pu].node;
            there.clear();
            let how = if entry.state == PuState::Leaving { How::Leaving } else { How::Owner };
            there.extend(entry.owner.map(|app| (Some(app.0), how)));
            there.extend(entry.guests.iter().map(|app| (Some(app.0), How::Guest)));
            there.extend((entry.state == PuState::Unmanaged).then_some((None, How::Unmanaged)));
            let ended = |span: &Span| !there.contains(&(span.app, span.how));
            let over: Vec<Span> = self.open[pu].extract_if(.., |span| ended(span)).collect();
            for span in over {
                self.row(span.app).leave(node, span.lane);
                if at > span.from {
                    self.pus[pu].push(Span { to: at, ..span });
                }
            }
            for &(app, how) in &there {
                if !self.open[pu].iter().any(|span| (span.app, span.how) == (app, how)) {
                    let lane = self.row(app).lane(node);
                    self.open[pu].push(Span { from: at, to: at, app, how, lane });
                }
            }
        }
    }

    fn phases(&mut self, at: Nanos, after: &Snapshot) {
        for app in &after.apps {
            let count = after.pus.iter().filter(|pu| pu.owner == Some(app.app)).count() as u32;
            let guest = after.pus.iter().filter(|pu| pu.guests.contains(&app.app)).count() as u32;
            self.apps.entry(app.app.0).or_default().phase(at, app.state.name(), count, guest);
        }
        let unmanaged = after.pus.iter().filter(|pu| pu.state == PuState::Unmanaged).count() as u32;
        self.unmanaged.phase(at, How::Unmanaged.name(), unmanaged, 0);
        let free = after.pus.iter().filter(|pu| pu.state == PuState::Free).count() as u32;
        match self.free.last_mut() {
            Some((_, before)) if *before == free => {}
            Some((since, before)) if *since == at => *before = free,
            _ => self.free.push((at, free)),
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
        for row in self.apps.values_mut().chain([&mut self.unmanaged]) {
            if let Some(phase) = row.phases.last_mut().filter(|phase| phase.to == Nanos::MAX) {
                phase.to = end;
            }
            row.phases.retain(|phase| phase.from < phase.to);
        }
    }

    /// The row of an application, or of the load that is not managed.
    fn row(&mut self, app: Option<u64>) -> &mut AppRow {
        match app {
            Some(app) => self.apps.entry(app).or_default(),
            None => &mut self.unmanaged,
        }
    }

    /// The rows that viewers have: every application, and last the load that is not managed, if
    /// there was any.
    pub fn rows(&self) -> impl Iterator<Item = (Option<u64>, &AppRow)> {
        let unmanaged = (!self.unmanaged.lanes.is_empty()).then_some((None, &self.unmanaged));
        self.apps.iter().map(|(&app, row)| (Some(app), row)).chain(unmanaged)
    }

    /// The name of an application: its number, and its program if that is known.
    pub fn name(&self, app: Option<u64>) -> String {
        let Some(app) = app else { return UNMANAGED.to_owned() };
        match self.apps.get(&app).map_or("", |row| &row.name) {
            "" => format!("app {app}"),
            program => format!("{app} {program}"),
        }
    }

    /// The spans of a processor at one moment, the owner's before those of guests.
    pub fn at(&self, pu: PuId, time: Nanos) -> Vec<&Span> {
        let mut there: Vec<&Span> =
            self.pus[pu.index()].iter().filter(|span| span.from <= time && time < span.to).collect();
        there.sort_by_key(|span| (span.how, span.app));
        there
    }
}

#[cfg(test)]
pub mod tests;
