//! Reads a segment, frame by frame. A frame that was not written whole ends it.

use std::fmt;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};

use lz4_flex::frame::FrameDecoder;

use crate::lines::{Begins, Stamp, VERSION};
use crate::ring::Segment;

/// The lines of a segment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Contents {
    /// The format, and the run that it belongs to.
    pub begins: Begins,
    /// All lines, the head among them, each with its newline.
    pub text: String,
    /// Why the segment ends early: its writer was killed in the middle of a frame, or the file is
    /// damaged. Lines behind that place are lost.
    pub torn: Option<String>,
}

/// A segment that cannot be read at all.
#[derive(Debug)]
pub enum ReadError {
    /// The file cannot be read.
    Io(io::Error),
    /// It is no recording, or one of a newer program.
    Format(String),
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(cause) => cause.fmt(f),
            Self::Format(problem) => f.write_str(problem),
        }
    }
}

impl std::error::Error for ReadError {}

impl From<io::Error> for ReadError {
    fn from(cause: io::Error) -> Self {
        Self::Io(cause)
    }
}

impl Segment {
    /// Reads all of it.
    ///
    /// # Errors
    /// There is not one whole frame, or the format is another one.
    pub fn read(&self) -> Result<Contents, ReadError> {
        let (bytes, torn) = frames(BufReader::new(File::open(&self.path)?))?;
        let text = String::from_utf8(bytes).map_err(|_| ReadError::Format("it is not text".to_owned()))?;
        let Some(second) = text.lines().nth(1) else {
            let why = torn.map(|why| format!(": {why}")).unwrap_or_default();
            return Err(ReadError::Format(format!("it holds nothing{why}")));
        };
        let begins =
            Begins::decode(second).map_err(|problem| ReadError::Format(format!("it is no recording: {problem}")))?;
        if begins.version > VERSION {
            let problem = format!(
                "it has format {} of numaestro {}; this program reads up to format {VERSION}",
                begins.version, begins.numaestro
            );
            return Err(ReadError::Format(problem));
        }
        Ok(Contents { begins, text, torn })
    }
}

/// The contents of all whole frames, and the reason why the last one is left out.
fn frames(mut file: impl BufRead) -> io::Result<(Vec<u8>, Option<String>)> {
    let mut bytes = Vec::new();
    loop {
        if file.fill_buf()?.is_empty() {
            return Ok((bytes, None));
        }
        let whole = bytes.len();
        // It reads to the frame's end, and not a byte more.
        let read = FrameDecoder::new(&mut file).read_to_end(&mut bytes);
        let problem = match read {
            // The decoder takes the end of the file for the end of the frame. The stamp tells.
            Ok(_) if ends_with_stamp(&bytes[whole..]) => continue,
            Ok(_) => "the last frame is cut off".to_owned(),
            Err(cause) => format!("the last frame is damaged or cut off ({cause})"),
        };
        bytes.truncate(whole);
        return Ok((bytes, Some(problem)));
    }
}

fn ends_with_stamp(frame: &[u8]) -> bool {
    let Some(lines) = frame.strip_suffix(b"\n") else { return false };
    let last = lines.rsplit(|byte| *byte == b'\n').next().unwrap_or_default();
    std::str::from_utf8(last).is_ok_and(|line| Stamp::decode(line).is_some())
}
