//! Reads a segment, frame by frame. A frame that was not written whole ends it.

use std::fmt;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};

use lz4_flex::frame::FrameDecoder;

use crate::lines::{Begins, Stamp, VERSION};
use crate::ring::{SEGMENT_BYTES_MAX, Segment};
use crate::writer::BEHIND_BYTES_MAX;

/// No segment that a manager has written holds more bytes of text: LZ4 packs 255 into one, and the
/// last frame begins before the segment is as long as one should be.
const TEXT_BYTES_MAX: u64 = 256 * SEGMENT_BYTES_MAX + BEHIND_BYTES_MAX as u64;

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

/// The begin of a segment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Opening {
    /// The format, and the run that it belongs to.
    pub begins: Begins,
    /// The moment at which its first frame was written.
    pub stamp: Stamp,
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
    /// There is not one whole frame, the format is another one, or it holds more text than a
    /// manager writes.
    pub fn read(&self) -> Result<Contents, ReadError> {
        self.read_within(TEXT_BYTES_MAX)
    }

    fn read_within(&self, most: u64) -> Result<Contents, ReadError> {
        let mut bytes = Vec::new();
        let mut file = self.open()?;
        let torn = loop {
            match frame(&mut file, &mut bytes, most)? {
                Frame::Whole => {}
                Frame::None => break None,
                Frame::Torn(why) => break Some(why),
            }
        };
        let (begins, text) = checked(bytes, torn.as_deref())?;
        Ok(Contents { begins, text, torn })
    }

    /// Reads its first frame alone.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub fn opening(&self) -> Result<Opening, ReadError> {
        let mut bytes = Vec::new();
        let torn = match frame(&mut self.open()?, &mut bytes, TEXT_BYTES_MAX)? {
            Frame::Whole | Frame::None => None,
            Frame::Torn(why) => Some(why),
        };
        let (begins, text) = checked(bytes, torn.as_deref())?;
        let stamp = text.lines().next_back().and_then(Stamp::decode);
        let stamp = stamp.ok_or_else(|| ReadError::Format("its first frame has no stamp".to_owned()))?;
        Ok(Opening { begins, stamp })
    }

    fn open(&self) -> io::Result<BufReader<File>> {
        Ok(BufReader::new(File::open(&self.path)?))
    }
}

/// What a segment begins with, and its text, if this program can read it.
fn checked(bytes: Vec<u8>, torn: Option<&str>) -> Result<(Begins, String), ReadError> {
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
    Ok((begins, text))
}

/// What was found where a frame is expected.
enum Frame {
    Whole,
    /// The file ends.
    None,
    /// Why the frame is left out.
    Torn(String),
}

/// Appends the contents of the next frame, if it is whole. With more than `most` bytes nothing is
/// read: a file of a few megabytes may hold more than the memory of the machine.
fn frame(file: &mut impl BufRead, bytes: &mut Vec<u8>, most: u64) -> Result<Frame, ReadError> {
    if file.fill_buf()?.is_empty() {
        return Ok(Frame::None);
    }
    let whole = bytes.len();
    // It reads to the frame's end, and not a byte more.
    let read = FrameDecoder::new(file).take((most + 1).saturating_sub(whole as u64)).read_to_end(bytes);
    if bytes.len() as u64 > most {
        return Err(ReadError::Format(format!("it holds more than {} MiB, which no manager writes", most >> 20)));
    }
    let problem = match read {
        // The decoder takes the end of the file for the end of the frame. The stamp tells.
        Ok(_) if ends_with_stamp(&bytes[whole..]) => return Ok(Frame::Whole),
        Ok(_) => "the last frame is cut off".to_owned(),
        Err(cause) => format!("the last frame is damaged or cut off ({cause})"),
    };
    bytes.truncate(whole);
    Ok(Frame::Torn(problem))
}

fn ends_with_stamp(frame: &[u8]) -> bool {
    let Some(lines) = frame.strip_suffix(b"\n") else { return false };
    let last = lines.rsplit(|byte| *byte == b'\n').next().unwrap_or_default();
    std::str::from_utf8(last).is_ok_and(|line| Stamp::decode(line).is_some())
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use lz4_flex::frame::FrameEncoder;

    use super::*;

    #[test]
    fn a_segment_that_unpacks_without_end_is_refused() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("1.journal.lz4");
        let most = 1 << 20;
        let mut packer = FrameEncoder::new(Vec::new());
        io::copy(&mut io::repeat(b' ').take(most / 2), &mut packer).unwrap();
        let stamp = Stamp { at: 1, wall: 1 }.encode();
        writeln!(packer, "\n{stamp}").unwrap();
        let frame = packer.finish().unwrap();
        // Each of its frames is short.
        std::fs::write(&path, frame.repeat(3)).unwrap();
        assert!(frame.len() < 10_000);
        let segment = Segment { began_ms: 1, bytes: 0, written: std::time::SystemTime::UNIX_EPOCH, path };
        let refused = segment.read_within(most).unwrap_err().to_string();
        assert_eq!(refused, "it holds more than 1 MiB, which no manager writes");
    }
}
