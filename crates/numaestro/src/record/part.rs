//! A part of a journal, as a journal of its own: it begins with the state that the lines before it
//! have led to.

use crate::cli::PartArgs;
use crate::moment::Moment;
use crate::say::{self, Failure};
use numaestro_engine::journal::{self, JournalError, Picture, State};
use numaestro_engine::{AppId, Event, Nanos};
use numaestro_recording::{Begins, Stamp, VERSION};
use std::collections::{BTreeMap, VecDeque};
use std::io;
use time::OffsetDateTime;

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
        let now = OffsetDateTime::now_utc().to_offset(say::local_offset());
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
    pub fn of(lines: impl Iterator<Item = io::Result<String>>) -> io::Result<Self> {
        let mut origin = Self::default();
        for line in lines.skip(1) {
            let line = line?;
            origin.stamp = origin.stamp.or_else(|| stamp_of(&line));
            origin.first = origin.first.or_else(|| time_of_history(&line));
            if origin.stamp.is_some() && origin.first.is_some() {
                break;
            }
        }
        Ok(origin)
    }
}

/// The time of an event or a state, nanoseconds on the journal's clock. What else a recording says
/// is no history.
pub fn time_of_history(line: &str) -> Option<Nanos> {
    let rest = line.strip_prefix("{\"at\":")?;
    let (digits, rest) = rest.split_at(rest.find(|letter: char| !letter.is_ascii_digit())?);
    let is_history = !journal::is_aside(line) || rest.starts_with(",\"state\":") || rest.starts_with(",\"veiled\":");
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
    /// The number of the latest line of the whole journal.
    number: u64,
    /// What the lines before the part say; `None`: the part has begun.
    before: Option<Before>,
    /// Lines of the part that are ready.
    ready: VecDeque<String>,
    over: bool,
}

struct Before {
    picture: Picture,
    names: BTreeMap<AppId, String>,
    begins: Option<Begins>,
    heard: bool,
}

impl<L: Iterator<Item = io::Result<String>>> Cut<L> {
    /// `lines`: of a whole journal, its head among them.
    ///
    /// # Errors
    /// The head cannot be read, or the journal does not tell the time of day that the part names.
    pub fn new(mut lines: L, part: Part, origin: Origin) -> anyhow::Result<Self> {
        let head = lines.next().transpose()?.unwrap_or_default();
        let mut cut = Self { lines, part, origin, number: 1, before: None, ready: VecDeque::from([head]), over: false };
        let since = part.since.map(|moment| cut.on_journal(moment)).transpose()?;
        let until = part.until.map(|moment| cut.on_journal(moment)).transpose()?;
        if let (Some(since), Some(until)) = (since, until) {
            anyhow::ensure!(since <= until, "the part ends before it begins");
        }
        if since.is_some() {
            let (machine, settings, _) = journal::decode_head(&cut.ready[0])?;
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

    /// Takes a line of the journal; what belongs to the part goes to those that are ready.
    fn take(&mut self, line: String) -> Result<(), JournalError> {
        if let Some(stamp) = stamp_of(&line) {
            // Clocks of people are set from time to time: the latest stamp counts.
            self.origin.stamp = Some(stamp);
        }
        let at = time_of_history(&line);
        if at.is_some_and(|at| self.is_over(at)) {
            self.over = true;
            self.finish();
            self.end();
            return Ok(());
        }
        let Some(before) = &mut self.before else {
            self.ready.push_back(line);
            return Ok(());
        };
        let Some(at) = at else {
            before.begins = before.begins.take().or_else(|| Begins::decode(&line).ok());
            return Ok(());
        };
        if self.is_after(self.part.since, at) {
            return self.before.as_mut().map_or(Ok(()), |before| before.hear(&line));
        }
        self.finish();
        self.ready.push_back(line);
        Ok(())
    }

    /// The part begins: what was before it goes to the lines that are ready.
    fn finish(&mut self) {
        let since = self.part.since.and_then(|moment| self.on_journal(moment).ok()).unwrap_or_default();
        let Some(before) = self.before.take() else { return };
        let stamp = self.origin.stamp.map(|stamp| Stamp { at: since, wall: stamp.wall_at(since) });
        self.ready.extend(before.lines(since, stamp));
    }
}

impl<L> Cut<L> {
    /// The part ends before the journal does: with a stamp, as what is written at once ends.
    fn end(&mut self) {
        if let (Some(until), Some(stamp)) = (self.part.until, self.origin.stamp)
            && let Ok(at) = until.on_journal(self.origin.first.unwrap_or_default(), Some(stamp))
        {
            self.ready.push_back(Stamp { at, wall: stamp.wall_at(at) }.encode());
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
        let begins = self.begins.unwrap_or_else(|| Begins {
            version: VERSION,
            numaestro: env!("CARGO_PKG_VERSION").to_owned(),
            run: "part".to_owned(),
            segment: 1,
            continues: false,
            anonymous: false,
        });
        let mut lines = vec![Begins { continues: begins.continues || self.heard, ..begins }.encode(at)];
        if self.heard {
            lines.push(State { at, state: self.picture.snapshot().clone(), names: self.names }.encode());
        }
        lines.extend(stamp.map(|stamp| stamp.encode()));
        lines
    }
}

impl<L: Iterator<Item = io::Result<String>>> Iterator for Cut<L> {
    type Item = io::Result<String>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(line) = self.ready.pop_front() {
                return Some(Ok(line));
            }
            if self.over {
                return None;
            }
            let line = match self.lines.next() {
                Some(Ok(line)) => line,
                Some(Err(cause)) => return Some(Err(cause)),
                None => {
                    self.over = true;
                    self.finish();
                    continue;
                }
            };
            self.number += 1;
            if let Err(error) = self.take(line) {
                // Only a last line may be cut off.
                match self.lines.next() {
                    None => {
                        self.over = true;
                        self.finish();
                    }
                    Some(_) => return Some(Err(io::Error::other(format!("line {}: {error}", self.number)))),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
