//! The directory of segments, oldest first, and its bounds.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// The end of a segment's name.
const SUFFIX: &str = ".journal.lz4";
/// A ring has at least so many segments: as old ones go, so much of it goes at a time.
const SEGMENTS: u64 = 8;
/// The smallest segment, bytes: below that a file's head would be most of it.
const SEGMENT_BYTES_MIN: u64 = 64 << 10;
/// No segment is expected to have more bytes than about this: a reader of a part goes through
/// segments in vain.
pub(crate) const SEGMENT_BYTES_MAX: u64 = 1 << 20;

/// The bounds of a ring.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes on disk, of all segments together.
    pub bytes: u64,
    /// Older segments go.
    pub age: Duration,
}

impl Limits {
    /// Bytes after which the next segment begins.
    pub fn segment_bytes(self) -> u64 {
        (self.bytes / SEGMENTS).clamp(SEGMENT_BYTES_MIN, SEGMENT_BYTES_MAX)
    }

    /// Time after which the next segment begins.
    pub fn segment_age(self) -> Duration {
        self.age / SEGMENTS as u32
    }
}

/// A directory of segments.
#[derive(Debug, Clone)]
pub struct Ring {
    directory: PathBuf,
}

/// One file of a ring.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Segment {
    /// Its file.
    pub path: PathBuf,
    /// Its begin, milliseconds since 1970, as its name says.
    pub began_ms: u64,
    /// Bytes on disk.
    pub bytes: u64,
    /// The moment at which it was written last.
    pub written: SystemTime,
}

impl Ring {
    /// The ring in a directory, which need not be there.
    pub fn at(directory: impl Into<PathBuf>) -> Self {
        Self { directory: directory.into() }
    }

    /// Its directory.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Its segments, oldest first. None if there is no directory.
    ///
    /// # Errors
    /// The directory cannot be read.
    pub fn segments(&self) -> io::Result<Vec<Segment>> {
        let entries = match fs::read_dir(&self.directory) {
            Ok(entries) => entries,
            Err(cause) if matches!(cause.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                return Ok(Vec::new());
            }
            Err(cause) => return Err(cause),
        };
        let mut segments = Vec::new();
        for entry in entries {
            let path = entry?.path();
            let Some(began_ms) = began_of(&path) else { continue };
            // It may have gone since: the manager ends old ones.
            let Ok(found) = path.metadata() else { continue };
            segments.push(Segment { began_ms, bytes: found.len(), written: found.modified()?, path });
        }
        segments.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(segments)
    }

    /// Makes the directory, which its owner only can read.
    pub(crate) fn make(&self) -> io::Result<()> {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.directory)
    }

    /// Makes the file of a segment that begins now, readable by its owner only. `wall`: nanoseconds
    /// since 1970.
    pub(crate) fn create(&self, wall: u64) -> io::Result<File> {
        self.make()?;
        // Two may begin in one millisecond, and a clock may be set back. The newest is the last.
        let newest = self.segments()?.last().map_or(0, |segment| segment.began_ms);
        let began = (wall / 1_000_000).max(newest + 1);
        let path = self.directory.join(format!("{began:013}{SUFFIX}"));
        OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)
    }

    /// Removes old segments until the bounds hold with `coming` bytes more. The newest stays: it is
    /// being written.
    pub(crate) fn shrink(&self, limits: Limits, coming: u64, now: SystemTime) -> io::Result<()> {
        let mut segments = self.segments()?;
        segments.pop();
        let mut bytes: u64 = segments.iter().map(|segment| segment.bytes).sum();
        for segment in segments {
            let age = now.duration_since(segment.written).unwrap_or_default();
            if bytes + coming <= limits.bytes && age <= limits.age {
                continue;
            }
            fs::remove_file(&segment.path)?;
            bytes -= segment.bytes;
        }
        Ok(())
    }
}

/// The begin in a segment's name, milliseconds since 1970.
fn began_of(path: &Path) -> Option<u64> {
    path.file_name()?.to_str()?.strip_suffix(SUFFIX)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    const SECOND: u64 = 1_000_000_000;

    fn filled(sizes: &[usize]) -> (tempfile::TempDir, Ring) {
        let place = tempfile::tempdir().unwrap();
        let ring = Ring::at(place.path().join("deep/ring"));
        for (number, size) in (1_700_000_000..).zip(sizes) {
            ring.create(number * SECOND).unwrap().write_all(&vec![0; *size]).unwrap();
        }
        (place, ring)
    }

    fn sizes(ring: &Ring) -> Vec<u64> {
        ring.segments().unwrap().iter().map(|segment| segment.bytes).collect()
    }

    #[test]
    fn old_segments_go_for_size() {
        let (_place, ring) = filled(&[400, 300, 200, 100]);
        let limits = Limits { bytes: 600, age: Duration::from_hours(1) };
        ring.shrink(limits, 100, SystemTime::now()).unwrap();
        assert_eq!(sizes(&ring), [300, 200, 100]);
        ring.shrink(limits, 500, SystemTime::now()).unwrap();
        assert_eq!(sizes(&ring), [100], "the newest stays");
        ring.shrink(Limits { bytes: 0, ..limits }, 5000, SystemTime::now()).unwrap();
        assert_eq!(sizes(&ring), [100]);
    }

    #[test]
    fn old_segments_go_for_age() {
        let (_place, ring) = filled(&[1, 2, 3]);
        let limits = Limits { bytes: 1 << 20, age: Duration::from_mins(1) };
        ring.shrink(limits, 0, SystemTime::now() + Duration::from_secs(30)).unwrap();
        assert_eq!(sizes(&ring), [1, 2, 3]);
        ring.shrink(limits, 0, SystemTime::now() + Duration::from_secs(90)).unwrap();
        assert_eq!(sizes(&ring), [3]);
    }

    #[test]
    fn files_of_others_are_left_alone() {
        let (_place, ring) = filled(&[1]);
        for name in ["notes.txt", "x.journal.lz4", "1700000000000.journal"] {
            fs::write(ring.directory().join(name), "theirs").unwrap();
        }
        assert_eq!(sizes(&ring), [1]);
        assert_eq!(Ring::at("/nowhere/at/all").segments().unwrap(), []);
    }

    #[test]
    fn two_segments_of_one_moment_have_two_files() {
        let (_place, ring) = filled(&[]);
        let files = [ring.create(SECOND).unwrap(), ring.create(SECOND).unwrap()];
        assert_eq!((files.len(), ring.segments().unwrap().len()), (2, 2));
        assert_eq!(ring.segments().unwrap()[1].began_ms, 1001);
        ring.create(SECOND / 2).unwrap();
        assert_eq!(ring.segments().unwrap()[2].began_ms, 1002, "the clock was set back");
    }
}
