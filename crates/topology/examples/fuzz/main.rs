//! Spoils recorded machines and descriptions, and reads them: a reader may refuse, and nothing
//! else.
//!
//! `cargo run --release -p numaestro-topology --example fuzz -- --seconds 60 --seed 1`
//! `… -- --seed 1 --input 4711 --show` makes one input again and prints it.
//!
//! A finding is a panic, more memory than what is read can need, a machine that is not in order, or
//! more than a minute.

mod invariants;
mod mutation;
mod seeds;
mod trial;

use seeds::Seeds;
use std::io::Write;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use trial::{Input, Outcome};

const SECONDS_MAX: u64 = 60;

#[derive(Debug)]
struct Options {
    seconds: u64,
    seed: u64,
    input: Option<u64>,
    show: bool,
}

fn options() -> Result<Options, String> {
    let mut options = Options { seconds: 10, seed: 1, input: None, show: false };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let mut number = || words.next().and_then(|text| text.parse().ok()).ok_or(format!("{word} needs a number"));
        match word.as_str() {
            "--seconds" => options.seconds = number()?,
            "--seed" => options.seed = number()?,
            "--input" => options.input = Some(number()?),
            "--show" => options.show = true,
            _ => return Err("usage: fuzz [--seconds N] [--seed S] [--input K [--show]]".into()),
        }
    }
    Ok(options)
}

fn main() -> ExitCode {
    let options = match options() {
        Ok(options) => options,
        Err(text) => {
            eprintln!("{text}");
            return ExitCode::from(64);
        }
    };
    let seeds = Seeds::load();
    if let Some(number) = options.input {
        let input = Input::make(&seeds, options.seed, number);
        if options.show {
            // Whoever looks at the beginning only closes the pipe.
            let _ = writeln!(std::io::stdout(), "{}", input.text());
        }
        let outcome = input.judge();
        eprintln!("{outcome:?}");
        return ExitCode::from(u8::from(outcome.is_err()));
    }
    // A finding says what it was; the backtrace of each of thousands would only be in the way.
    std::panic::set_hook(Box::new(|_| ()));
    let current = Arc::new(AtomicU64::new(0));
    watch(Arc::clone(&current), options.seed);
    run(&options, &seeds, &current)
}

fn run(options: &Options, seeds: &Seeds, current: &AtomicU64) -> ExitCode {
    let begun = Instant::now();
    let (mut read, mut refused, mut slowest) = (0_u64, 0_u64, (Duration::ZERO, 0));
    let mut findings: Vec<(u64, String)> = Vec::new();
    let mut number = 0;
    while begun.elapsed() < Duration::from_secs(options.seconds) && findings.len() < 20 {
        current.store(number, Ordering::Relaxed);
        let input = Input::make(seeds, options.seed, number);
        let at = Instant::now();
        match input.judge() {
            Ok(Outcome::Read) => read += 1,
            Ok(Outcome::Refused) => refused += 1,
            Err(reason) => findings.push((number, reason)),
        }
        slowest = slowest.max((at.elapsed(), number));
        number += 1;
    }
    println!(
        "{number} inputs of seed {} in {} s: {read} read, {refused} refused",
        options.seed,
        begun.elapsed().as_secs()
    );
    println!("the slowest took {} ms: --input {}", slowest.0.as_millis(), slowest.1);
    for (number, reason) in &findings {
        println!("--seed {} --input {number}: {reason}", options.seed);
    }
    println!("{} findings", findings.len());
    ExitCode::from(u8::from(!findings.is_empty()))
}

/// Ends everything if one input takes very long.
fn watch(current: Arc<AtomicU64>, seed: u64) {
    std::thread::spawn(move || {
        loop {
            let before = current.load(Ordering::Relaxed);
            std::thread::sleep(Duration::from_secs(SECONDS_MAX));
            if current.load(Ordering::Relaxed) == before {
                println!("--seed {seed} --input {before}: more than {SECONDS_MAX} s");
                std::process::exit(1);
            }
        }
    });
}
