//! The event log: one line for each event, and a fingerprint that is the same whether or not
//! anybody wants the lines.

use super::observer::Observer;
use crate::Nanos;
use std::fmt::Write;

/// The subject of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Line {
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

/// One line: time, subject, job, thread, processor (or a number that the kind says).
#[derive(Debug, Clone, Copy)]
struct Entry {
    at: Nanos,
    line: Line,
    job: u64,
    thread: u32,
    value: u32,
}

impl Entry {
    /// Writes its text, in fixed columns, into a buffer that is used again.
    fn write(&self, text: &mut String) {
        text.clear();
        let (at, name) = (self.at, self.line.name());
        let _ = write!(text, "{at:>18} {name:<8} {:>8} {:>6} {:>6}", self.job, self.thread, self.value);
    }
}

/// FNV-1a over the fields of all lines, taken as 64-bit words.
#[derive(Debug, Clone, Copy)]
struct Fingerprint(u64);

impl Default for Fingerprint {
    fn default() -> Self {
        Self(0xCBF2_9CE4_8422_2325)
    }
}

impl Fingerprint {
    /// Adds a line.
    fn add(&mut self, entry: &Entry) {
        let place = u64::from(entry.thread) << 32 | u64::from(entry.value);
        for word in [entry.at, entry.job << 8 | entry.line as u64, place] {
            self.0 = (self.0 ^ word).wrapping_mul(0x0000_0100_0000_01B3);
            // Words leave high bits that FNV's multiplication never brings down.
            self.0 ^= self.0 >> 32;
        }
    }
}

/// The log of one run.
#[derive(Debug, Default)]
pub struct Log {
    fingerprint: Fingerprint,
    /// Lines that have not been shown, if the observer wants them.
    lines: Option<Vec<Entry>>,
    text: String,
    /// Events of threads so far.
    events: u64,
}

impl Log {
    /// Whether lines are kept for [`Self::show`].
    pub fn keep(&mut self, wanted: bool) {
        if wanted != self.lines.is_some() {
            self.lines = wanted.then(Vec::new);
        }
    }

    /// Counts so many events of threads.
    pub fn count(&mut self, events: u64) {
        self.events += events;
    }

    /// Events of threads so far.
    pub fn events(&self) -> u64 {
        self.events
    }

    /// Adds a line.
    pub fn note(&mut self, at: Nanos, line: Line, job: u64, thread: u32, value: u32) {
        let entry = Entry { at, line, job, thread, value };
        self.fingerprint.add(&entry);
        if let Some(lines) = &mut self.lines {
            lines.push(entry);
        }
    }

    /// Shows the lines that have not been shown.
    #[inline]
    pub fn show(&mut self, observer: &mut dyn Observer) {
        if self.lines.is_some() {
            self.show_kept(observer);
        }
    }

    fn show_kept(&mut self, observer: &mut dyn Observer) {
        for entry in self.lines.iter_mut().flat_map(|lines| lines.drain(..)) {
            entry.write(&mut self.text);
            observer.log(&self.text);
        }
    }

    /// A number that is the same for equal runs.
    pub fn fingerprint(&self) -> u64 {
        self.fingerprint.0
    }
}
