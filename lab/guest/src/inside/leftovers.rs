//! Checks that nothing is left after everything has been stopped: no control group, no socket, no
//! processor or node that a program is kept from, no program that stands still.

use super::manager::{Manager, Program};
use super::patience::soon;
use super::{Guest, Scenario, kernel};
use anyhow::{Result, ensure};
use numaestro_topology::CpuSet;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// See [`super::TOPICS`].
pub const SCENARIOS: &[Scenario] = &[
    Scenario { name: "leftovers-none-after-an-orderly-end", guests: &["odd"], run: orderly },
    Scenario { name: "leftovers-none-after-a-kill-and-a-second-manager", guests: &["two"], run: killed },
];

const LOAD: [&str; 7] = ["guest-load", "--threads", "3", "--mb", "2", "--seconds", "600"];

/// The control groups and the kernel's settings, in which numaestro might leave something behind.
#[derive(Debug, PartialEq, Eq)]
struct World {
    groups: BTreeSet<PathBuf>,
    settings: Vec<String>,
}

impl World {
    fn now() -> Result<Self> {
        let mut groups = BTreeSet::new();
        let mut open = vec![PathBuf::from(kernel::CGROUPS)];
        while let Some(directory) = open.pop() {
            for entry in std::fs::read_dir(&directory)?.flatten().filter(|entry| entry.path().is_dir()) {
                open.push(entry.path());
                groups.insert(entry.path());
            }
        }
        let settings = super::SETTINGS.iter().filter_map(|path| kernel::text(path).ok()).collect();
        Ok(Self { groups, settings })
    }
}

/// Checks that a program may run everywhere, may have memory everywhere, and does run.
fn expect_free(program: &Program, cpus: &CpuSet, nodes: &CpuSet) -> Result<()> {
    let pid = program.pid();
    let what = format!("process {pid} may run anywhere");
    soon(
        &what,
        || kernel::threads(pid),
        |threads| {
            !threads.is_empty()
                && threads.iter().all(|thread| {
                    thread.allowed == *cpus && thread.nodes == *nodes && !matches!(thread.state, 'T' | 't')
                })
        },
    )?;
    let rounds = || Ok(program.output().lines().count());
    let before = rounds()?;
    soon(&format!("process {pid} goes on"), rounds, |now| *now > before + 1)
}

/// Sockets and state files of the manager's directory.
fn traces(directory: &Path) -> Vec<PathBuf> {
    ["attach", "control", "state.json"].iter().map(|name| directory.join(name)).filter(|path| path.exists()).collect()
}

fn start(manager: &Manager) -> Result<Vec<Program>> {
    let mut programs = Vec::new();
    for _ in 0..3 {
        let mut program = manager.run(&[], &LOAD)?;
        program.says("round 1")?;
        manager.app(program.pid())?;
        programs.push(program);
    }
    // The programs are held: else there would be nothing to leave behind.
    for program in &programs {
        let look = || kernel::threads(program.pid());
        let all = kernel::list("/sys/devices/system/cpu/online")?.len();
        soon("a program has a part of the machine", look, |threads| {
            threads.iter().all(|thread| thread.allowed.len() < all)
        })?;
    }
    Ok(programs)
}

fn orderly(_: &Guest) -> Result<()> {
    let before = World::now()?;
    let (cpus, nodes) = own()?;
    let mut count = 0;
    // The manager ends turns too: no program is left standing.
    for policy in ["equi", "HB-Con", "round-robin"] {
        let mut manager = Manager::start(&format!("policy = \"{policy}\""), &[])?;
        let programs = if policy == "equi" { start(&manager)? } else { some(&manager)? };
        manager.stop()?;
        for program in &programs {
            expect_free(program, &cpus, &nodes)?;
        }
        count += programs.len();
        let left = traces(manager.directory());
        ensure!(left.is_empty(), "{policy}: {left:?} are still there");
        drop(programs);
        let after = World::now()?;
        ensure!(before == after, "{policy}: it was {before:?}, and is {after:?}");
    }
    println!("measured: {count} programs under 3 policies run on alone; nothing of the manager is left");
    Ok(())
}

/// Programs that have begun, as many as the policy lets run at once.
fn some(manager: &Manager) -> Result<Vec<Program>> {
    let mut programs = Vec::new();
    for _ in 0..2 {
        let program = manager.run(&["--max", "2"], &LOAD)?;
        manager.app(program.pid())?;
        programs.push(program);
    }
    for program in &mut programs {
        program.says("round 1")?;
    }
    Ok(programs)
}

/// The processors and nodes that this process may use: so may its children, but for numaestro.
fn own() -> Result<(CpuSet, CpuSet)> {
    let threads = kernel::threads(std::process::id())?;
    let first = threads.first().map(|thread| (thread.allowed.clone(), thread.nodes.clone()));
    first.ok_or_else(|| anyhow::anyhow!("this process has no threads"))
}

fn killed(_: &Guest) -> Result<()> {
    let before = World::now()?;
    let (cpus, nodes) = own()?;
    let mut first = Manager::start("", &[])?;
    let programs = start(&first)?;
    let directory = first.directory().to_owned();
    first.kill()?;
    // The next manager takes over the applications of the first one, and ends in order.
    let mut second = Manager::again(directory, "", &[])?;
    for program in &programs {
        second.app(program.pid())?;
    }
    second.stop()?;
    for program in &programs {
        expect_free(program, &cpus, &nodes)?;
    }
    let left = traces(second.directory());
    ensure!(left.is_empty(), "{left:?} are still there");
    drop(programs);
    let after = World::now()?;
    ensure!(before == after, "it was {before:?}, and is {after:?}");
    Ok(())
}
