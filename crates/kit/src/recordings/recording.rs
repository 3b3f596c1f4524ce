//! A recording as the user names it, whole or in part.

use super::part::{Cut, Numbered, Origin, Part};
use super::runs::{self, Piece, Run};
use super::{Journal, UNKNOWN_NS, moment, numbered, place};
use crate::moment::Moment;
use crate::say::{self, Failure};
use crate::texts;
use anyhow::Context;
use numaestro_engine::journal;
use numaestro_recording::{ReadError, Ring};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::rc::Rc;

type Lines = Box<dyn Iterator<Item = Numbered>>;

/// A journal, or a run in a ring.
pub struct Recording {
    /// For people.
    name: String,
    source: Source,
    torn: Torn,
}

/// Why lines of a segment are missing, as far as segments have been read.
type Torn = Rc<RefCell<BTreeMap<PathBuf, String>>>;

enum Source {
    Journal(PathBuf),
    /// The journal that a pipe has given.
    Text(String),
    Run(Run),
}

impl Recording {
    fn of(name: String, source: Source) -> Self {
        Self { name, source, torn: Torn::default() }
    }

    /// The one that a word names: a journal, a directory of recordings (its newest), or a number in
    /// the list; absent: the newest of the manager.
    ///
    /// # Errors
    /// There is none of this name.
    pub fn named(dir: Option<PathBuf>, what: Option<&str>) -> anyhow::Result<Self> {
        let number = what.map_or(Some(1), |what| what.parse::<u32>().ok());
        match (number, what) {
            (Some(number), _) => Self::numbered(dir, None, number),
            (None, place) => Self::at(Path::new(place.unwrap_or_default())),
        }
    }

    /// A journal, or the newest in a directory of recordings.
    ///
    /// # Errors
    /// There is none in the directory, or a pipe cannot be read.
    pub fn at(place: &Path) -> anyhow::Result<Self> {
        if place.is_dir() {
            return Self::numbered(None, Some(place), 1);
        }
        let name = place.display().to_string();
        if place.exists() && !place.is_file() {
            // A pipe can be read once, and a part needs its begin twice.
            let text = std::fs::read_to_string(place).with_context(|| format!("cannot read {name}"))?;
            return Ok(Self::of(name, Source::Text(text)));
        }
        Ok(Self::of(name, Source::Journal(place.to_owned())))
    }

    /// The one with a number in the list of the manager's. `from`: of those in this directory.
    ///
    /// # Errors
    /// There is none.
    pub fn numbered(dir: Option<PathBuf>, from: Option<&Path>, number: u32) -> anyhow::Result<Self> {
        let ring = Ring::at(place(dir, from)?.directory);
        let runs = runs::of_ring(&ring)?;
        let run = (number as usize).checked_sub(1).and_then(|place| runs.get(place));
        let what = match run.map(|run| (run, &run.begins)) {
            Some((run, Ok(_))) => {
                let name = from.map_or_else(|| format!("recording {number}"), |from| from.display().to_string());
                return Ok(Self::of(name, Source::Run(run.clone())));
            }
            Some((_, Err(why))) => format!("recording {number} cannot be read: {why}"),
            None if runs.is_empty() => format!("there are no recordings in {}", ring.directory().display()),
            None => format!("there is no recording {number}, only {}", runs.len()),
        };
        Err(Failure::error(say::FAILED, what, "`numaestro record list` shows them"))
    }

    /// The part of it that explains a time (nanoseconds since 1970): the segment that holds the
    /// time, and the one before.
    ///
    /// # Errors
    /// No recording has the time. `from`: as [`Self::numbered`].
    pub fn around(dir: Option<PathBuf>, from: Option<&Path>, wall: u64) -> anyhow::Result<Self> {
        let ring = Ring::at(place(dir, from)?.directory);
        let runs = runs::of_ring(&ring)?;
        // The day is said: a time of day that is still to come today means yesterday's.
        let wanted = moment(wall);
        let nothing = |what: String| Failure::error(say::FAILED, what, "`numaestro record list` shows the recordings");
        let mut oldest = None;
        for run in runs.iter().filter(|run| run.begins.is_ok()) {
            // Lines are older than the moment at which they are written.
            let first = run.pieces[..1].to_vec();
            let began = Origin::of(lines(first, Torn::default()))?.wall().unwrap_or(run.began());
            oldest = Some(began);
            if began > wall {
                continue;
            }
            let ended = run.ended();
            if ended.saturating_add(UNKNOWN_NS) < wall {
                return Err(nothing(format!("the last recording before {wanted} ended {}", moment(ended))));
            }
            let until = run.between(None, Some(wall));
            let pieces = until[until.len().saturating_sub(3)..].to_vec();
            return Ok(Self::of("the recording".to_owned(), Source::Run(Run { pieces, ..run.clone() })));
        }
        Err(nothing(match oldest {
            Some(oldest) => format!("the oldest recording began {}, after {wanted}", moment(oldest)),
            None => format!("there are no recordings in {}", ring.directory().display()),
        }))
    }

