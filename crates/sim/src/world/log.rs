//! The event log: one line for each event, and a fingerprint that is the same whether or not anybody wants the lines.

use crate::Nanos;
use std::fmt::Write;

/// What a line is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Line {
    Arrive = 1,
    Start = 2,
    Segment = 3,
    Meeting = 4,
    Slice = 5,
    Task = 6,
    Resume = 8,
    End = 9,
    Target = 10,
    Adopted = 11,
    Force = 12,
    Lock = 7,
    Stop = 13,
    Continue = 14,
}

impl Line {
    const fn name(self) -> &'static str {
        match self {
            Self::Arrive => "arrive",
            Self::Start => "start",
            Self::Segment => "segment",
            Self::Meeting => "meeting",
            Self::Slice => "slice",
            Self::Task => "task",
            Self::Resume => "resume",
            Self::End => "end",
            Self::Target => "target",
            Self::Adopted => "adopted",
            Self::Force => "force",
            Self::Lock => "lock",
            Self::Stop => "stop",
            Self::Continue => "continue",
        }
    }
}

/// One line: time, what, job, thread, processor (or a number that the kind says).
#[derive(Debug, Clone, Copy)]
pub(super) struct Entry {
    pub at: Nanos,
    pub line: Line,
    pub job: u64,
    pub thread: u32,
    pub value: u32,
}

impl Entry {
    /// Its text, in fixed columns, into a buffer that is used again.
    pub fn write(&self, text: &mut String) {
        text.clear();
        let (at, name) = (self.at, self.line.name());
        let _ = write!(text, "{at:>18} {name:<8} {:>8} {:>6} {:>6}", self.job, self.thread, self.value);
    }
}

/// FNV-1a over the fields of all lines, taken as 64-bit words.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fingerprint(pub u64);

impl Default for Fingerprint {
    fn default() -> Self {
        Self(0xCBF2_9CE4_8422_2325)
    }
}

impl Fingerprint {
    /// Takes a line in.
    pub fn add(&mut self, entry: &Entry) {
        let place = u64::from(entry.thread) << 32 | u64::from(entry.value);
        for word in [entry.at, entry.job << 8 | entry.line as u64, place] {
            self.0 = (self.0 ^ word).wrapping_mul(0x0000_0100_0000_01B3);
            // Words leave high bits that FNV's multiplication never brings down.
            self.0 ^= self.0 >> 32;
        }
    }
}
