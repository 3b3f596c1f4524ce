//! The manager is killed at random moments, again and again, while programs of all kinds run: none
//! dies, none is slowed down to a stop, each has afterwards what it had before, nobody shares, and
//! the results are what they always are. `NUMAESTRO_TEST_KILLS=100` for the long form.

mod support;

use numaestro_abi::control::{AppStatus, Status};
use numaestro_skip::skip;
use numaestro_topology::CpuSet;
use rustix::process::Signal;
use std::time::Duration;
use support::ended::{self, gone};
use support::manager::{Manager, alone};
use support::programs::any;
use support::{Dice, eventually, number, processors};

fn cpus(app: &AppStatus) -> CpuSet {
    app.cpus.parse().unwrap_or_default()
}

/// Those that hold processors, by process.
fn owners(status: &Status) -> Vec<(u32, CpuSet)> {
    let own = status.apps.iter().filter(|app| app.state != "wrapper" && app.state != "waiting");
    let mut own: Vec<_> = own.map(|app| (app.pid, cpus(app))).collect();
    own.sort_by_key(|(pid, _)| *pid);
    own
}

/// Everybody has some, all are used, nobody shares.
fn is_right(owners: &[(u32, CpuSet)], programs: usize) -> bool {
    let apart = owners
        .iter()
        .enumerate()
        .all(|(at, (_, set))| owners[at + 1..].iter().all(|(_, other)| !set.intersects(other)));
    let all: usize = owners.iter().map(|(_, set)| set.len()).sum();
    owners.len() == programs && apart && all == processors() && owners.iter().all(|(_, set)| !set.is_empty())
}

/// Where the kernel lets its threads be.
fn kernel_says(pid: u32) -> CpuSet {
    numaestro_host::affinity::of_process(pid).unwrap_or_default()
}

#[test]
fn killed_again_and_again() {
    if processors() < 2 {
        skip!("one processor only");
    }
    let path = any("inside");
    let manager = Manager::started();
    let kills = number("NUMAESTRO_TEST_KILLS", 10);
    // Long enough for all of it; ended by a signal at the end, but for the short ones that are
    // checked to the last word.
    let shell = ["sh", "-c", "while :; do :; done"];
    let programs = [
        ended::start(&mut manager.run_command([path.as_str(), "3600"])),
        ended::start(&mut manager.run_command(shell)),
    ];
    let expected = ended::run(&mut alone([path.as_str(), "0"])).stdout;
    let mut before = Vec::new();
    let settle = |before: &mut Vec<(u32, CpuSet)>| {
        eventually(|| {
            let Some(status) = manager.status() else { return false };
            *before = owners(&status);
            is_right(before, programs.len()) && before.iter().all(|(pid, set)| kernel_says(*pid) == *set)
        })
    };
    assert!(settle(&mut before), "never at rest: {:#?}", manager.status());
    let mut dice = Dice::new(7);
    for kill in 0..kills {
        // Every third time somebody is just coming, or going.
        let moving = kill % 3 == 2;
        let short = moving.then(|| ended::start(&mut manager.run_command([path.as_str(), "0.3"])));
        std::thread::sleep(dice.time(Duration::from_millis(120)));
        let pid = manager.pid();
        Manager::signal(pid, Signal::KILL);
        assert!(gone(pid, support::hang()), "kill {kill}: the manager does not die");
        assert!(manager.run(["true"]).status.success(), "kill {kill}: the next start");
        let next = manager.pid();
        assert!(next != 0 && next != pid, "kill {kill}: no new manager");
        if !moving {
            let mut after = Vec::new();
            // The short `true` may still be leaving.
            let same = eventually(|| {
                after = manager.status().map(|status| owners(&status)).unwrap_or_default();
                after == before
            });
            assert!(same, "kill {kill}: they had {before:?}, and now {after:?}");
        }
        if let Some(short) = short {
            short.end().expect(&format!("the short one of kill {kill}"), &expected);
        }
        assert!(settle(&mut before), "kill {kill}: not at rest again: {:#?}", manager.status());
    }
    for program in programs {
        assert!(!gone(program.pid(), Duration::ZERO), "a program has died");
        program.signal(Signal::KILL);
        let _ = program.end();
    }
    manager.expect_all_free();
}
