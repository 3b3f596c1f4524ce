//! A program for tests that knows nothing of a manager: `busy THREADS SECONDS [COMMAND...]` starts
//! the command, keeps so many threads busy for so long, and waits for the command. With 0 threads
//! it only waits.

use std::process::Command;
use std::time::{Duration, Instant};

fn main() {
    let mut words = std::env::args().skip(1);
    let mut number =
        || words.next().and_then(|word| word.parse::<u64>().ok()).expect("busy THREADS SECONDS [COMMAND...]");
    let (threads, seconds) = (number(), Duration::from_secs(number()));
    let command: Vec<String> = words.collect();
    let child = command.split_first().map(|(program, rest)| Command::new(program).args(rest).spawn().expect("started"));
    let begun = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while begun.elapsed() < seconds {
                    std::hint::spin_loop();
                }
            });
        }
    });
    if let Some(mut child) = child {
        let _ = child.wait();
    }
}
