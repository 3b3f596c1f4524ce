//! What it costs to record an event: processor time of the whole process, the writer's thread among
//! it, for the steps of a journal again and again at full speed. Before that, what it costs to
//! remember an event in memory only, for `numaestro explain`.
//!
//! ```text
//! cargo run --release -p numaestro --example recording -- JOURNAL [EVENTS]
//! ```

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use numaestro_engine::journal;
use numaestro_recording::{Begins, Limits, Recorder, Ring, Stamp};
use rustix::time::{ClockId, clock_gettime};

fn clock() -> Stamp {
    let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Stamp { at: numaestro_host::monotonic_ns(), wall: wall.as_nanos() as u64 }
}

fn processor_time() -> Duration {
    let spent = clock_gettime(ClockId::ProcessCPUTime);
    Duration::from_secs(spent.tv_sec.cast_unsigned()) + Duration::from_nanos(spent.tv_nsec.cast_unsigned())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut words = std::env::args().skip(1);
    let file = words.next().ok_or("which journal?")?;
    let events: u64 = words.next().map_or(Ok(1_000_000), |word| word.parse())?;
    let text = std::fs::read_to_string(file)?;
    let steps: Vec<_> = text
        .lines()
        .skip(1)
        .filter(|line| !journal::is_aside(line))
        .filter_map(|line| journal::decode(line).ok())
        .collect();
    let begun = processor_time();
    let mut memory = Vec::with_capacity(1 << 18);
    for (_, (at, event, actions)) in (0..events).zip(steps.iter().cycle()) {
        if memory.len() > 1 << 17 {
            memory.clear();
        }
        journal::write_named(&mut memory, *at, None, event, actions);
    }
    let remembered = processor_time().saturating_sub(begun);
    println!("{events} events remembered: {:.2} us each", remembered.as_secs_f64() * 1e6 / events as f64);
    let place = std::env::temp_dir().join(format!("numaestro-recording-{}", std::process::id()));
    let ring = Ring::at(&place);
    let limits = Limits { bytes: 64 << 20, age: Duration::from_hours(1) };
    let begun = processor_time();
    let mut recorder = Recorder::start(ring.clone(), limits, clock)?;
    let begins = |segment| Begins::of_segment("0", "1", segment);
    let (mut segments, mut bytes) = (1, 0);
    recorder.begin(0, &format!("head\n{}\n", begins(1).encode(0)));
    for (number, (at, event, actions)) in (0..events).zip(steps.iter().cycle()) {
        recorder.line(|line| {
            let before = line.len();
            journal::write_named(line, *at, None, event, actions);
            bytes += line.len() - before;
        });
        if number % 1000 == 0 {
            // A manager's events do not come faster than the disk takes them.
            std::thread::sleep(Duration::from_millis(1));
            if recorder.is_full(0) {
                segments += 1;
                recorder.begin(0, &format!("head\n{}\n", begins(segments).encode(0)));
            }
        }
    }
    let trouble = recorder.trouble();
    drop(recorder);
    let spent = processor_time().saturating_sub(begun);
    let on_disk: u64 = ring.segments()?.iter().map(|segment| segment.bytes).sum();
    println!(
        "{events} events of {} bytes: {:.2} us each, so {:.3} % of a processor at 1000 a second; {on_disk} bytes in the ring, {segments} segments{}",
        bytes as u64 / events,
        spent.as_secs_f64() * 1e6 / events as f64,
        spent.as_secs_f64() * 1e5 / events as f64,
        trouble.map(|trouble| format!("; {trouble}")).unwrap_or_default()
    );
    std::fs::remove_dir_all(place)?;
    Ok(())
}