    /// Warns of lines that are missing in what was read.
    pub fn warn(&self) {
        for why in self.torn.borrow().values() {
            say::warn(&format!("lines are missing: {why}"));
        }
    }

    /// Its newest segments, at most so many bytes of them, if it has more. `None` for a journal:
    /// where its parts begin is known only after reading all of it.
    pub fn newest(&self, bytes: u64) -> Option<Self> {
        match &self.source {
            Source::Journal(_) | Source::Text(_) => None,
            Source::Run(run) => Some(Self::of(self.name.clone(), Source::Run(run.newest(bytes)?))),
        }
    }

    /// Begins to read a part of it. One segment is in memory at a time.
    ///
    /// # Errors
    /// Exit code 2: it is no journal. It cannot be read, or has nothing of the part.
    pub fn journal(&self, part: Part) -> anyhow::Result<Journal<'static>> {
        let whole = Journal::begin(&self.name, self.lines(part)?)?;
        if part.is_whole() {
            return Ok(whole);
        }
        whole.headed(journal::decode_head(whole.head()))?;
        let cannot = || format!("cannot read {}", self.name);
        let origin = Origin::of(self.lines(part)?).with_context(cannot)?;
        self.check(part, origin)?;
        Journal::begin(&self.name, Cut::new(self.lines(part)?, part, origin)?)
    }

    /// The part lies in the recording.
    fn check(&self, part: Part, origin: Origin) -> anyhow::Result<()> {
        // The day is said: a time of day that is still to come today means yesterday's.
        if let (Some(Moment::Wall(since)), Some(Moment::Wall(until))) = (part.since, part.until)
            && since > until
        {
            let what =
                format!("the part ends before it begins: it would be from {} to {}", moment(since), moment(until));
            return Err(Failure::error(say::USAGE, what, ""));
        }
        if let (Some(Moment::Wall(until)), Some(began)) = (part.until, origin.wall())
            && until < began
        {
            let what = format!("{} began {}, behind this part, which ends {}", self.name, moment(began), moment(until));
            return Err(Failure::error(say::FAILED, what, "`numaestro record list` shows the recordings"));
        }
        if let (Some(Moment::Wall(since)), Some(began)) = (part.since, origin.wall())
            && since.saturating_add(UNKNOWN_NS) < began
        {
            let (since, began) = (moment(since), moment(began));
            say::note(&format!("the part begins {since}, and {} has nothing before {began}", self.name));
        }
        if let (Some(Moment::Wall(since)), Source::Run(run)) = (part.since, &self.source) {
            let ended = run.ended();
            if ended.saturating_add(UNKNOWN_NS) < since {
                say::warn(&format!("{} has nothing after {}: you see the state then", self.name, moment(ended)));
            }
        }
        Ok(())
    }

    /// All lines that a part needs.
    fn lines(&self, part: Part) -> anyhow::Result<Lines> {
        match &self.source {
            Source::Journal(path) => {
                let cannot = |cause: io::Error| {
                    let what = format!("cannot read {}: {cause}", path.display());
                    Failure::error(say::FAILED, what, "name a journal, or a recording of `numaestro record list`")
                };
                Ok(Box::new(numbered(texts::lines(path).map_err(cannot)?)))
            }
            Source::Text(text) => {
                let lines: Vec<_> = text.lines().map(|line| Ok(line.to_owned())).collect();
                Ok(Box::new(numbered(lines.into_iter())))
            }
            Source::Run(run) => Ok(Box::new(lines(pieces(run, part).to_vec(), self.torn.clone()))),
        }
    }
}

/// The segments that a part needs. The time after the first event needs the first of them.
fn pieces(run: &Run, part: Part) -> &[Piece] {
    let wall = |moment| match moment {
        Some(Moment::Wall(wall)) => Some(wall),
        Some(Moment::After(_)) | None => None,
    };
    if matches!((part.since, part.until), (Some(Moment::After(_)), _) | (_, Some(Moment::After(_)))) {
        return &run.pieces;
    }
    run.between(wall(part.since), wall(part.until))
}

/// Segments of one run as one journal, line by line. Of segments after the first the head is left
/// out.
fn lines(pieces: Vec<Piece>, torn: Torn) -> impl Iterator<Item = Numbered> {
    let mut has_begun = false;
    let of_segment = move |Piece { segment, .. }| match segment.read() {
        Ok(contents) => {
            if let Some(why) = contents.torn {
                torn.borrow_mut().insert(segment.path, why);
            }
            let lines = contents.text.lines().skip(usize::from(has_begun));
            has_begun = true;
            lines.map(|line| Ok(line.to_owned())).collect::<Vec<_>>()
        }
        // The manager is at work: it has removed the oldest.
        Err(ReadError::Io(cause)) if !has_begun && cause.kind() == io::ErrorKind::NotFound => Vec::new(),
        Err(cause) => vec![Err(io::Error::other(format!("{}: {cause}", segment.path.display())))],
    };
    numbered(pieces.into_iter().flat_map(of_segment))
}
