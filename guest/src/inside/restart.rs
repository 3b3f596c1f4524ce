//! The manager is killed again and again at any moment while programs of all kinds run: none dies or stalls, results are what they always are, and after
//! each restart everybody has what they had and nobody shares.

use super::cgroups::allowed;
use super::manager::{Manager, Program};
use super::patience::soon;
use super::{Guest, Scenario};
use anyhow::{Result, ensure};
use numaestro_topology::CpuSet;
use std::time::Duration;

/// See [`super::TOPICS`].
pub const SCENARIOS: &[Scenario] =
    &[Scenario { name: "restart-killed-again-and-again", guests: &["four", "two"], run: again_and_again }];

/// In an emulated machine a start takes a second.
const KILLS: u64 = 12;

fn again_and_again(_: &Guest) -> Result<()> {
    let settings = "cgroups = \"off\"\n";
    let mut manager = Manager::start(settings, &[])?;
    let fold = ["guest-load", "--threads", "3", "--mb", "1", "--seconds", "600"];
    let programs = [
        manager.run(&[], &fold)?,
        manager.run(&[], &["sor", "--size", "96", "--reps", "10000000", "--json"])?,
        manager.run(&[], &["sh", "-c", "sor --size 96 --reps 10000000 --json; true"])?,
    ];
    let look = || manager.status_at_once();
    // The shell takes no shim here (it is linked statically), and what is inside belongs to it.
    soon("three programs", look, |status| status.apps.len() == programs.len())?;
    let mut before = owners(&manager, &programs)?;
    for kill in 0..KILLS {
        // Not always at rest: every third time something has just changed.
        let guest = (kill % 3 == 2).then(|| manager.run(&[], &fold)).transpose()?;
        std::thread::sleep(Duration::from_millis(37 * kill));
        manager.kill()?;
        let directory = manager.directory().to_owned();
        manager = Manager::again(directory, settings, &[])?;
        if let Some(mut guest) = guest {
            guest.kill();
        } else {
            let after = manager.status_at_once()?;
            for (pid, cpus) in &before {
                let now = after.apps.iter().find(|app| app.pid == *pid).map(|app| app.cpus.clone());
                ensure!(now.as_ref() == Some(cpus), "kill {kill}: process {pid} had {cpus}, and now {now:?}");
            }
        }
        before = owners(&manager, &programs)?;
    }
    for program in programs {
        ensure!(!program.output().contains("wrong"), "{}", program.output());
    }
    Ok(())
}

/// Who has which processors, once nothing moves and nobody shares: by process.
fn owners(manager: &Manager, programs: &[Program]) -> Result<Vec<(u32, String)>> {
    let look = || {
        let status = manager.status_at_once()?;
        let own = status.apps.iter().filter(|app| app.state != "wrapper");
        own.map(|app| Ok((app.pid, app.cpus.clone(), allowed(app.pid)?.to_string()))).collect::<Result<Vec<_>>>()
    };
    let rest = |rows: &Vec<(u32, String, String)>| {
        let sets: Vec<CpuSet> = rows.iter().filter_map(|(_, cpus, _)| cpus.parse().ok()).collect();
        let apart = sets.iter().enumerate().all(|(at, set)| sets[at + 1..].iter().all(|other| !set.intersects(other)));
        let all: usize = sets.iter().map(CpuSet::len).sum();
        rows.len() == programs.len() && apart && all == 8 && rows.iter().all(|(_, said, is)| said == is)
    };
    soon("everybody has processors of their own, all are used, and the kernel agrees", look, rest)?;
    Ok(look()?.into_iter().map(|(pid, cpus, _)| (pid, cpus)).collect())
}
