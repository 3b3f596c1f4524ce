//! Where an explanation comes from: the manager's memory, recordings on disk, or a journal.

use crate::manager::{self, Manager};
use crate::moment::{Moment, local_offset};
use crate::recordings::{Journal, Part, QUIET_MOST_NS, Recording, numbered, stamp_of, time_of_history};
use crate::say::{self, Failure};
use numaestro_abi::control::{Alternative, AppName, History, Reply, Request};
use numaestro_engine::Nanos;
use numaestro_engine::explain::Chronicle;
use numaestro_engine::journal;
use numaestro_recording::Stamp;
use std::path::{Path, PathBuf};
use time::{OffsetDateTime, UtcOffset};

/// Decisions that an explanation looks back on, at most.
const DECISIONS_MOST: usize = 100_000;

/// Bytes of a recording that are read for its last state.
const TAIL_BYTES: u64 = 4 << 20;

/// All that is known for an answer.
pub struct Known {
    pub chronicle: Chronicle,
    pub clock: Clock,
    /// The number of the application that was asked for, as the manager knows it.
    pub app: Option<u64>,
    pub alternatives: Vec<Alternative>,
    /// It is about an earlier time.
    pub is_past: bool,
}

/// Turns the times of a journal into those of people.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    stamp: Option<Stamp>,
    /// Time of the first event.
    first: Nanos,
    offset: UtcOffset,
    now: OffsetDateTime,
}

impl Clock {
    /// The time of day where the user is, with the date if that is not today's; without a stamp,
    /// the seconds since the first event.
    pub fn show(&self, at: Nanos) -> String {
        let Some(time) = self.wall(at) else {
            return format!("+{:.3} s", at.saturating_sub(self.first) as f64 / 1e9);
        };
        let day = time::macros::format_description!("[year]-[month]-[day] ");
        let clock = time::macros::format_description!("[hour]:[minute]:[second].[subsecond digits:3]");
        let day = if time.date() == self.now.date() { String::new() } else { time.format(day).unwrap_or_default() };
        day + &time.format(clock).unwrap_or_default()
    }

    /// The same for programs, as RFC 3339 has it; `None` without a stamp.
    pub fn rfc3339(&self, at: Nanos) -> Option<String> {
        self.wall(at)?.format(&time::format_description::well_known::Rfc3339).ok()
    }

    fn wall(&self, at: Nanos) -> Option<OffsetDateTime> {
        let wall = self.stamp?.wall_at(at);
        Some(OffsetDateTime::from_unix_timestamp_nanos(i128::from(wall)).ok()?.to_offset(self.offset))
    }

    /// A moment on the journal's clock.
    fn on_journal(&self, moment: Moment) -> anyhow::Result<Nanos> {
        moment.on_journal(self.first, self.stamp)
    }
}

/// Asks the manager; for an earlier time than it remembers, and where none runs, its recordings.
pub fn of_manager(dir: Option<&PathBuf>, app: Option<&str>, at: Option<Moment>) -> anyhow::Result<Known> {
    let mut manager = match Manager::required(dir.cloned()) {
        Ok(manager) => manager,
        Err(absent) => return without_manager(dir, at, absent),
    };
    // The program that has the name now need not be the one that had it then.
    let app = app.filter(|_| at.is_none());
    let History { journal, app: number, alternatives, .. } = ask_of(&mut manager, app)?;
    let known = hear(remembered(&journal)?, None)?;
    let Some(at) = at else { return Ok(Known { app: number, alternatives, ..known }) };
    let wanted = known.clock.on_journal(at)?;
    if wanted >= known.clock.first {
        return Ok(Known { clock: known.clock, ..hear(remembered(&journal)?, Some(wanted))? });
    }
    let Moment::Wall(wall) = at else { anyhow::bail!("that is before the first event") };
    let too_early = |cause: anyhow::Error| {
        let first = known.clock.show(known.clock.first);
        let what =
            format!("the manager remembers what has happened since {first}, and no recording has that time: {cause}");
        Failure::error(
            say::FAILED,
            what,
            "`numaestro record on` keeps more; `numaestro record list` shows what there is",
        )
    };
    around(dir, None, wall).map_err(too_early)
}

/// The newest recording, or the one that has the time. `absent`: why there is no manager.
fn without_manager(dir: Option<&PathBuf>, at: Option<Moment>, absent: anyhow::Error) -> anyhow::Result<Known> {
    let Ok(newest) = Recording::numbered(dir.cloned(), None, 1) else {
        let Some(Failure { code, what, next }) = absent.downcast_ref() else { return Err(absent) };
        return Err(Failure::error(*code, what, format!("{next}; `--from` reads a recording or a journal")));
    };
    say::note("no manager runs: this is from its recordings");
    match at {
        Some(Moment::Wall(wall)) => around(dir, None, wall),
        _ => of_recording(&newest, at),
    }
}

/// The recording that has a time; else one that had nothing more to record then.
fn around(dir: Option<&PathBuf>, from: Option<&Path>, wall: u64) -> anyhow::Result<Known> {
    match Recording::around(dir.cloned(), from, wall) {
        Ok(recording) => of_recording(&recording, Some(Moment::Wall(wall))),
        Err(cause) => quiet(dir, from, wall).ok_or(cause),
    }
}

