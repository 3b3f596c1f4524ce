//! Keeps finished work in a file, so that what was stopped can go on: one JSON object a line; the
//! first names the program and the work.
//!
//! A line that was cut off by a crash is dropped; everything before it counts. Work of another kind
//! or of another build of this program is refused: it would be mixed with the rest unseen. So is a
//! second writer, where the file system knows locks: the two would write over each other.

use crate::say::Failure;
use anyhow::Context;
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, ErrorKind, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// Version of the format.
const VERSION: u32 = 2;
/// The reason why a file of something else is refused.
const NO_WORK: &str = "it is no file of finished work";

/// The first line: the program and the work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// [`VERSION`].
    numaestro_finished: u32,
    /// Fingerprint of the program that did it.
    build: String,
    /// Fingerprint of everything that the user gave.
    work: String,
}

impl Origin {
    /// The origin with this program and the fingerprint of what the user gave.
    pub fn new(work: u64) -> anyhow::Result<Self> {
        let program = std::fs::read("/proc/self/exe").context("cannot read this program")?;
        let build = format!("{:016x}", fingerprint(&program));
        Ok(Self { numaestro_finished: VERSION, build, work: format!("{work:016x}") })
    }
}

/// What a user is told of a file that belongs to something else.
#[derive(Debug, Clone, Copy)]
pub struct Refusal {
    /// Exit code.
    pub code: u8,
    /// The reason if the user has given something else.
    pub changed: &'static str,
    /// The next step.
    pub next: &'static str,
}

impl Refusal {
    fn error(&self, path: &Path, reason: &str) -> anyhow::Error {
        Failure::error(self.code, format!("cannot go on with {}: {reason}", path.display()), self.next)
    }

    fn reason(&self, found: &Origin, wanted: &Origin) -> Option<&'static str> {
        if found.numaestro_finished != wanted.numaestro_finished {
            Some("it is of another version")
        } else if found.work != wanted.work {
            Some(self.changed)
        } else if found.build != wanted.build {
            Some("it was made by another build of numaestro")
        } else {
            None
        }
    }
}

/// An open file of finished work.
#[derive(Debug)]
pub struct Finished {
    path: PathBuf,
    file: Mutex<File>,
}

impl Finished {
    /// Begins a new file.
    pub fn begin(path: &Path, origin: &Origin) -> anyhow::Result<Self> {
        let mut options = OpenOptions::new();
        let opened = options.write(true).create(true).truncate(false).open(path);
        let finished = Self::locked(path, opened.with_context(|| format!("cannot write {}", path.display()))?)?;
        finished.cut(0)?;
        finished.add(origin)?;
        Ok(finished)
    }

    /// Goes on with a file, or begins it where there is none; gives its lines.
    ///
    /// # Errors
    /// It has other work, work of another build, or no work; or somebody else writes it.
    pub fn resume<E: DeserializeOwned>(
        path: &Path,
        origin: &Origin,
        refusal: &Refusal,
    ) -> anyhow::Result<(Self, Vec<E>)> {
        if !holds_work(path) {
            return Ok((Self::begin(path, origin)?, Vec::new()));
        }
        let opened = OpenOptions::new().read(true).write(true).open(path);
        let finished = Self::locked(path, opened.with_context(|| format!("cannot go on with {}", path.display()))?)?;
        let mut source = Source::new(path.to_owned());
        let done = source.news(origin, refusal)?;
        if source.read == 0 {
            return Err(refusal.error(path, NO_WORK));
        }
        finished.cut(source.read)?;
        Ok((finished, done))
    }

