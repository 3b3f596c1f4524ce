//! The runs in a ring: the segments that belong together. Of each segment only its begin is read.

use numaestro_recording::{Begins, ReadError, Segment};
use std::time::UNIX_EPOCH;

/// One engine's life on one machine, as far as the ring still has it.
#[derive(Debug, Clone)]
pub struct Run {
    /// What its first segment says; an error: the segment cannot be read, and is a run of its own.
    pub begins: Result<Begins, String>,
    /// Its segments, oldest first. At least one.
    pub segments: Vec<Segment>,
}

/// The runs, newest first.
pub fn of(segments: Vec<Segment>) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    for segment in segments {
        let begins = match segment.begins() {
            Ok(begins) => Ok(begins),
            // It may have gone, or hold nothing yet: the manager is at work.
            Err(_) if segment.bytes == 0 => continue,
            Err(ReadError::Io(cause)) if cause.kind() == std::io::ErrorKind::NotFound => continue,
            Err(cause) => Err(cause.to_string()),
        };
        let is_same = |run: &&mut Run| matches!((&run.begins, &begins), (Ok(a), Ok(b)) if a.run == b.run);
        match runs.iter_mut().find(is_same) {
            Some(run) => run.segments.push(segment),
            None => runs.push(Run { begins, segments: vec![segment] }),
        }
    }
    runs.reverse();
    runs
}

impl Run {
    /// Nanoseconds since 1970 at which its first segment's file was made. Its first events are up
    /// to [`super::UNKNOWN_NS`] older.
    pub fn began_ns(&self) -> u64 {
        began_ns(&self.segments[0])
    }

    /// Nanoseconds since 1970 at which its last segment was written.
    pub fn written_ns(&self) -> u64 {
        let written = self.segments[self.segments.len() - 1].written;
        let since_1970 = written.duration_since(UNIX_EPOCH).unwrap_or_default();
        u64::try_from(since_1970.as_nanos()).unwrap_or(u64::MAX)
    }

    /// Bytes on disk.
    pub fn bytes(&self) -> u64 {
        self.segments.iter().map(|segment| segment.bytes).sum()
    }

    /// The segments of a span of time, nanoseconds since 1970, and those before it and behind it
    /// that may have some of it.
    pub fn between(&self, since: Option<u64>, until: Option<u64>) -> &[Segment] {
        let began_before = |at: u64| self.segments.partition_point(|segment| began_ns(segment) <= at);
        let end = until.map_or(self.segments.len(), |until| began_before(until.saturating_add(super::UNKNOWN_NS)));
        let begin = since.map_or(0, |since| began_before(since).saturating_sub(1));
        &self.segments[begin.min(end.saturating_sub(1))..end.max(1)]
    }

    /// The begin of the newest segments that have at most so many bytes together, nanoseconds since
    /// 1970; at least one. `None`: all of them have no more.
    pub fn newest(&self, bytes: u64) -> Option<u64> {
        let mut sum = 0;
        let mut newest = None;
        for segment in self.segments.iter().rev() {
            sum += segment.bytes;
            if sum > bytes && newest.is_some() {
                return newest;
            }
            newest = Some(began_ns(segment));
        }
        None
    }
}

/// Nanoseconds since 1970.
fn began_ns(segment: &Segment) -> u64 {
    segment.began_ms.saturating_mul(1_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;
    use numaestro_recording::VERSION;
    use std::time::SystemTime;

    fn run(sizes: &[u64]) -> Run {
        let segment = |(place, &bytes): (usize, &u64)| Segment {
            path: format!("{place}").into(),
            began_ms: 100_000 + 10_000 * place as u64,
            bytes,
            written: SystemTime::now(),
        };
        let begins = Begins {
            version: VERSION,
            numaestro: "0".to_owned(),
            run: "1".to_owned(),
            segment: 1,
            continues: false,
            anonymous: false,
        };
        Run { begins: Ok(begins), segments: sizes.iter().enumerate().map(segment).collect() }
    }

    #[test]
    fn segments_of_a_span() {
        let run = run(&[1; 4]); // They begin at 100 s, 110 s, 120 s and 130 s.
        let between = |since: Option<u64>, until: Option<u64>| {
            let nanoseconds = |seconds: Option<u64>| seconds.map(|seconds| seconds * 1_000_000_000);
            let found = run.between(nanoseconds(since), nanoseconds(until));
            found.iter().map(|segment| segment.path.display().to_string()).collect::<String>()
        };
        assert_eq!(between(None, None), "0123");
        assert_eq!(between(Some(115), None), "123");
        assert_eq!(between(Some(115), Some(116)), "1");
        assert_eq!(between(Some(115), Some(119)), "12", "its first events may be from then");
        assert_eq!((between(None, Some(50)), between(Some(50), Some(60))), ("0".to_owned(), "0".to_owned()));
        assert_eq!(between(Some(500), None), "3");
        assert_eq!(between(Some(500), Some(50)), "0");
    }

    #[test]
    fn the_newest_of_a_size() {
        let run = run(&[50, 50, 30, 20]);
        assert_eq!(run.newest(150), None);
        assert_eq!(run.newest(149), Some(110_000_000_000));
        assert_eq!(run.newest(50), Some(120_000_000_000));
        assert_eq!(run.newest(1), Some(130_000_000_000), "at least one");
        assert_eq!(super::tests::run(&[50]).newest(1), None, "there is no less of it");
    }
}
