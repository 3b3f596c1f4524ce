//! A program with threads and memory, for guests: each thread fills its part, then reads and
//! rewrites it again and again, and notices if a single word is wrong.
//!
//! The checksum depends on threads and size alone, not on rounds, time or place, so that it is the
//! same wherever the manager places the threads.

use clap::Parser;
use std::io::Write;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Barrier, Mutex};
use std::time::{Duration, Instant};

const AFTER_HELP: &str = "\
Writes a line \"round N\" after its first round and then about every half second, and at the end \"checksum X\".
Exit code 0, or 1 if some word was not what it must be.

Examples:
  guest-load --threads 4 --mb 64 --seconds 5
  guest-load --threads 2 --mb 16 --rounds 10 --first-touch first
  guest-load --threads 1 --mb 8 --seconds 60 --stop-file /tmp/enough";

/// Threads with memory that check themselves.
#[derive(Debug, Parser)]
#[command(name = "guest-load", after_help = AFTER_HELP)]
struct Options {
    /// Threads.
    #[arg(long, default_value_t = 1)]
    threads: usize,
    /// Megabytes of each thread.
    #[arg(long, default_value_t = 16)]
    mb: usize,
    /// Go on for so long.
    #[arg(long, conflicts_with = "rounds")]
    seconds: Option<u64>,
    /// Go on for so many rounds.
    #[arg(long)]
    rounds: Option<u64>,
    /// Who touches the memory first: each thread its own part, or the first thread everything.
    #[arg(long, default_value = "own", value_parser = ["own", "first"])]
    first_touch: String,
    /// Each thread sleeps so many milliseconds after a round, so that an emulated machine has time
    /// for others.
    #[arg(long, default_value_t = 0)]
    rest_ms: u64,
    /// End in order when this file is there.
    #[arg(long)]
    stop_file: Option<std::path::PathBuf>,
}

/// The right word at a place in a round that is even (0) or odd (1).
fn word(thread: usize, place: usize, odd: u64) -> u64 {
    let mixed = (place as u64 ^ ((thread as u64) << 40)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed ^ (mixed >> 29)) ^ odd.wrapping_neg()
}

fn fill(thread: usize, part: &mut [u64]) {
    for (place, slot) in part.iter_mut().enumerate() {
        *slot = word(thread, place, 0);
    }
}

/// One pass: checks every word and writes the one of the next round. Returns the number of wrong
/// words, and the sum of the even form.
fn pass(thread: usize, part: &mut [u64], odd: u64) -> (u64, u64) {
    let (mut wrong, mut sum) = (0, 0_u64);
    for (place, slot) in part.iter_mut().enumerate() {
        wrong += u64::from(*slot != word(thread, place, odd));
        sum = sum.rotate_left(1) ^ *slot ^ odd.wrapping_neg();
        *slot = !*slot;
    }
    (wrong, sum)
}

fn main() -> ExitCode {
    let options = Options::parse();
    let words = options.mb << 17;
    // Zeroed memory of this size is not touched before it is written.
    let mut parts: Vec<Vec<u64>> = (0..options.threads).map(|_| vec![0; words]).collect();
    let by_first = options.first_touch == "first";
    if by_first {
        parts.iter_mut().enumerate().for_each(|(thread, part)| fill(thread, part));
    }
    let begun = Instant::now();
    let limit = options.seconds.map(Duration::from_secs);
    let rounds = options.rounds.unwrap_or(if limit.is_some() { u64::MAX } else { 10 });
    let enough = AtomicBool::new(false);
    let said = Mutex::new(None::<Instant>);
    let wrong = AtomicU64::new(0);
    let total = AtomicU64::new(0);
    let barrier = Barrier::new(options.threads);
    std::thread::scope(|scope| {
        for (thread, part) in parts.iter_mut().enumerate() {
            let (options, enough, said, wrong, total, barrier) = (&options, &enough, &said, &wrong, &total, &barrier);
            scope.spawn(move || {
                if !by_first {
                    fill(thread, part);
                }
                barrier.wait();
                let mut sum = 0;
                for round in 0..rounds {
                    let (bad, now) = pass(thread, part, round & 1);
                    wrong.fetch_add(bad, Ordering::Relaxed);
                    sum = now;
                    if thread == 0 {
                        progress(said, round + 1);
                        let late = limit.is_some_and(|limit| begun.elapsed() >= limit);
                        if late || options.stop_file.as_ref().is_some_and(|file| file.exists()) {
                            enough.store(true, Ordering::Relaxed);
                        }
                    }
                    if enough.load(Ordering::Relaxed) {
                        break;
                    }
                    std::thread::sleep(Duration::from_millis(options.rest_ms));
                }
                total.fetch_add(sum, Ordering::Relaxed);
            });
        }
    });
    let wrong = wrong.into_inner();
    println!("checksum {:016x}", total.into_inner());
    if wrong > 0 {
        eprintln!("guest-load: {wrong} words were not what they must be");
    }
    ExitCode::from(u8::from(wrong > 0))
}

fn progress(said: &Mutex<Option<Instant>>, round: u64) {
    let Ok(mut said) = said.lock() else { return };
    if said.is_none_or(|at| at.elapsed() >= Duration::from_millis(500)) {
        *said = Some(Instant::now());
        let mut out = std::io::stdout();
        let _ = writeln!(out, "round {round}").and_then(|()| out.flush());
    }
}