    /// With the only right to write; it lasts until the file is closed.
    fn locked(path: &Path, file: File) -> anyhow::Result<Self> {
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Err(Errno::WOULDBLOCK) => Err(Failure::error(
                crate::say::FAILED,
                format!("{} is being written by another numaestro", path.display()),
                "wait for its end, or name another file: two at the same time need one each",
            )),
            // File systems of clusters may know no locks.
            _ => Ok(Self { path: path.to_owned(), file: Mutex::new(file) }),
        }
    }

    /// Leaves so many bytes, and goes on behind them.
    fn cut(&self, bytes: u64) -> anyhow::Result<()> {
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        let cut = file.set_len(bytes).and_then(|()| file.seek(SeekFrom::Start(bytes)));
        cut.map(drop).with_context(|| format!("cannot write {}", self.path.display()))
    }

    /// Adds a line.
    pub fn add(&self, entry: &impl Serialize) -> anyhow::Result<()> {
        let line = format!("{}\n", serde_json::to_string(entry)?);
        // One write for each line, so that only the last one can ever be cut off.
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        file.write_all(line.as_bytes()).with_context(|| format!("cannot write {}", self.path.display()))
    }

    /// Removes it: everything is in the results.
    pub fn remove(self) -> anyhow::Result<()> {
        std::fs::remove_file(&self.path).with_context(|| format!("cannot remove {}", self.path.display()))
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// A file of finished work that is only read, also while somebody writes it.
#[derive(Debug)]
pub struct Source {
    path: PathBuf,
    /// Bytes of whole lines that have been read.
    read: u64,
}

impl Source {
    /// Nothing of it has been read.
    pub const fn new(path: PathBuf) -> Self {
        Self { path, read: 0 }
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The lines that have been added since the last call; none where there is no file yet. It is
    /// opened anew each time: only then do file systems of networks show other machines' writes.
    ///
    /// # Errors
    /// It has other work, work of another build, or no work.
    pub fn news<E: DeserializeOwned>(&mut self, origin: &Origin, refusal: &Refusal) -> anyhow::Result<Vec<E>> {
        let place = || format!("cannot read {}", self.path.display());
        let mut file = match File::open(&self.path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            opened => opened.with_context(place)?,
        };
        file.seek(SeekFrom::Start(self.read)).with_context(place)?;
        let (mut reader, mut line, mut found) = (BufReader::new(file), Vec::new(), Vec::new());
        loop {
            line.clear();
            reader.read_until(b'\n', &mut line).with_context(place)?;
            let Some(text) = line.strip_suffix(b"\n") else { break };
            if self.read == 0 {
                let of: Origin = serde_json::from_slice(text).map_err(|_| refusal.error(&self.path, NO_WORK))?;
                if let Some(reason) = refusal.reason(&of, origin) {
                    return Err(refusal.error(&self.path, reason));
                }
            } else {
                let Ok(entry) = serde_json::from_slice(text) else { break };
                found.push(entry);
            }
            self.read += line.len() as u64;
        }
        Ok(found)
    }
}

/// Whether there is such a file with something in it.
pub fn holds_work(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|found| found.len() > 0)
}

/// FNV-1a over words of eight bytes.
pub fn fingerprint(bytes: &[u8]) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64 ^ bytes.len() as u64;
    let (words, rest) = bytes.as_chunks::<8>();
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    let last = if rest.is_empty() { None } else { Some(&last) };
    for word in words.iter().chain(last) {
        hash = (hash ^ u64::from_le_bytes(*word)).wrapping_mul(0x0000_0100_0000_01b3);
        hash ^= hash >> 29;
    }
    hash
}

#[cfg(test)]
mod tests {
    use super::*;

    const REFUSAL: Refusal = Refusal { code: 7, changed: "something has changed", next: "" };

    fn origin() -> Origin {
        Origin { numaestro_finished: VERSION, build: "b".to_owned(), work: "w".to_owned() }
    }

    /// A file with these numbers as its lines.
    fn written(path: &Path, numbers: &[u32]) {
        let finished = Finished::begin(path, &origin()).expect("begins");
        for number in numbers {
            finished.add(number).expect("writes");
        }
    }

    #[test]
    fn what_was_written_is_there_again() {
        let place = tempfile::tempdir().expect("a directory");
        let path = place.path().join("x.jsonl");
        written(&path, &[5, 600]);
        let (finished, done) = Finished::resume::<u32>(&path, &origin(), &REFUSAL).expect("goes on");
        assert_eq!(done, [5, 600]);
        finished.add(&7_u32).expect("writes");
        drop(finished);
        assert_eq!(Finished::resume::<u32>(&path, &origin(), &REFUSAL).expect("goes on").1, [5, 600, 7]);
        let new = place.path().join("new.jsonl");
        assert!(Finished::resume::<u32>(&new, &origin(), &REFUSAL).expect("begins").1.is_empty());
        assert!(holds_work(&new));
    }

