//! Checks that the guest has the shape that was asked for, as the kernel and as `numaestro topo`
//! see it.

use super::{Guest, Scenario, kernel};
use anyhow::{Context, Result, ensure};
use numaestro_topology::{CpuSet, Machine, MemTree, NumaNodeId};
use std::process::Command;

const EVERYWHERE: &[&str] = &["four", "two", "odd"];

/// See [`super::TOPICS`].
pub const SCENARIOS: &[Scenario] = &[
    Scenario { name: "shape-is-what-was-asked-for", guests: EVERYWHERE, run: kernel_sees_it },
    Scenario { name: "shape-is-read-as-the-kernel-has-it", guests: EVERYWHERE, run: reader_sees_it },
    Scenario { name: "shape-is-drawn-by-topo", guests: EVERYWHERE, run: topo_draws_it },
    Scenario { name: "shape-doctor-finds-its-way", guests: EVERYWHERE, run: doctor_works },
];

fn nodes(guest: &Guest) -> impl Iterator<Item = (usize, &crate::shape::Node)> {
    guest.shape.nodes.iter().enumerate()
}

fn kernel_sees_it(guest: &Guest) -> Result<()> {
    let online = kernel::list("/sys/devices/system/node/online")?;
    let expected: CpuSet = nodes(guest).map(|(i, _)| i as u32).collect();
    ensure!(online == expected, "nodes {online} are online, {expected} were asked for");
    for (i, node) in nodes(guest) {
        let cpus = kernel::node_cpus(i as u32)?;
        let asked: CpuSet = node.cpus.iter().copied().collect();
        ensure!(cpus == asked, "node {i} has the processors {cpus}, {asked} were asked for");
        let distances = kernel::text(format!("/sys/devices/system/node/node{i}/distance"))?;
        let asked: Vec<String> = nodes(guest).map(|(to, _)| guest.shape.distance(i, to).to_string()).collect();
        ensure!(distances.split_whitespace().eq(asked.iter()), "node {i}: distances {distances}, asked for {asked:?}");
    }
    Ok(())
}

fn this_machine() -> Result<(Machine, MemTree)> {
    let tree = crate::record::collect("")?;
    Ok((numaestro_topology::sysfs::read(&tree, None)?, tree))
}

fn reader_sees_it(guest: &Guest) -> Result<()> {
    let (machine, _) = this_machine()?;
    ensure!(machine.pu_count() as u32 == guest.shape.pu_count(), "{} PUs", machine.pu_count());
    let asked: Vec<_> = nodes(guest).collect();
    ensure!(machine.numa_nodes().len() == asked.len(), "{} nodes:\n{machine}", machine.numa_nodes().len());
    for (position, (i, node)) in asked.iter().enumerate() {
        let seen = &machine.numa_nodes()[position];
        ensure!(seen.os_index as usize == *i, "node {i} is called {}", seen.os_index);
        let cpus = machine.os_cpuset(&seen.pus);
        ensure!(cpus.iter().eq(node.cpus.iter().copied()), "node {i} has {cpus}:\n{machine}");
        let megabytes = seen.memory_bytes.context("no word of memory")? >> 20;
        // The kernel keeps some memory for itself, but a node cannot have more than it was given.
        let plausible = megabytes <= node.memory_mb && megabytes * 2 >= node.memory_mb;
        ensure!(plausible, "node {i} has {megabytes} MB of {}", node.memory_mb);
        for (other, (to, _)) in asked.iter().enumerate() {
            let distance = machine.node_distance(NumaNodeId(position as u32), NumaNodeId(other as u32));
            ensure!(distance == guest.shape.distance(*i, *to), "{distance} from {i} to {to}");
        }
    }
    Ok(())
}

fn topo_draws_it(_: &Guest) -> Result<()> {
    let output = Command::new("numaestro").arg("topo").output()?;
    ensure!(output.status.success(), "{}: {}", output.status, String::from_utf8_lossy(&output.stderr));
    let drawn = String::from_utf8_lossy(&output.stdout);
    let expected = this_machine()?.0.to_string();
    ensure!(drawn == expected, "drawn:\n{drawn}\nexpected:\n{expected}");
    Ok(())
}

fn doctor_works(guest: &Guest) -> Result<()> {
    let output = Command::new("numaestro").args(["doctor", "--json"]).output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let _: serde_json::Value = serde_json::from_str(&text).with_context(|| format!("no JSON: {text}"))?;
    let output = Command::new("numaestro").arg("doctor").output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let count = nodes(guest).count();
    ensure!(text.contains(&format!("{count} NUMA node")), "no word of {count} nodes:\n{text}");
    Ok(())
}
