//! A recording as the user names it, whole or in part.

use super::part::{Cut, Origin, Part};
use super::runs::Run;
use super::{Journal, UNKNOWN_NS, moment, place, runs_of};
use crate::moment::Moment;
use crate::say::{self, Failure};
use anyhow::Context;
use numaestro_recording::{Ring, Segment};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::rc::Rc;

type Lines = Box<dyn Iterator<Item = io::Result<String>>>;

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
    /// There is none in the directory.
    pub fn at(place: &Path) -> anyhow::Result<Self> {
        if place.is_dir() {
            return Self::numbered(None, Some(place), 1);
        }
        Ok(Self::of(place.display().to_string(), Source::Journal(place.to_owned())))
    }

    /// The one with a number in the list of the manager's. `from`: of those in this directory.
    ///
    /// # Errors
    /// There is none.
    pub fn numbered(dir: Option<PathBuf>, from: Option<&Path>, number: u32) -> anyhow::Result<Self> {
        let ring = Ring::at(place(dir, from)?.directory);
        let runs = runs_of(&ring)?;
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
        let runs = runs_of(&ring)?;
        let readable = || runs.iter().filter(|run| run.begins.is_ok());
        let run = readable().find(|run| run.began_ns().saturating_sub(UNKNOWN_NS) <= wall);
        let run = run.with_context(|| match readable().next_back() {
            Some(oldest) => format!("the oldest recording began {}", moment(oldest.began_ns())),
            None => format!("there are no recordings in {}", ring.directory().display()),
        })?;
        let ended = run.written_ns().saturating_add(UNKNOWN_NS) < wall;
        anyhow::ensure!(!ended, "the last recording before it ended {}", moment(run.written_ns()));
        let until = run.between(None, Some(wall));
        let segments = until[until.len().saturating_sub(3)..].to_vec();
        Ok(Self::of("the recording".to_owned(), Source::Run(Run { segments, ..run.clone() })))
    }

    /// Warns of lines that are missing in what was read.
    pub fn warn(&self) {
        for why in self.torn.borrow().values() {
            say::warn(&format!("lines are missing: {why}"));
        }
    }

    /// From when on it has at most so many bytes on disk, if it has more. `None` for a journal: the
    /// times of its parts are known only after reading all of it.
    pub fn newest(&self, bytes: u64) -> Option<Moment> {
        match &self.source {
            Source::Journal(_) => None,
            Source::Run(run) => run.newest(bytes).map(Moment::Wall),
        }
    }

    /// Begins to read a part of it. One segment is in memory at a time.
    ///
    /// # Errors
    /// It cannot be read, it is no journal, or it does not tell the time of day that is asked for.
    pub fn journal(&self, part: Part) -> anyhow::Result<Journal<'static>> {
        if part.is_whole() {
            return Journal::begin(&self.name, self.lines(part)?);
        }
        let cannot = || format!("cannot read a part of {}", self.name);
        let origin = Origin::of(self.lines(part)?).with_context(cannot)?;
        let cut = Cut::new(self.lines(part)?, part, origin).with_context(cannot)?;
        Journal::begin(&self.name, cut)
    }

    /// All lines that a part needs.
    fn lines(&self, part: Part) -> anyhow::Result<Lines> {
        match &self.source {
            Source::Journal(path) => {
                let file = File::open(path).with_context(|| format!("cannot read {}", path.display()))?;
                Ok(Box::new(BufReader::new(file).lines()))
            }
            Source::Run(run) => Ok(Box::new(lines(segments(run, part).to_vec(), self.torn.clone()))),
        }
    }
}

/// The segments that a part needs. The time after the first event needs the first of them.
fn segments(run: &Run, part: Part) -> &[Segment] {
    let wall = |moment| match moment {
        Some(Moment::Wall(wall)) => Some(wall),
        Some(Moment::After(_)) | None => None,
    };
    if matches!((part.since, part.until), (Some(Moment::After(_)), _) | (_, Some(Moment::After(_)))) {
        return &run.segments;
    }
    run.between(wall(part.since), wall(part.until))
}

/// Segments of one run as one journal, line by line. Of segments after the first the head is left
/// out.
fn lines(segments: Vec<Segment>, torn: Torn) -> impl Iterator<Item = io::Result<String>> {
    segments.into_iter().enumerate().flat_map(move |(place, segment)| match segment.read() {
        Ok(contents) => {
            if let Some(why) = contents.torn {
                torn.borrow_mut().insert(segment.path, why);
            }
            let lines = contents.text.lines().skip(usize::from(place > 0));
            lines.map(|line| Ok(line.to_owned())).collect::<Vec<_>>()
        }
        Err(cause) => vec![Err(io::Error::other(format!("{}: {cause}", segment.path.display())))],
    })
}
