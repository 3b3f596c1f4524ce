//! A long recording for measurements: the events of a journal, again and again, in a ring of
//! segments as a manager writes them, a day long.
//!
//! ```text
//! cargo run --release -p numaestro --example ring -- JOURNAL DIRECTORY [EVENTS]
//! numaestro dashboard DIRECTORY
//! ```

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use numaestro_engine::journal::{self, Picture, State};
use numaestro_recording::{Begins, Limits, Recorder, Ring, Stamp};

/// The recording's length, nanoseconds.
const DAY: u64 = 24 * 3600 * 1_000_000_000;
/// The journal's clock at the line that is written.
static AT: AtomicU64 = AtomicU64::new(0);

/// The recording ends now.
fn clock() -> Stamp {
    static BEGAN: std::sync::OnceLock<u64> = std::sync::OnceLock::new();
    let at = AT.load(Ordering::Relaxed);
    let now = || SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos() as u64;
    Stamp { at, wall: BEGAN.get_or_init(|| now() - DAY) + at }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut words = std::env::args().skip(1);
    let file = words.next().ok_or("which journal?")?;
    let directory = words.next().ok_or("into which directory?")?;
    let events: u64 = words.next().map_or(Ok(10_000_000), |word| word.parse())?;
    let text = std::fs::read_to_string(file)?;
    let head = text.lines().next().ok_or("the journal is empty")?;
    let (machine, settings, _) = journal::decode_head(head)?;
    let named = |line: &str| journal::decode(line).ok().map(|step| (step, journal::name(line)));
    let steps: Vec<_> = text.lines().skip(1).filter(|line| !journal::is_aside(line)).filter_map(named).collect();
    let first = steps.first().ok_or("the journal has no events")?.0.0;

    let ring = Ring::at(&directory);
    let limits = Limits { bytes: 1 << 40, age: Duration::from_hours(24 * 1000) };
    let mut recorder = Recorder::start(ring.clone(), limits, clock)?;
    let begins = |segment| Begins::of_segment("0", "1", segment);
    recorder.begin(0, &format!("{head}\n{}\n", begins(1).encode(0)));
    let mut picture = Picture::empty(&machine, &settings.policy, &settings.reserved);
    let mut segments = 1;
    for (number, ((_, event, actions), name)) in (0..events).zip(steps.iter().cycle()) {
        let at = first + (u128::from(number) * u128::from(DAY) / u128::from(events)) as u64;
        AT.store(at, Ordering::Relaxed);
        picture.hear(at, event, actions);
        recorder.line(|line| journal::write_named(line, at, name.as_deref(), event, actions));
        if number % 1000 == 0 {
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
