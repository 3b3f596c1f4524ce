//! A long recording for measurements: a journal again and again, each time later and with new
//! applications, in a ring of segments as a manager writes them. The journal ends when everybody
//! has departed; it may be that of a simulation.
//!
//! ```text
//! cargo run --release -p numaestro --example ring -- JOURNAL DIRECTORY [EVENTS]
//! numaestro dashboard DIRECTORY
//! ```

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use numaestro_engine::Event;
use numaestro_engine::journal::{self, Picture, State};
use numaestro_recording::{Begins, Limits, Recorder, Ring, Stamp};

/// The journal's clock at the line that is written.
static AT: AtomicU64 = AtomicU64::new(0);

/// The time of day at which the journal's clock was 0, nanoseconds.
static BEGAN: AtomicU64 = AtomicU64::new(0);

/// The recording ends now.
fn clock() -> Stamp {
    let at = AT.load(Ordering::Relaxed);
    Stamp { at, wall: BEGAN.load(Ordering::Relaxed) + at }
}

/// A line with application numbers that are so much larger.
fn renumbered(line: &str, larger: u64) -> String {
    let mut parts = line.split("\"app\":");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end = part.find(|c: char| !c.is_ascii_digit()).unwrap_or(part.len());
        let number = part[..end].parse::<u64>().map_or(0, |number| number + larger);
        let _ = write!(out, "\"app\":{number}{}", &part[end..]);
    }
    out
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut words = std::env::args().skip(1);
    let file = words.next().ok_or("which journal?")?;
    let directory = words.next().ok_or("into which directory?")?;
    let events: u64 = words.next().map_or(Ok(10_000_000), |word| word.parse())?;
    let text = std::fs::read_to_string(file)?;
    let head = text.lines().next().ok_or("the journal is empty")?;
    let (machine, settings, _) = journal::decode_head(head)?;
    let lines: Vec<&str> = text.lines().skip(1).filter(|line| !journal::is_aside(line)).collect();
    let time = |line: Option<&&str>| Some(journal::decode(line?).ok()?.0);
    let (first, last) = (time(lines.first()).ok_or("no events")?, time(lines.last()).ok_or("no events")?);
    let arrival = |line: &&str| match journal::decode(line).ok()?.1 {
        Event::Arrive { app, .. } => Some(app.0),
        _ => None,
    };
    let most = lines.iter().filter_map(arrival).max().unwrap_or(0);
    let length = last - first + 1_000_000_000;
    let now = SystemTime::now().duration_since(UNIX_EPOCH)?.as_nanos() as u64;
    let whole = events / lines.len() as u64 + 1;
    BEGAN.store(now.saturating_sub(whole * length), Ordering::Relaxed);

    let ring = Ring::at(&directory);
    let limits = Limits { bytes: 1 << 40, age: Duration::from_hours(24 * 1000) };
    let mut recorder = Recorder::start(ring.clone(), limits, clock)?;
    let begins = |segment| Begins::of_segment("0", "1", segment);
    recorder.begin(0, &format!("{head}\n{}\n", begins(1).encode(0)));
    let mut picture = Picture::empty(&machine, &settings.policy, &settings.reserved);
    let mut segments = 1;
    for number in 0..events {
        let (round, place) = (number / lines.len() as u64, (number % lines.len() as u64) as usize);
        let line = renumbered(lines[place], round * most);
        let (at, event, actions) = journal::decode(&line)?;
        let (at, name) = (at - first + round * length, journal::name(&line));
        AT.store(at, Ordering::Relaxed);
        picture.hear(at, &event, &actions);
        recorder.line(|line| journal::write_named(line, at, name.as_deref(), &event, &actions));
        if number.is_multiple_of(1000) {
            // A manager's events do not come faster than the disk takes them.
            std::thread::sleep(Duration::from_millis(2));
            if recorder.is_full(at) {
                segments += 1;
                let state = State { at, state: picture.snapshot().clone(), names: BTreeMap::default() };
                recorder.begin(at, &format!("{head}\n{}\n{}\n", begins(segments).encode(at), state.encode()));
            }
        }
    }
    if let Some(trouble) = recorder.trouble() {
        return Err(trouble.into());
    }
    drop(recorder);
    let bytes: u64 = ring.segments()?.iter().map(|segment| segment.bytes).sum();
    println!("{events} events in {segments} segments, {bytes} bytes");
    Ok(())
}
