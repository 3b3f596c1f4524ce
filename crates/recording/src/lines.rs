//! The lines that only recordings have.

use serde::{Deserialize, Serialize};

/// Version of the format: what stands around the journal's own lines, which have one of their own.
pub const VERSION: u32 = 1;

/// The second line of a segment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Begins {
    /// [`VERSION`] of the writer.
    pub version: u32,
    /// Version of the program that wrote it.
    pub numaestro: String,
    /// One manager on one machine under one engine: segments of a run belong together.
    pub run: String,
    /// Its place in the run, from 1.
    pub segment: u32,
    /// The manager decided before this segment. It begins with a line of the whole state.
    pub continues: bool,
    /// Names were left out.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub anonymous: bool,
}

/// One moment on two clocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stamp {
    /// Nanoseconds on the journal's clock.
    pub at: u64,
    /// Nanoseconds since 1970 (UTC).
    pub wall: u64,
}

#[derive(Serialize, Deserialize)]
struct Line<T> {
    at: u64,
    recording: T,
}

impl Begins {
    /// The line of a segment of a run, with names. Only the first does not continue another one.
    /// `numaestro`: version of the program that writes it.
    pub fn of_segment(numaestro: &str, run: &str, segment: u32) -> Self {
        let (numaestro, run) = (numaestro.to_owned(), run.to_owned());
        Self { version: VERSION, numaestro, run, segment, continues: segment > 1, anonymous: false }
    }

    /// The line, without its newline. `at`: nanoseconds on the journal's clock.
    pub fn encode(&self, at: u64) -> String {
        serde_json::to_string(&Line { at, recording: self }).expect("numbers and strings can always be written")
    }

    /// Reads the line.
    ///
    /// # Errors
    /// It is another line; the text says what was found.
    pub fn decode(line: &str) -> Result<Self, String> {
        let line: Line<Self> = serde_json::from_str(line).map_err(|cause| cause.to_string())?;
        Ok(line.recording)
    }
}

impl Stamp {
    /// The line, without its newline.
    pub fn encode(&self) -> String {
        format!("{{\"at\":{},\"wall\":{}}}", self.at, self.wall)
    }

    /// The stamp in a line, if it is one.
    pub fn decode(line: &str) -> Option<Self> {
        serde_json::from_str(line).ok()
    }

    /// The time of another moment of the same journal, nanoseconds since 1970.
    pub const fn wall_at(&self, at: u64) -> u64 {
        if at >= self.at { self.wall.saturating_add(at - self.at) } else { self.wall.saturating_sub(self.at - at) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_come_back() {
        let begins = Begins {
            version: VERSION,
            numaestro: "0.1.0".to_owned(),
            run: "17-1".to_owned(),
            segment: 2,
            continues: true,
            anonymous: false,
        };
        let line = begins.encode(5);
        assert!(line.starts_with("{\"at\":5,\"recording\":{\"version\":1,"), "{line}");
        assert_eq!(Begins::decode(&line), Ok(begins));
        assert!(Begins::decode("{\"at\":5,\"wall\":6}").is_err());

        let stamp = Stamp { at: 1000, wall: 5_000 };
        assert_eq!(Stamp::decode(&stamp.encode()), Some(stamp));
        assert_eq!(Stamp::decode(&line), None);
        assert_eq!((stamp.wall_at(1007), stamp.wall_at(900), stamp.wall_at(u64::MAX)), (5_007, 4_900, u64::MAX));
    }
}
