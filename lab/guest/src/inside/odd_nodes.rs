//! Nodes with only memory and nodes without any. Programs run, and homes are nodes with processors.
//! Memory that does not fit goes to the nearest node that has some, at last to the one without
//! processors.

use super::manager::{Manager, Program};
use super::neighbours::{nodes, processors};
use super::patience::{soon, until};
use super::{Guest, Scenario, kernel};
use anyhow::{Context, Result, ensure};
use std::collections::BTreeMap;
use std::time::Duration;

/// See [`super::TOPICS`].
pub const SCENARIOS: &[Scenario] = &[
    Scenario { name: "odd-homes-are-nodes-with-processors", guests: &["odd"], run: homes },
    Scenario { name: "odd-what-does-not-fit-goes-to-the-nearest-memory", guests: &["odd"], run: spill },
];

const MIB: u64 = 1 << 20;
const PATIENCE: Duration = Duration::from_mins(2);

/// Free bytes of a node.
fn free(node: u32) -> Result<u64> {
    let text = kernel::text(format!("/sys/devices/system/node/node{node}/meminfo"))?;
    let line = text.lines().find_map(|line| line.split_once("MemFree:")).context("no MemFree")?.1;
    let kilobytes: u64 = line.split_whitespace().next().unwrap_or_default().parse()?;
    Ok(kilobytes * 1024)
}

/// Nodes with memory, nearest to `node` first.
fn by_distance(guest: &Guest, node: u32) -> Result<Vec<u32>> {
    let mut all: Vec<u32> = kernel::list("/sys/devices/system/node/has_memory")?.iter().collect();
    all.sort_by_key(|other| (guest.shape.distance(node as usize, *other as usize), *other));
    Ok(all)
}

fn one(manager: &Manager, threads: u32, mb: u64) -> Result<Program> {
    let (threads, mb) = (threads.to_string(), mb.to_string());
    let load = ["guest-load", "--threads", &threads, "--mb", &mb, "--seconds", "600"];
    let mut program = manager.run(&["--max", &threads], &load)?;
    manager.app(program.pid())?;
    until(
        "it has touched its memory",
        PATIENCE,
        || Ok(program.output()),
        |text| text.contains("round 1").then_some(()),
    )?;
    ensure!(program.ended()?.is_none(), "{}", program.output());
    Ok(program)
}

/// Bytes of the large mappings of a program, by node.
fn bytes(pid: u32) -> Result<BTreeMap<u32, u64>> {
    let mut out = BTreeMap::new();
    for mapping in kernel::mappings(pid)?.iter().filter(|mapping| mapping.what.is_empty()) {
        if mapping.bytes.values().sum::<u64>() >= MIB {
            mapping.bytes.iter().for_each(|(node, more)| *out.entry(*node).or_insert(0) += more);
        }
    }
    Ok(out)
}

fn homes(guest: &Guest) -> Result<()> {
    let manager = Manager::start("policy = \"HB-Con\"", &[])?;
    let with_processors = nodes()?;
    let mut programs = Vec::new();
    // As many programs as there are nodes with processors, the widest first: each must get one of
    // these for itself.
    let mut widths: Vec<u32> = with_processors.values().map(|cpus| cpus.len() as u32).collect();
    widths.sort_unstable_by(|a, b| b.cmp(a));
    for width in &widths {
        programs.push(one(&manager, *width, 4)?);
    }
    let pids: Vec<u32> = programs.iter().map(Program::pid).collect();
    let look = || pids.iter().map(|pid| processors(*pid)).collect::<Result<Vec<_>>>();
    soon("each has a node of its own, all of it", look, |sets| {
        with_processors.values().all(|node| sets.iter().filter(|set| *set == node).count() == 1)
    })?;
    for pid in pids {
        let mine = processors(pid)?;
        let (home, _) = with_processors.iter().find(|(_, node)| **node == mine).context("no node")?;
        let nearest = by_distance(guest, *home)?[0];
        let bytes = bytes(pid)?;
        let sum: u64 = bytes.values().sum();
        let there = bytes.get(&nearest).copied().unwrap_or(0);
        ensure!(
            there * 100 >= sum * 98,
            "process {pid} is at home in node {home}, its memory is in {bytes:?} and not in {nearest}"
        );
        println!("measured: {} threads at home in node {home}, memory in node {nearest}", mine.len());
    }
    Ok(())
}

fn spill(guest: &Guest) -> Result<()> {
    let manager = Manager::start("policy = \"HB-Con\"", &[])?;
    // The first home is the largest node; the second program's is then the one with two processors.
    let first = one(&manager, 1, 2)?;
    let probe = one(&manager, 1, 2)?;
    let at = processors(probe.pid())?;
    let home = nodes()?.into_iter().find(|(_, cpus)| at.is_subset(cpus)).context("no node")?.0;
    drop(probe);
    soon("the probe is gone", || manager.status(), |status| status.apps.len() == 1)?;
    let order = by_distance(guest, home)?;
    ensure!(order.len() >= 3, "this guest has too few nodes with memory: {order:?}");
    let before: Vec<u64> = order.iter().map(|node| free(*node)).collect::<Result<_>>()?;
    // More than the two nearest nodes hold, so that a part must go to the farthest.
    let wanted = before[0] + before[1] + before[2] / 4;
    let program = one(&manager, 1, wanted / MIB)?;
    ensure!(
        program.pid() != first.pid() && processors(program.pid())?.is_subset(&nodes()?[&home]),
        "another home this time"
    );
    let found = bytes(program.pid())?;
    let of = |index: usize| found.get(&order[index]).copied().unwrap_or(0);
    let shown: Vec<String> = order
        .iter()
        .enumerate()
        .map(|(i, n)| format!("node {n}: {} of {} MiB free", of(i) / MIB, before[i] / MIB))
        .collect();
    let shown = shown.join(", ");
    for (index, free) in before.iter().enumerate().take(2) {
        // The kernel keeps some memory free for itself; the rest is the page tables of this program
        // and the growth of others.
        ensure!(of(index) * 100 >= free * 75, "not full before the next was begun: {shown}");
    }
    ensure!(of(2) > 0, "nothing went to the farthest: {shown}");
    println!("measured: home in node {home}; {shown}");
    Ok(())
}
