//! A part of a journal, as a journal of its own: it begins with the state that the lines before it
//! have led to.

use super::QUIET_MOST_NS;
use crate::moment::{Moment, local_offset};
use crate::recordings::PartArgs;
use crate::say::{self, Failure};
use numaestro_engine::journal::{self, JournalError, Picture, State};
use numaestro_engine::{AppId, Event, Nanos};
use numaestro_recording::{Begins, Stamp};
use std::collections::{BTreeMap, VecDeque};
use std::io;
use time::OffsetDateTime;

/// A line with its number.
pub type Numbered = io::Result<(u64, String)>;

/// So many lines are held back to wait for a stamp, which comes once a second.
const HELD_MOST: usize = 20_000;

/// From when until when, as the user says it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Part {
    /// `None`: from the begin.
    pub since: Option<Moment>,
    /// `None`: to the end.
    pub until: Option<Moment>,
}

impl Part {
    /// Reads the options.
    ///
    /// # Errors
    /// One is no time.
    pub fn of(args: &PartArgs) -> anyhow::Result<Self> {
        let now = OffsetDateTime::now_utc().to_offset(local_offset());
        let read = |text: &Option<String>| {
            let moment = text.as_deref().map(|text| Moment::read(text, now)).transpose();
            moment.map_err(|error| Failure::error(say::USAGE, error.to_string(), ""))
        };
        Ok(Self { since: read(&args.since)?, until: read(&args.until)? })
    }

    /// It is the whole journal.
    pub fn is_whole(self) -> bool {
        self == Self::default()
    }
}

/// The begin of a journal's clock: its first event, and the first moment that it tells on both
/// clocks.
#[derive(Debug, Clone, Copy, Default)]
pub struct Origin {
    first: Option<Nanos>,
    stamp: Option<Stamp>,
}

impl Origin {
    /// Reads the lines until both are known.
    pub fn of(lines: impl Iterator<Item = Numbered>) -> io::Result<Self> {
        let mut origin = Self::default();
        for line in lines.skip(1) {
            let (_, line) = line?;
            origin.stamp = origin.stamp.or_else(|| stamp_of(&line));
            origin.first = origin.first.or_else(|| time_of_history(&line));
            if origin.stamp.is_some() && origin.first.is_some() {
                break;
            }
        }
        Ok(origin)
    }

    /// The first event, nanoseconds since 1970, where the journal tells it.
    pub fn wall(self) -> Option<u64> {
        Some(self.stamp?.wall_at(self.first?))
    }
}

/// The time of an event or a state, nanoseconds on the journal's clock. What else a recording says
/// is no history, and neither is a line that hides what others did: the first of them has no time.
pub fn time_of_history(line: &str) -> Option<Nanos> {
    let rest = line.strip_prefix("{\"at\":")?;
    let (digits, rest) = rest.split_at(rest.find(|letter: char| !letter.is_ascii_digit())?);
    let is_history = !journal::is_aside(line) || rest.starts_with(",\"state\":");
    is_history.then(|| digits.parse().ok())?
}

/// The moment on both clocks that a line tells. Most lines are events, and reading a line takes
/// time.
pub fn stamp_of(line: &str) -> Option<Stamp> {
    line.contains(",\"wall\":").then(|| Stamp::decode(line)).flatten()
}

/// The lines of a part.
pub struct Cut<L> {
    lines: L,
    part: Part,
    origin: Origin,
    /// Lines that are read and not judged.
    held: VecDeque<(u64, String)>,
    /// What the lines before the part say; `None`: the part has begun.
    before: Option<Before>,
    /// Lines of the part that are ready.
    ready: VecDeque<(u64, String)>,
    /// The time of the latest line that has one, nanoseconds.
    last: Nanos,
    over: bool,
}

struct Before {
    picture: Picture,
    names: BTreeMap<AppId, String>,
    begins: Option<Begins>,
    heard: bool,
}

impl<L: Iterator<Item = Numbered>> Cut<L> {
    /// `lines`: of a whole journal, its head among them.
    ///
    /// # Errors
    /// The head cannot be read, the journal does not tell the time of day that the part names, or
    /// the part ends before it begins.
    pub fn new(mut lines: L, part: Part, origin: Origin) -> anyhow::Result<Self> {
        let head = lines.next().transpose()?.unwrap_or_default();
        let ready = VecDeque::from([head]);
        let mut cut = Self { lines, part, origin, held: VecDeque::new(), before: None, ready, last: 0, over: false };
        let since = part.since.map(|moment| cut.on_journal(moment)).transpose()?;
        let until = part.until.map(|moment| cut.on_journal(moment)).transpose()?;
        if let (Some(since), Some(until)) = (since, until)
            && since > until
        {
            return Err(Failure::error(say::USAGE, "the part ends before it begins", ""));
        }
        if since.is_some() {
            let (machine, settings, _) = journal::decode_head(&cut.ready[0].1)?;
            let picture = Picture::empty(&machine, &settings.policy, &settings.reserved);
            cut.before = Some(Before { picture, names: BTreeMap::new(), begins: None, heard: false });
        }
        Ok(cut)
    }

