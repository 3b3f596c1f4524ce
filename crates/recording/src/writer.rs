//! The recorder: a buffer that the manager fills, and a thread that empties it onto the disk.

use std::fs::File;
use std::io::{self, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use lz4_flex::frame::{BlockSize, FrameEncoder, FrameInfo};

use crate::lines::Stamp;
use crate::ring::{Limits, Ring};

/// Lines are on their way to the disk after this time.
const DELAY: Duration = Duration::from_secs(1);
/// So many bytes are written at once, without waiting for the time.
const BATCH_BYTES: usize = 256 << 10;
/// A disk that is so far behind does not keep up, bytes.
pub(crate) const BEHIND_BYTES_MAX: usize = 16 << 20;
/// The end of a recording waits so long for the disk.
const END: Duration = Duration::from_secs(2);

/// No segment has so many bytes.
const TROUBLE: u64 = u64::MAX;

/// Tells the time on both clocks.
pub type Clock = fn() -> Stamp;

/// Lines that are not on disk.
#[derive(Debug, Default)]
struct Pending {
    text: Vec<u8>,
    /// The places in the text at which segments begin.
    begins: Vec<usize>,
    /// No line will come any more.
    over: bool,
    /// The recording has ended before its time.
    trouble: Option<String>,
    /// The thread has ended.
    done: bool,
}

#[derive(Debug, Default)]
struct Shared {
    pending: Mutex<Pending>,
    /// There are lines, many lines, or the end.
    more: Condvar,
    /// Bytes of the present segment on disk; [`TROUBLE`] when the recording has ended.
    written: AtomicU64,
}

impl Shared {
    fn pending(&self) -> MutexGuard<'_, Pending> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// See the file's header.
#[derive(Debug)]
pub struct Recorder {
    shared: Arc<Shared>,
    limits: Limits,
    /// Begin of the present segment on the journal's clock, nanoseconds.
    began: Option<u64>,
}

impl Recorder {
    /// Makes the directory, and starts the thread. Nothing is written before the first segment
    /// begins.
    ///
    /// # Errors
    /// The directory cannot be made, or the thread cannot be started.
    pub fn start(ring: Ring, limits: Limits, clock: Clock) -> io::Result<Self> {
        ring.make()?;
        let shared = Arc::new(Shared::default());
        let writer = Writer { ring, limits, clock, shared: shared.clone(), file: None, spare: Vec::new() };
        std::thread::Builder::new().name("recorder".to_owned()).spawn(move || writer.work())?;
        Ok(Self { shared, limits, began: None })
    }

    /// A segment begins at `at` with these lines, each with its newline.
    pub fn begin(&mut self, at: u64, lines: &str) {
        self.began = Some(at);
        let mut pending = self.shared.pending();
        if pending.trouble.is_none() {
            self.shared.written.store(0, Ordering::Relaxed);
        }
        let place = pending.text.len();
        pending.begins.push(place);
        self.append(pending, |text| text.extend_from_slice(lines.as_bytes()));
    }

    /// Appends one line with its newline, or several.
    pub fn line(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        self.append(self.shared.pending(), write);
    }

    fn append(&self, mut pending: MutexGuard<'_, Pending>, write: impl FnOnce(&mut Vec<u8>)) {
        if pending.trouble.is_some() {
            return;
        }
        let before = pending.text.len();
        write(&mut pending.text);
        if pending.text.len() > BEHIND_BYTES_MAX {
            let megabytes = BEHIND_BYTES_MAX >> 20;
            pending.trouble = Some(format!("the disk does not keep up: {megabytes} MiB were not written yet"));
            (pending.text, pending.begins) = (Vec::new(), Vec::new());
            self.shared.written.store(TROUBLE, Ordering::Relaxed);
        }
        let after = pending.text.len();
        drop(pending);
        // The thread waits for a first line without end, and then for many lines or for the time.
        if before == 0 || before < BATCH_BYTES && after >= BATCH_BYTES || after == 0 {
            self.shared.more.notify_all();
        }
    }

    /// The present segment is as long or as old as one should be: it is time for the next. Also if
    /// there is trouble. `now`: on the journal's clock, nanoseconds.
    pub fn is_full(&self, now: u64) -> bool {
        let old =
            self.began.is_some_and(|began| u128::from(now - began.min(now)) >= self.limits.segment_age().as_nanos());
        old || self.shared.written.load(Ordering::Relaxed) >= self.limits.segment_bytes()
    }

    /// Why the recording has ended before its time.
    pub fn trouble(&self) -> Option<String> {
        self.shared.pending().trouble.clone()
    }
}

/// The kernel has all lines so far when this returns, unless the disk hangs: nobody waits for that.
impl Drop for Recorder {
    fn drop(&mut self) {
        let mut pending = self.shared.pending();
        pending.over = true;
        self.shared.more.notify_all();
        let at_work = |pending: &mut Pending| !pending.done;
        drop(self.shared.more.wait_timeout_while(pending, END, at_work));
    }
}

/// The thread's side.
struct Writer {
    ring: Ring,
    limits: Limits,
    clock: Clock,
    shared: Arc<Shared>,
    /// The present segment.
    file: Option<File>,
    /// The other buffer: the two are exchanged, so that no line makes either grow twice.
    spare: Vec<u8>,
}

impl Writer {
    fn work(mut self) {
        let outcome = self.write_all();
        let mut pending = self.shared.pending();
        if let Err(cause) = outcome {
            let place = self.ring.directory().display();
            pending.trouble.get_or_insert_with(|| format!("cannot write in {place}: {cause}"));
            (pending.text, pending.begins) = (Vec::new(), Vec::new());
            self.shared.written.store(TROUBLE, Ordering::Relaxed);
        }
        pending.done = true;
        drop(pending);
        self.shared.more.notify_all();
    }

    /// Writes until there will be no more.
    fn write_all(&mut self) -> io::Result<()> {
        loop {
            let (text, begins, over) = self.take();
            self.write(&text, &begins)?;
            self.spare = text;
            self.spare.clear();
            if over {
                return Ok(());
            }
        }
    }

    /// Waits for lines, and a little longer for more; gives the lines, the places at which segments
    /// begin, and whether these are the last.
    fn take(&mut self) -> (Vec<u8>, Vec<usize>, bool) {
        let none = |pending: &mut Pending| pending.text.is_empty() && !pending.over && pending.trouble.is_none();
        let first = self.shared.more.wait_while(self.shared.pending(), none);
        let first = first.unwrap_or_else(PoisonError::into_inner);
        let few = |pending: &mut Pending| pending.text.len() < BATCH_BYTES && !pending.over;
        let waited = self.shared.more.wait_timeout_while(first, DELAY, few);
        let (mut pending, _) = waited.unwrap_or_else(PoisonError::into_inner);
        let text = std::mem::replace(&mut pending.text, std::mem::take(&mut self.spare));
        let over = pending.over || pending.trouble.is_some();
        (text, std::mem::take(&mut pending.begins), over)
    }

    /// Writes each segment's part of the lines.
    fn write(&mut self, text: &[u8], begins: &[usize]) -> io::Result<()> {
        let mut from = 0;
        for &place in begins {
            self.frame(&text[from..place])?;
            self.next_segment()?;
            from = place;
        }
        self.frame(&text[from..])
    }

    fn next_segment(&mut self) -> io::Result<()> {
        if let Some(former) = self.file.take() {
            // What comes after may be lost with the machine's power, what is over may not.
            former.sync_data()?;
        }
        let stamp = (self.clock)();
        self.file = Some(self.ring.create(stamp.wall)?);
        self.ring.shrink(self.limits, self.limits.segment_bytes(), SystemTime::now())
    }

    /// One frame: the lines, and a stamp behind them.
    fn frame(&mut self, lines: &[u8]) -> io::Result<()> {
        let (Some(file), false) = (&mut self.file, lines.is_empty()) else { return Ok(()) };
        let info = FrameInfo::new().block_size(BlockSize::Max64KB).block_checksums(true).content_checksum(true);
        let mut encoder = FrameEncoder::with_frame_info(info, Vec::with_capacity(lines.len() / 4));
        encoder.write_all(lines)?;
        encoder.write_all((self.clock)().encode().as_bytes())?;
        encoder.write_all(b"\n")?;
        let frame = encoder.finish().map_err(io::Error::other)?;
        // One call: a frame is there or torn, and nothing else is in between.
        file.write_all(&frame)?;
        // The next segment may have begun meanwhile; it is a little longer then, or shorter.
        let more = |written: u64| (written != TROUBLE).then(|| written + frame.len() as u64);
        let _ = self.shared.written.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lines::Begins;
    use crate::reader::Contents;
    use std::time::Instant;

    const HOUR: Duration = Duration::from_hours(1);

    fn clock() -> Stamp {
        Stamp { at: 7, wall: 1_700_000_000_000_000_000 }
    }

    fn head(segment: u32) -> String {
        let begins = Begins::of_segment("0", "1", segment);
        format!("the journal's head\n{}\n", begins.encode(3))
    }

    fn start(bytes: u64) -> (tempfile::TempDir, Ring, Recorder) {
        let place = tempfile::tempdir().unwrap();
        let ring = Ring::at(place.path().join("ring"));
        let recorder = Recorder::start(ring.clone(), Limits { bytes, age: HOUR }, clock).unwrap();
        (place, ring, recorder)
    }

    fn contents(ring: &Ring) -> Vec<Contents> {
        ring.segments().unwrap().iter().map(|segment| segment.read().unwrap()).collect()
    }

    #[test]
    fn lines_come_back_by_segments() {
        let (_place, ring, mut recorder) = start(1 << 20);
        recorder.begin(3, &head(1));
        recorder.line(|text| text.extend_from_slice(b"one\n"));
        recorder.begin(4, &head(2));
        recorder.line(|text| text.extend_from_slice(b"two\nthree\n"));
        drop(recorder);
        let found = contents(&ring);
        let lines = |at: usize| found[at].text.lines().skip(2).map(str::to_owned).collect::<Vec<_>>();
        let stamp = clock().encode();
        assert_eq!(lines(0), ["one", &stamp]);
        assert_eq!(lines(1), ["two", "three", &stamp]);
        assert_eq!((found[0].begins.segment, found[1].begins.segment), (1, 2));
        assert_eq!((&found[0].torn, &found[1].torn), (&None, &None));
    }

    #[test]
    fn a_torn_tail_is_dropped_and_said_wherever_it_is_torn() {
        let (_place, ring, mut recorder) = start(1 << 20);
        recorder.begin(3, &head(1));
        while ring.segments().unwrap().is_empty_or_new() {
            std::thread::sleep(Duration::from_millis(5));
        }
        recorder.line(|text| text.extend_from_slice(b"a line that is torn\n"));
        drop(recorder);
        let segment = ring.segments().unwrap().remove(0);
        let bytes = std::fs::read(&segment.path).unwrap();
        let whole = segment.read().unwrap();
        assert!(whole.text.contains("torn") && whole.torn.is_none());
        let first = (1..bytes.len()).find(|&end| cut(&segment, &bytes[..end]).is_ok()).unwrap();
        // Its last mark and its sum may be missing then.
        let frame = first + 8;
        for end in frame..bytes.len() {
            let found = cut(&segment, &bytes[..end]).unwrap();
            // Behind the last line are a mark and a sum only.
            assert!(found.text == whole.text || !found.text.contains("torn"), "cut at {end}");
            assert!(whole.text.starts_with(&found.text), "cut at {end}");
            assert_eq!(found.torn.is_some(), found.text != whole.text && end > frame, "cut at {end}");
        }
        for flipped in frame..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[flipped] ^= 0x10;
            let found = cut(&segment, &damaged).unwrap();
            assert!(found.torn.is_some() || found.text == whole.text, "damaged at {flipped}");
            assert!(whole.text.starts_with(&found.text), "damaged at {flipped}");
        }
    }

    fn cut(segment: &crate::ring::Segment, bytes: &[u8]) -> Result<Contents, crate::reader::ReadError> {
        std::fs::write(&segment.path, bytes).unwrap();
        segment.read()
    }

    trait New {
        fn is_empty_or_new(&self) -> bool;
    }

    impl New for Vec<crate::ring::Segment> {
        fn is_empty_or_new(&self) -> bool {
            self.first().is_none_or(|segment| segment.bytes == 0)
        }
    }

    #[test]
    fn a_newer_format_is_refused_by_name() {
        let (_place, ring, mut recorder) = start(1 << 20);
        recorder.begin(3, &head(1).replace("\"version\":1", "\"version\":9"));
        drop(recorder);
        let error = ring.segments().unwrap()[0].read().unwrap_err().to_string();
        assert!(error.contains("format 9") && error.contains("up to format 1"), "{error}");
    }

    #[test]
    fn a_full_segment_is_said_and_old_ones_go() {
        let (_place, ring, mut recorder) = start(512 << 10);
        let (mut seed, mut segments, begun) = (1_u64, 0, Instant::now());
        recorder.begin(0, &head(1));
        while segments < 20 {
            assert!(begun.elapsed() < Duration::from_mins(1), "{segments} segments");
            for _ in 0..1000 {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                recorder.line(|text| writeln!(text, "{seed:x}").unwrap());
            }
            if recorder.is_full(1) {
                segments += 1;
                recorder.begin(0, &head(segments + 1));
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        assert_eq!(recorder.trouble(), None);
        drop(recorder);
        let bytes: u64 = ring.segments().unwrap().iter().map(|segment| segment.bytes).sum();
        // The last batch of a segment may be more than is left of it.
        assert!(bytes <= 512 << 10 | (2 * BATCH_BYTES) as u64, "{bytes}");
        assert!(contents(&ring).iter().all(|found| found.torn.is_none()));
    }

    #[test]
    fn an_old_segment_is_full() {
        let (_place, _ring, mut recorder) = start(1 << 20);
        assert!(!recorder.is_full(u64::MAX), "nothing has begun");
        recorder.begin(1000, &head(1));
        let eighth = HOUR.as_nanos() as u64 / 8;
        assert_eq!((recorder.is_full(999 + eighth), recorder.is_full(1000 + eighth)), (false, true));
    }

    #[test]
    fn a_place_that_cannot_be_written_ends_the_recording_and_says_so() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let limits = Limits { bytes: 1 << 20, age: HOUR };
        assert!(Recorder::start(Ring::at(file.path().join("below-a-file")), limits, clock).is_err());
        let (_place, ring, mut recorder) = start(1 << 20);
        std::fs::remove_dir(ring.directory()).unwrap();
        std::fs::write(ring.directory(), "a file in its place").unwrap();
        recorder.begin(0, &head(1));
        let begun = Instant::now();
        while recorder.trouble().is_none() {
            assert!(begun.elapsed() < Duration::from_secs(30));
            std::thread::sleep(Duration::from_millis(5));
        }
        assert!(recorder.trouble().unwrap().contains("cannot write in"), "{:?}", recorder.trouble());
        assert!(recorder.is_full(0), "somebody should look");
        recorder.line(|_| panic!("nothing is kept for a recording that is over"));
    }
}
