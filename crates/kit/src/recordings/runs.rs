//! The runs in a ring: the segments that belong together. Of each segment only its begin is read.

use anyhow::Context;
use numaestro_recording::{Begins, ReadError, Ring, Segment, Stamp};
use std::io;

/// One engine's life on one machine, as far as the ring still has it.
#[derive(Debug, Clone)]
pub struct Run {
    /// What its first segment says; an error: the segment cannot be read, and is a run of its own.
    pub begins: Result<Begins, String>,
    /// Its segments, oldest first. At least one.
    pub pieces: Vec<Piece>,
}

/// A segment of a run.
#[derive(Debug, Clone)]
pub struct Piece {
    /// Its file.
    pub segment: Segment,
    /// Nanoseconds since 1970 at which its first lines were written. The names of files do not tell
    /// it: they only grow, and a clock may be set back.
    pub wall: u64,
}

/// The runs of a ring, newest first.
pub fn of_ring(ring: &Ring) -> anyhow::Result<Vec<Run>> {
    let place = || {
        let next = "the system's recordings are for administrators: sudo";
        format!("cannot read {} ({next})", ring.directory().display())
    };
    Ok(of(ring.segments().with_context(place)?))
}

/// The runs, newest first.
fn of(segments: Vec<Segment>) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    for segment in segments {
        let (begins, wall) = match segment.opening() {
            Ok(opening) => (Ok(opening.begins), opening.stamp.wall),
            // It may have gone, or hold nothing yet: the manager is at work.
            Err(_) if segment.bytes == 0 => continue,
            Err(ReadError::Io(cause)) if cause.kind() == io::ErrorKind::NotFound => continue,
            Err(cause) => (Err(cause.to_string()), segment.began_ms.saturating_mul(1_000_000)),
        };
        let is_same = |run: &&mut Run| matches!((&run.begins, &begins), (Ok(a), Ok(b)) if a.run == b.run);
        let piece = Piece { segment, wall };
        match runs.iter_mut().find(is_same) {
            Some(run) => run.pieces.push(piece),
            None => runs.push(Run { begins, pieces: vec![piece] }),
        }
    }
    runs.reverse();
    runs
}

impl Run {
    /// Nanoseconds since 1970 at which its first lines were written; its first event may be a
    /// second older, or more where the disk is slow.
    pub fn began(&self) -> u64 {
        self.pieces[0].wall
    }

    /// Nanoseconds since 1970 of the last moment that is on disk.
    pub fn ended(&self) -> u64 {
        let last = &self.pieces[self.pieces.len() - 1];
        let contents = last.segment.read().ok();
        let stamp = contents.and_then(|contents| contents.text.lines().rev().find_map(Stamp::decode));
        stamp.map_or(last.wall, |stamp| stamp.wall)
    }

    /// Bytes on disk.
    pub fn bytes(&self) -> u64 {
        self.pieces.iter().map(|piece| piece.segment.bytes).sum()
    }

    /// The segments of a span of time, nanoseconds since 1970, and one more on each side: lines are
    /// older than the moment at which they are written.
    pub fn between(&self, since: Option<u64>, until: Option<u64>) -> &[Piece] {
        let later = |since: u64| self.pieces.iter().position(|piece| piece.wall > since);
        let begin = since.map_or(0, |since| later(since).unwrap_or(self.pieces.len()).saturating_sub(1));
        let earlier = |until: u64| self.pieces.iter().rposition(|piece| piece.wall <= until);
        let end = until.map_or(self.pieces.len(), |until| earlier(until).map_or(1, |place| place + 2));
        let end = end.min(self.pieces.len());
        &self.pieces[begin.min(end - 1)..end]
    }

    /// The newest segments that have at most so many bytes together; at least one. `None`: all of
    /// them have no more.
    pub fn newest(&self, bytes: u64) -> Option<Self> {
        let mut sum = 0;
        let fits = |piece: &&Piece| {
            sum += piece.segment.bytes;
            sum <= bytes
        };
        let count = self.pieces.iter().rev().take_while(fits).count().max(1);
        let pieces = &self.pieces[self.pieces.len() - count..];
        (count < self.pieces.len()).then(|| Self { pieces: pieces.to_vec(), ..self.clone() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::SystemTime;

    const SECOND: u64 = 1_000_000_000;

    /// Sizes, and the seconds at which they were written.
    fn run(pieces: &[(u64, u64)]) -> Run {
        let piece = |(place, &(bytes, wall)): (usize, &(u64, u64))| Piece {
            segment: Segment { path: format!("{place}").into(), began_ms: 1, bytes, written: SystemTime::now() },
            wall: wall * SECOND,
        };
        Run { begins: Ok(Begins::of_segment("0", "1", 1)), pieces: pieces.iter().enumerate().map(piece).collect() }
    }

    fn names(pieces: &[Piece]) -> String {
        pieces.iter().map(|piece| piece.segment.path.display().to_string()).collect()
    }

    #[test]
    fn segments_of_a_span() {
        let run = run(&[(1, 100), (1, 110), (1, 120), (1, 130)]);
        let between = |since: Option<u64>, until: Option<u64>| {
            names(run.between(since.map(|at| at * SECOND), until.map(|at| at * SECOND)))
        };
        assert_eq!(between(None, None), "0123");
        assert_eq!(between(Some(115), None), "123");
        assert_eq!(between(Some(115), Some(116)), "12", "lines of the next one may be from then");
        assert_eq!(between(Some(119), Some(125)), "123");
        assert_eq!((between(None, Some(50)), between(Some(50), Some(60))), ("0".to_owned(), "0".to_owned()));
        assert_eq!(between(Some(500), None), "3");
        assert_eq!(between(Some(500), Some(50)), "0");
    }

    #[test]
    fn segments_of_a_clock_that_was_set_back() {
        let run = run(&[(1, 100), (1, 7300), (1, 110), (1, 120)]);
        let between = |since: Option<u64>, until: Option<u64>| {
            names(run.between(since.map(|at| at * SECOND), until.map(|at| at * SECOND)))
        };
        assert_eq!(between(None, Some(105)), "01");
        assert_eq!(between(None, Some(115)), "0123");
        assert_eq!(between(Some(115), None), "0123", "too many are better than too few");
    }

    #[test]
    fn the_newest_of_a_size() {
        let run = run(&[(50, 1), (50, 2), (30, 3), (20, 4)]);
        let newest = |bytes| run.newest(bytes).map(|run| names(&run.pieces));
        assert_eq!(newest(150), None);
        assert_eq!(newest(149).as_deref(), Some("123"));
        assert_eq!(newest(50).as_deref(), Some("23"));
        assert_eq!(newest(1).as_deref(), Some("3"), "at least one");
        assert!(super::tests::run(&[(50, 1)]).newest(1).is_none(), "there is no less of it");
    }
}