    fn on_journal(&self, moment: Moment) -> anyhow::Result<Nanos> {
        moment.on_journal(self.origin.first.unwrap_or_default(), self.origin.stamp)
    }

    /// The moment lies after this time. The constructor has tried both of the part's.
    fn is_after(&self, moment: Option<Moment>, at: Nanos) -> bool {
        moment.is_some_and(|moment| self.on_journal(moment).is_ok_and(|moment| moment > at))
    }

    fn is_over(&self, at: Nanos) -> bool {
        self.part.until.is_some_and(|until| self.on_journal(until).is_ok_and(|until| until < at))
    }

    /// Reads on to the next stamp. It stands behind the lines that it is about: people set clocks
    /// from time to time, and machines sleep.
    fn hold(&mut self) -> io::Result<()> {
        while self.held.len() < HELD_MOST {
            let Some(line) = self.lines.next().transpose()? else { break };
            let stamp = stamp_of(&line.1);
            self.held.push_back(line);
            if stamp.is_some() {
                self.origin.stamp = stamp;
                break;
            }
            if self.origin.stamp.is_none() {
                break;
            }
        }
        Ok(())
    }

    /// Takes a line of the journal; what belongs to the part goes to those that are ready.
    fn take(&mut self, number: u64, line: String) {
        let at = time_of_history(&line);
        if at.is_some_and(|at| self.is_over(at)) {
            self.over = true;
            self.finish(number);
            self.end(number);
            return;
        }
        self.last = at.unwrap_or(self.last);
        let is_before = at.is_some_and(|at| self.is_after(self.part.since, at));
        let is_heard = match (&mut self.before, at) {
            (Some(before), None) => {
                before.begins = before.begins.take().or_else(|| Begins::decode(&line).ok());
                true
            }
            // The reader says what is wrong with a line that cannot be heard.
            (Some(before), Some(_)) => is_before && before.hear(&line).is_ok(),
            (None, _) => false,
        };
        if !is_heard {
            self.finish(number);
            self.ready.push_back((number, line));
        }
    }

    /// The part begins: what was before it goes to the lines that are ready.
    fn finish(&mut self, number: u64) {
        let since = self.part.since.and_then(|moment| self.on_journal(moment).ok()).unwrap_or_default();
        let Some(before) = self.before.take() else { return };
        let stamp = self.origin.stamp.map(|stamp| Stamp { at: since, wall: stamp.wall_at(since) });
        self.ready.extend(before.lines(since, stamp).into_iter().map(|line| (number, line)));
    }

    /// The part ends, with a stamp as each frame of a recording: before the journal does, or after
    /// it. Nothing is known of the time long after the journal's last line.
    fn end(&mut self, number: u64) {
        if let (Some(until), Some(stamp)) = (self.part.until, self.origin.stamp)
            && let Ok(until) = self.on_journal(until)
        {
            let at = until.min(self.last.saturating_add(QUIET_MOST_NS));
            if self.is_after(self.part.since, at) {
                return;
            }
            self.ready.push_back((number, Stamp { at, wall: stamp.wall_at(at) }.encode()));
        }
    }
}

impl Before {
    fn hear(&mut self, line: &str) -> Result<(), JournalError> {
        self.heard = true;
        if journal::is_aside(line) {
            let state = State::decode(line)?;
            self.names = state.names;
            self.picture = Picture::of(state.state);
            return Ok(());
        }
        let (at, event, actions) = journal::decode(line)?;
        if let (Event::Arrive { app, .. }, Some(name)) = (&event, journal::name(line)) {
            self.names.insert(*app, name);
        }
        if let Event::Depart { app } = &event {
            self.names.remove(app);
        }
        self.picture.hear(at, &event, &actions);
        Ok(())
    }

    /// What a journal says that begins here.
    fn lines(self, at: Nanos, stamp: Option<Stamp>) -> Vec<String> {
        let begins = self.begins.unwrap_or_else(|| Begins::of_segment(env!("CARGO_PKG_VERSION"), "part", 1));
        let mut lines = vec![Begins { continues: begins.continues || self.heard, ..begins }.encode(at)];
        if self.heard {
            lines.push(State { at, state: self.picture.snapshot().clone(), names: self.names }.encode());
        }
        lines.extend(stamp.map(|stamp| stamp.encode()));
        lines
    }
}

impl<L: Iterator<Item = Numbered>> Iterator for Cut<L> {
    type Item = Numbered;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(line) = self.ready.pop_front() {
                return Some(Ok(line));
            }
            if self.over {
                return None;
            }
            if self.held.is_empty()
                && let Err(cause) = self.hold()
            {
                return Some(Err(cause));
            }
            if let Some((number, line)) = self.held.pop_front() {
                self.take(number, line);
            } else {
                self.over = true;
                self.finish(0);
                self.end(0);
            }
        }
    }
}

#[cfg(test)]
mod tests;