/// The last state of the latest recording whose events end before a time, if programs were there
/// then and the time is not far from it. A manager that is killed leaves no word of its end, and
/// one that nothing happens to writes nothing.
fn quiet(dir: Option<&PathBuf>, from: Option<&Path>, wall: u64) -> Option<Known> {
    for number in 1.. {
        let recording = Recording::numbered(dir.cloned(), from, number).ok()?;
        let recording = recording.newest(TAIL_BYTES).unwrap_or(recording);
        let known = hear(recording.journal(Part { since: None, until: None }).ok()?, None).ok()?;
        let last = known.clock.stamp?.wall_at(known.chronicle.now());
        if last > wall {
            continue;
        }
        if wall - last > QUIET_MOST_NS || known.chronicle.snapshot().apps.is_empty() {
            return None;
        }
        recording.warn();
        let last = known.clock.show(known.chronicle.now());
        say::note(&format!("the last event is of {last}; whether the manager still ran at that time is not known"));
        return Some(Known { is_past: true, ..known });
    }
    None
}

/// The present state of an application that is there.
pub fn of_running(manager: &mut Manager, app: AppName) -> anyhow::Result<Known> {
    let History { journal, app, alternatives, .. } = ask(manager, Some(app))?;
    Ok(Known { app, alternatives, ..hear(remembered(&journal)?, None)? })
}

fn ask(manager: &mut Manager, app: Option<AppName>) -> anyhow::Result<History> {
    match manager.ask(&Request::History { app, after: None })? {
        Reply::History(history) => Ok(*history),
        other => Err(manager::unexpected(&other)),
    }
}

/// An application that has ended is known only by what is remembered: the manager refuses its name.
fn ask_of(manager: &mut Manager, word: Option<&str>) -> anyhow::Result<History> {
    let Some(word) = word else { return ask(manager, None) };
    ask(manager, Some(AppName::Word(word.to_owned()))).or_else(|refusal| {
        // A word that fits several is refused with another code.
        let is_unknown = refusal.downcast_ref().is_some_and(|failure: &Failure| failure.code == say::FAILED);
        if is_unknown { ask(manager, None).map_err(|_| refusal) } else { Err(refusal) }
    })
}

/// Reads a journal, or the recordings of a directory.
pub fn of_place(place: &Path, at: Option<Moment>) -> anyhow::Result<Known> {
    match at {
        Some(Moment::Wall(wall)) if place.is_dir() => around(None, Some(place), wall),
        _ => of_recording(&Recording::at(place)?, at),
    }
}

fn of_recording(recording: &Recording, at: Option<Moment>) -> anyhow::Result<Known> {
    let known = hear(recording.journal(Part { since: None, until: at })?, None)?;
    recording.warn();
    Ok(Known { is_past: at.is_some(), ..known })
}

/// What the manager has told of its past.
fn remembered(journal: &str) -> anyhow::Result<Journal<'_>> {
    Journal::begin("the manager's memory", numbered(journal.lines().map(|line| Ok(line.to_owned()))))
}

/// Hears a journal's lines up to a time. Clocks of people are set from time to time: the latest
/// stamp counts.
fn hear(mut journal: Journal<'_>, until: Option<Nanos>) -> anyhow::Result<Known> {
    let mut chronicle = journal.headed(Chronicle::new(journal.head(), DECISIONS_MOST))?;
    let (mut stamp, mut first) = (None, None);
    while let Some(line) = journal.line()? {
        let known = time_of_history(&line.text);
        let at = known.or_else(|| Some(journal::decode_veiled(&line.text)?.0));
        if until.is_some_and(|until| at.is_some_and(|at| at > until)) {
            break;
        }
        let Some(()) = line.understood(chronicle.line(&line.text))? else { break };
        stamp = stamp_of(&line.text).or(stamp);
        first = first.or(known);
    }
    let offset = local_offset();
    let now = OffsetDateTime::now_utc().to_offset(offset);
    let clock = Clock { stamp, first: first.unwrap_or_default(), offset, now };
    Ok(Known { chronicle, clock, app: None, alternatives: Vec::new(), is_past: until.is_some() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use numaestro_engine::{Action, Event, Settings};

    #[test]
    fn what_is_hidden_is_no_begin() {
        let machine = numaestro_topology::synthetic::parse("numa:1 core:2 pu:1").unwrap();
        let timer = |at| journal::encode(at, &Event::Timer, &[]);
        let lines = [
            journal::encode_head(&machine, &Settings::default(), 1),
            journal::encode_veiled(0, &[] as &[Action]),
            timer(5_000),
            journal::encode_veiled(7_000, &[] as &[Action]),
            timer(9_000),
        ];
        let known = hear(remembered(&lines.join("\n")).unwrap(), None).unwrap();
        assert_eq!((known.clock.first, known.chronicle.is_veiled()), (5_000, true));
        let early = hear(remembered(&lines.join("\n")).unwrap(), Some(6_000)).unwrap();
        assert_eq!((early.chronicle.now(), early.is_past), (5_000, true));
    }
}
