//! Managers are killed at random moments, in the middle of turns and while `run`s wait, and the
//! next ones take over. After the last one's `stop` every thread of every program may run where it
//! might without us, as the kernel says, and nobody is stopped.
//!
//! `NUMAESTRO_TEST_ROUNDS=1000` for the long form, `NUMAESTRO_TEST_SEED` for other moments.

mod support;

use numaestro_host::socket;
use numaestro_skip::skip;
use rustix::process::Signal;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use support::crowd::Crowd;
use support::manager::{Manager, NUMAESTRO};
use support::{Dice, eventually, number, processors};

/// With turns, with counts that follow what programs measure, and with a queue.
const POLICIES: [&str; 6] = ["rr", "ssw-dss", "sw-dss", "vtq-dss", "pdpa", "admission=fifo"];
/// Longest wait for programs to start: one that waits in a queue does not.
const STARTED: Duration = Duration::from_secs(3);
const BUSY: &str = "while :; do :; done";
const FAMILY: &str = "sleep 3600 & (setsid sleep 3600 > /dev/null &); while :; do :; done";

/// The process that listens in a manager's directory.
fn listener(manager: &Manager) -> Option<u32> {
    let stream = UnixStream::connect(manager.dir().join("control")).ok()?;
    socket::peer(stream.as_fd()).ok().map(|peer| peer.pid)
}

fn command(manager: &Manager, dice: &mut Dice) -> Command {
    let inner = format!("exec {NUMAESTRO} run -- sh -c '{BUSY}'");
    let (options, words): (&[&str], &[&str]) = match dice.roll(6) {
        0 => (&[], &["sleep", "3600"]),
        1 => (&[], &["sh", "-c", FAMILY]),
        2 => (&[], &["sh", "-c", &inner]),
        3 => (&["--wait", "--min", "2"], &["sh", "-c", BUSY]),
        4 => (&["--wait"], &["sh", "-c", BUSY]),
        _ => (&[], &["sh", "-c", BUSY]),
    };
    let mut command = manager.command(["run"]);
    command.args(options).arg("--").args(words);
    command
}

/// Says what a `run` that has come late has started, too.
fn stop(manager: &Manager, crowd: &Crowd) -> (u32, String) {
    let mut said = String::new();
    for stops in 1..=50 {
        let output = manager.command(["stop"]).stdin(Stdio::null()).output().expect("the command runs");
        said.push_str(&String::from_utf8_lossy(&[output.stdout, output.stderr].concat()));
        // Those that were told of the end become their programs.
        assert!(eventually(|| listener(manager).is_some() || crowd.commands().is_empty()), "a `run` waits for ever");
        if output.status.success() && listener(manager).is_none() {
            return (stops, said);
        }
    }
    panic!("it does not end: {said}");
}

#[test]
fn whoever_is_killed_every_mask_is_whole_after_stop() {
    if processors() < 2 {
        skip!("one processor only");
    }
    let (rounds, mut kills, mut stops, mut threads, mut waited) = (number("NUMAESTRO_TEST_ROUNDS", 4), 0, 0, 0, 0);
    for round in 0..rounds {
        let mut dice = Dice::new(1000 + round);
        let policy = POLICIES[round as usize % POLICIES.len()];
        let (manager, mut crowd) = (Manager::started(), Crowd::new(&format!("kept-{round}")));
        let set = manager.command(["policy", "set", policy]).output().expect("the command runs");
        assert!(set.status.success(), "{policy}: {set:?}");
        for _ in 0..=dice.roll(2) {
            for _ in 0..=dice.roll(2) {
                crowd.add(&mut command(&manager, &mut dice));
                std::thread::sleep(dice.time(Duration::from_millis(40)));
            }
            // Some are in the middle of turns, some wait for their first.
            if dice.roll(2) == 0 {
                let until = Instant::now() + STARTED;
                while !crowd.commands().is_empty() && Instant::now() < until {
                    std::thread::sleep(Duration::from_millis(20));
                }
            }
            let most = [5, 100, 600][dice.roll(3) as usize];
            std::thread::sleep(dice.time(Duration::from_millis(most)));
            if let Some(pid) = listener(&manager) {
                Manager::signal(pid, Signal::KILL);
                kills += 1;
            }
            if dice.roll(2) == 0 {
                crowd.add(&mut manager.run_command(["true"]));
            }
        }
        if dice.roll(2) == 0 {
            std::thread::sleep(dice.time(Duration::from_millis(1500)));
        }
        waited += crowd.commands().len();
        let (times, said) = stop(&manager, &crowd);
        let context = format!("round {round}, {policy}, after {kills} kills: {said}");
        crowd.expect_whole(&context);
        assert!(!said.contains("bound"), "{context}: nobody has bound anything");
        assert!(crowd.stopped().is_empty(), "{context}: {:?} are stopped", crowd.stopped());
        (stops, threads) = (stops + times, threads + crowd.threads());
    }
    eprintln!("{rounds} rounds, {kills} kills, {waited} `run`s waited, {stops} stops, {threads} threads: all whole");
}
