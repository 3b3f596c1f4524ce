//! Somebody kills the manager again and again at any moment while programs of all kinds run. No
//! program dies or stalls, and results are the same as always. After each restart everybody has the
//! same processors as before, and nobody shares.

use super::cgroups::allowed;
use super::manager::{Manager, Program};
use super::patience::soon;
use super::{Guest, Scenario};
use anyhow::{Result, ensure};
use numaestro_abi::control::Status;
use numaestro_topology::CpuSet;
use std::time::Duration;

/// See [`super::TOPICS`].
pub const SCENARIOS: &[Scenario] =
    &[Scenario { name: "restart-killed-again-and-again", guests: &["two"], run: again_and_again }];

/// In an emulated machine a start takes a second.
const KILLS: u64 = 6;

fn again_and_again(_: &Guest) -> Result<()> {
    let settings = "cgroups = \"off\"\n";
    let mut manager = Manager::start(settings, &[])?;
    let fold = ["guest-load", "--threads", "3", "--mb", "1", "--seconds", "600"];
    let programs = [
        manager.run(&[], &fold)?,
        manager.run(&[], &["sor", "--size", "96", "--reps", "10000000", "--json"])?,
        manager.run(&[], &["sh", "-c", "sor --size 96 --reps 10000000 --json; true"])?,
    ];
    let look = || manager.status();
    // The shell takes no shim here (it is linked statically), and its children belong to it.
    soon("three programs", look, |status| status.apps.len() == programs.len())?;
    at_rest(&manager, &programs)?;
    for kill in 0..KILLS {
        // Not always at rest: every third time something has just changed.
        let guest = (kill % 3 == 2).then(|| manager.run(&[], &fold)).transpose()?;
        if let Some(guest) = &guest {
            // A command that finds no manager would start one, and then there would be two
            // managers.
            manager.app(guest.pid())?;
        }
        std::thread::sleep(Duration::from_millis(37 * kill));
        // The manager gives programs without a shim the processors that it sees them use, so only
        // the very last picture counts.
        let before = held(&manager.status()?);
        manager.kill()?;
        let directory = manager.directory().to_owned();
        manager = Manager::again(directory, settings, &[])?;
        if let Some(mut guest) = guest {
            guest.kill();
        } else {
            let after = held(&manager.status()?);
            ensure!(after == before, "kill {kill}: they had {before:?}, and now {after:?}");
        }
        at_rest(&manager, &programs)?;
    }
    for program in programs {
        ensure!(!program.output().contains("wrong"), "{}", program.output());
    }
    Ok(())
}

/// The processors of each program, by process.
fn held(status: &Status) -> Vec<(u32, String)> {
    let own = status.apps.iter().filter(|app| app.state != "wrapper");
    own.map(|app| (app.pid, app.cpus.clone())).collect()
}

/// Waits until nothing moves and nobody shares.
fn at_rest(manager: &Manager, programs: &[Program]) -> Result<()> {
    let look = || {
        let own = held(&manager.status()?);
        own.into_iter().map(|(pid, cpus)| Ok((cpus, allowed(pid)?.to_string()))).collect::<Result<Vec<_>>>()
    };
    let rest = |rows: &Vec<(String, String)>| {
        let sets: Vec<CpuSet> = rows.iter().filter_map(|(cpus, _)| cpus.parse().ok()).collect();
        let apart = sets.iter().enumerate().all(|(at, set)| sets[at + 1..].iter().all(|other| !set.intersects(other)));
        let all: usize = sets.iter().map(CpuSet::len).sum();
        rows.len() == programs.len() && apart && all == 8 && rows.iter().all(|(said, is)| said == is)
    };
    soon("everybody has processors of their own, all are used, and the kernel agrees", look, rest)
}
