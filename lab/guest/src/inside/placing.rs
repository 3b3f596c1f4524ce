//! `numaestro run` places programs, and the kernel confirms it; their memory can be looked at.

use super::manager::{Manager, Program};
use super::patience::soon;
use super::{Guest, Scenario, kernel};
use anyhow::{Context, Result, ensure};
use numaestro_topology::CpuSet;
use std::process::Command;

const EVERYWHERE: &[&str] = &["four", "two", "odd"];

/// See [`super::TOPICS`].
pub const SCENARIOS: &[Scenario] = &[
    Scenario { name: "placing-two-programs-apart", guests: EVERYWHERE, run: two_apart },
    Scenario { name: "placing-openmp-resized-with-the-same-result", guests: EVERYWHERE, run: openmp_keeps_its_result },
    Scenario { name: "placing-memory-is-seen-by-node", guests: EVERYWHERE, run: memory_is_seen },
    Scenario { name: "placing-a-killed-manager-lets-programs-go-on", guests: &["two"], run: manager_dies },
];

/// The processors on which any thread of a process may run.
fn allowed(pid: u32) -> Result<CpuSet> {
    let threads = kernel::threads(pid)?;
    ensure!(!threads.is_empty(), "process {pid} has no threads");
    let mut all = CpuSet::new();
    for thread in threads {
        all.or_with(&thread.allowed);
    }
    Ok(all)
}

const LOAD: [&str; 7] = ["guest-load", "--threads", "2", "--mb", "2", "--seconds", "600"];

fn two_apart(guest: &Guest) -> Result<()> {
    let manager = Manager::start("", &[])?;
    let mut first = manager.run(&[], &LOAD)?;
    first.says("round 1")?;
    manager.app(first.pid())?;
    let mut second = manager.run(&[], &LOAD)?;
    second.says("round 1")?;
    manager.app(second.pid())?;
    let look = || Ok((allowed(first.pid())?, allowed(second.pid())?));
    let half = guest.shape.pu_count() as usize / 2;
    soon("each program has processors of its own", look, |(a, b)| {
        !a.intersects(b) && !a.is_empty() && !b.is_empty() && a.len() + b.len() >= 2 * half
    })?;
    // The kernel has the same sets as the manager.
    let look = || {
        let status = manager.status_by_command()?;
        let of = |pid: u32| status.apps.iter().find(|app| app.pid == pid).map(|app| app.cpus.clone());
        Ok((of(first.pid()), allowed(first.pid())?.to_string()))
    };
    soon("status and kernel agree", look, |(said, is)| said.as_ref() == Some(is))?;
    // When one program has gone, the other has all processors.
    first.kill();
    let all = guest.shape.pu_count() as usize;
    soon("the one that is left has the machine", || allowed(second.pid()), |set| set.len() == all)
}

fn openmp_keeps_its_result(_: &Guest) -> Result<()> {
    let checksum = |text: &str| -> Result<String> {
        let value: serde_json::Value = serde_json::from_str(text.trim()).with_context(|| text.to_owned())?;
        ensure!(value["verification"] == "ok", "{text}");
        Ok(value["checksum"].to_string())
    };
    let words = ["sor", "--size", "96", "--reps", "25", "--json"];
    let mut command = Command::new(words[0]);
    command.args(&words[1..]).env("OMP_NUM_THREADS", "1");
    let alone = checksum(&Program::start(command, None)?.finish()?)?;
    let manager = Manager::start("", &[])?;
    let other = manager.run(&[], &LOAD)?;
    manager.app(other.pid())?;
    let result = checksum(&manager.run(&[], &words)?.finish()?)?;
    ensure!(alone == result, "the result is {result}, and {alone} without numaestro");
    Ok(())
}

fn memory_is_seen(_: &Guest) -> Result<()> {
    const MB: u64 = 1 << 20;
    let manager = Manager::start("", &[])?;
    let mut program =
        manager.run(&["--max", "1"], &["guest-load", "--threads", "1", "--mb", "16", "--seconds", "600"])?;
    program.says("round 1")?;
    let bytes = kernel::bytes_by_node(program.pid(), true)?;
    let sum: u64 = bytes.values().sum();
    ensure!((16 * MB..32 * MB).contains(&sum), "16 MB were touched, numa_maps says {bytes:?}");
    Ok(())
}

fn manager_dies(_: &Guest) -> Result<()> {
    let mut manager = Manager::start("", &[])?;
    let mut program = manager.run(&[], &["guest-load", "--threads", "2", "--mb", "2", "--rounds", "200"])?;
    program.says("round 1")?;
    manager.kill()?;
    let output = program.finish()?;
    ensure!(output.contains("checksum"), "{output}");
    let mut command = Command::new("guest-load");
    command.args(["--threads", "2", "--mb", "2", "--rounds", "3"]);
    let alone = Program::start(command, None)?.finish()?;
    let last = |text: &str| text.lines().last().map(str::to_owned);
    ensure!(last(&output) == last(&alone), "{output}\nis not what it is without numaestro:\n{alone}");
    Ok(())
}