    #[test]
    fn a_line_that_was_cut_off_is_dropped_and_written_again() {
        let place = tempfile::tempdir().expect("a directory");
        let path = place.path().join("x.jsonl");
        written(&path, &[5, 600]);
        let text = std::fs::read_to_string(&path).expect("readable");
        std::fs::write(&path, &text[..text.len() - 2]).expect("writable");
        let (finished, done) = Finished::resume::<u32>(&path, &origin(), &REFUSAL).expect("goes on");
        assert_eq!(done, [5]);
        finished.add(&600_u32).expect("writes");
        assert_eq!(std::fs::read_to_string(&path).expect("readable"), text);
    }

    #[test]
    fn a_source_gives_each_line_once_and_only_when_it_is_whole() {
        let place = tempfile::tempdir().expect("a directory");
        let path = place.path().join("x.jsonl");
        let mut source = Source::new(path.clone());
        let mut news = || source.news::<u32>(&origin(), &REFUSAL).expect("readable");
        assert!(news().is_empty(), "there is no file yet");
        let finished = Finished::begin(&path, &origin()).expect("begins");
        assert!(news().is_empty());
        finished.add(&5_u32).expect("writes");
        finished.add(&600_u32).expect("writes");
        assert_eq!((news(), news()), (vec![5, 600], vec![]));
        let mut file = OpenOptions::new().append(true).open(&path).expect("writable");
        file.write_all(b"70").expect("writes");
        assert!(news().is_empty(), "the line is not whole");
        file.write_all(b"1\n").expect("writes");
        assert_eq!(news(), [701]);
    }

    #[test]
    fn a_second_writer_is_refused_and_a_reader_is_not() {
        let place = tempfile::tempdir().expect("a directory");
        let path = place.path().join("x.jsonl");
        let first = Finished::begin(&path, &origin()).expect("begins");
        first.add(&5_u32).expect("writes");
        let refused = [
            Finished::begin(&path, &origin()).expect_err("refused"),
            Finished::resume::<u32>(&path, &origin(), &REFUSAL).expect_err("refused"),
        ];
        assert!(refused.iter().all(|error| error.to_string().contains("another numaestro")), "{refused:?}");
        assert_eq!(Source::new(path.clone()).news::<u32>(&origin(), &REFUSAL).expect("readable"), [5]);
        drop(first);
        assert_eq!(Finished::resume::<u32>(&path, &origin(), &REFUSAL).expect("goes on").1, [5]);
    }

    #[test]
    fn what_belongs_to_something_else_is_refused_with_the_reason() {
        let place = tempfile::tempdir().expect("a directory");
        let path = place.path().join("x.jsonl");
        written(&path, &[1]);
        let refused = |origin: &Origin| Finished::resume::<u32>(&path, origin, &REFUSAL).expect_err("refused");
        let reason = |origin: &Origin| refused(origin).to_string();
        assert!(reason(&Origin { work: "v".to_owned(), ..origin() }).contains("something has changed"));
        assert!(reason(&Origin { build: "c".to_owned(), ..origin() }).contains("another build"));
        assert!(reason(&Origin { numaestro_finished: 1, ..origin() }).contains("another version"));
        std::fs::write(&path, "hello\n").expect("writable");
        assert!(reason(&origin()).contains("no file of finished work"));
        assert_eq!(refused(&origin()).downcast_ref::<Failure>().map(|failure| failure.code), Some(7));
    }

    #[test]
    fn fingerprints_see_every_byte() {
        let all = [
            fingerprint(b""),
            fingerprint(b"\0"),
            fingerprint(b"abcdefgh"),
            fingerprint(b"abcdefgi"),
            fingerprint(b"abcdefgh\0"),
        ];
        let mut different = all.to_vec();
        different.sort_unstable();
        different.dedup();
        assert_eq!(different.len(), all.len());
    }
}
