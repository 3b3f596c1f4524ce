//! How long it takes to stop and to continue all threads of a program:
//! `stop_and_go [THREADS] [ROUNDS] [spin|sleep]`, microseconds.
//!
//! The program is this one again, as a child.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use numaestro_host::stop::{Group, Outcome, Stopper, prefer_short};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    let argument = |index: usize, default: usize| arguments.get(index).map_or(Ok(default), |text| text.parse());
    let (threads, rounds) = (argument(1, 64)?.max(1), argument(2, 500)?.max(1));
    let spin = arguments.get(3).is_none_or(|text| text == "spin");
    if arguments.get(4).is_some_and(|text| text == "child") {
        crowd(threads, spin);
    }
    let mut command = Command::new(std::env::current_exe()?);
    command
        .args([threads.to_string().as_str(), "0", if spin { "spin" } else { "sleep" }, "child"])
        .stdout(Stdio::piped());
    numaestro_host::children::end_with_parent(&mut command, rustix::process::Signal::KILL);
    let mut child = command.spawn()?;
    let output = child.stdout.take().ok_or("no output")?;
    BufReader::new(output).read_line(&mut String::new())?;
    prefer_short();
    let stopper = Stopper::start()?;
    let group = || Group { root: child.id(), tree: None };
    let (mut stops, mut goes, mut seen) = (Vec::new(), Vec::new(), 0);
    for _ in 0..rounds {
        let begun = Instant::now();
        let outcome = stopper.stop(1, group());
        stops.push(begun.elapsed().as_micros());
        let Outcome::Stopped(tally) = outcome else { return Err(format!("{outcome:?}").into()) };
        seen = tally.threads;
        let begun = Instant::now();
        stopper.resume(1);
        // A stop of nobody is answered after everything before it is done.
        stopper.stop(2, Group { root: 0, tree: None });
        goes.push(begun.elapsed().as_micros());
        stopper.resume(2);
        std::thread::sleep(Duration::from_millis(5));
    }
    child.kill()?;
    child.wait()?;
    for (what, mut taken) in [("stop", stops), ("continue", goes)] {
        taken.sort_unstable();
        println!("{what} {seen} threads: p50 {} us, p99 {} us", taken[rounds / 2], taken[rounds * 99 / 100]);
    }
    Ok(())
}

fn crowd(threads: usize, spin: bool) -> ! {
    // Programs and manager are of different sessions, which the scheduler may treat as groups.
    let _ = rustix::process::setsid();
    let rest = move || loop {
        if spin {
            std::hint::spin_loop();
        } else {
            std::thread::park();
        }
    };
    for _ in 1..threads {
        std::thread::spawn(rest);
    }
    println!("ready");
    rest()
}
