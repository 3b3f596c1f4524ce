//! Where an explanation comes from: the manager's memory, recordings on disk, or a journal.

use super::question::Moment;
use crate::manager::{self, Manager};
use crate::record;
use crate::say::{self, Failure};
use anyhow::Context;
use numaestro_abi::control::{Alternative, AppName, History, Reply, Request};
use numaestro_engine::Nanos;
use numaestro_engine::explain::Chronicle;
use numaestro_engine::journal::{self, State};
use numaestro_recording::Stamp;
use std::path::{Path, PathBuf};
use time::{OffsetDateTime, UtcOffset};

/// Decisions that an explanation looks back on, at most.
const DECISIONS_MOST: usize = 100_000;

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
        match (moment, self.stamp) {
            (Moment::After(after), _) => Ok(self.first.saturating_add(after)),
            (Moment::Wall(wall), Some(stamp)) if wall >= stamp.wall => Ok(stamp.at.saturating_add(wall - stamp.wall)),
            (Moment::Wall(wall), Some(stamp)) => Ok(stamp.at.saturating_sub(stamp.wall - wall)),
            (Moment::Wall(_), None) => {
                anyhow::bail!("this journal has no times of day: say `--at +90s` for 90 seconds after its first event")
            }
        }
    }
}

/// Asks the manager; for an earlier time than it remembers, its recordings.
pub fn of_manager(dir: Option<PathBuf>, app: Option<&str>, at: Option<Moment>) -> anyhow::Result<Known> {
    let History { journal, app: number, alternatives, .. } = ask_of(&mut Manager::required(dir.clone())?, app)?;
    let known = read(&journal, None)?;
    let Some(at) = at else { return Ok(Known { app: number, alternatives, ..known }) };
    let wanted = known.clock.on_journal(at)?;
    // The program that has the name now need not be the one that had it then.
    if wanted >= known.clock.first {
        return Ok(Known { clock: known.clock, ..read(&journal, Some(wanted))? });
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
    let journal = record::journal_at(dir, None, wall).map_err(too_early)?;
    at_time(&journal, at)
}

/// The present state of an application that is there.
pub fn of_running(manager: &mut Manager, app: AppName) -> anyhow::Result<Known> {
    let History { journal, app, alternatives, .. } = ask(manager, Some(app))?;
    Ok(Known { app, alternatives, ..read(&journal, None)? })
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
    ask(manager, Some(AppName::Word(word.to_owned()))).or_else(|refusal| ask(manager, None).map_err(|_| refusal))
}

/// Reads a journal, or the recordings of a directory.
pub fn of_place(place: &Path, at: Option<Moment>) -> anyhow::Result<Known> {
    let journal = if place.is_dir() {
        match at {
            Some(Moment::Wall(wall)) => record::journal_at(None, Some(place), wall)?,
            Some(Moment::After(_)) | None => record::journal_of(None, Some(place), 1)?,
        }
    } else {
        std::fs::read_to_string(place).with_context(|| format!("cannot read {}", place.display()))?
    };
    match at {
        Some(at) => at_time(&journal, at),
        None => read(&journal, None),
    }
}

fn at_time(journal: &str, at: Moment) -> anyhow::Result<Known> {
    let clock = clock(journal, Some(at));
    let wanted = clock.on_journal(at)?;
    Ok(Known { clock, ..read(journal, Some(wanted))? })
}

/// Hears a journal's lines up to a time. A last line that was cut off is left out.
fn read(journal: &str, until: Option<Nanos>) -> anyhow::Result<Known> {
    let mut lines = journal.lines();
    let head = lines.next().unwrap_or_default();
    let wrong = |number: usize, problem: &dyn std::fmt::Display| anyhow::anyhow!("line {number}: {problem}");
    let mut chronicle = Chronicle::new(head, DECISIONS_MOST).map_err(|error| wrong(1, &error))?;
    let mut lines = (2..).zip(lines).peekable();
    while let Some((number, line)) = lines.next() {
        if until.is_some_and(|until| time_of(line).is_some_and(|at| at > until)) {
            break;
        }
        match chronicle.line(line) {
            Err(_) if lines.peek().is_none() => {}
            outcome => outcome.map_err(|error| wrong(number, &error))?,
        }
    }
    let clock = clock(journal, None);
    Ok(Known { chronicle, clock, app: None, alternatives: Vec::new(), is_past: until.is_some() })
}

fn time_of(line: &str) -> Option<Nanos> {
    let digits = line.strip_prefix("{\"at\":")?;
    digits[..digits.find(|letter: char| !letter.is_ascii_digit())?].parse().ok()
}

/// The clock of a journal. Clocks of people are set from time to time: of several stamps the first
/// one after the moment counts, else the last one.
fn clock(journal: &str, moment: Option<Moment>) -> Clock {
    let mut stamp = None;
    for next in journal.lines().filter_map(Stamp::decode) {
        stamp = Some(next);
        if matches!(moment, Some(Moment::Wall(wall)) if next.wall >= wall) {
            break;
        }
    }
    let first = journal.lines().skip(1).find_map(|line| match State::decode(line) {
        Ok(state) => Some(state.at),
        Err(_) if journal::is_aside(line) => None,
        Err(_) => time_of(line),
    });
    let offset = say::local_offset();
    let now = OffsetDateTime::now_utc().to_offset(offset);
    Clock { stamp, first: first.unwrap_or_default(), offset, now }
}
