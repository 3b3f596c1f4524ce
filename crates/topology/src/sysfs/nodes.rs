//! Reads NUMA nodes: local processors, memory and distances.

use super::source::{NODE, Source};
use crate::assembly::{Raw, limit, nearest_is_itself};
use crate::error::TopologyError;
use crate::machine::NUMA_NODES_MAX;
use crate::set::CpuSet;
use std::collections::BTreeMap;

/// Fills nodes and distances of `raw`; gives the node of each processor that is in one.
pub(super) fn read(source: &Source<'_>, online: &CpuSet, raw: &mut Raw) -> Result<BTreeMap<u32, u32>, TopologyError> {
    let nodes = source.numbered(NODE, "node");
    limit("NUMA nodes", nodes.len(), NUMA_NODES_MAX)?;
    let mut node_of = BTreeMap::new();
    for node in &nodes {
        raw.nodes.insert(node, memory(source, node)?);
        for cpu in &cpus(source, node)?.intersection(online) {
            if let Some(other) = node_of.insert(cpu, node) {
                let problem = format!("processor {cpu} is also in node {other}");
                return Err(TopologyError::inconsistent(format!("{NODE}/node{node}/cpulist"), problem));
            }
        }
        for (to, distance) in distances(source, node, &nodes)? {
            raw.distances.insert((node, to), distance);
        }
    }
    Ok(node_of)
}

fn cpus(source: &Source<'_>, node: u32) -> Result<CpuSet, TopologyError> {
    let path = format!("{NODE}/node{node}/cpulist");
    let found = source.list_or_mask(&path, &format!("{NODE}/node{node}/cpumap"))?;
    found.ok_or(TopologyError::Missing { path, expected: "a list of processors such as 0-3" })
}

/// From the line `Node 0 MemTotal:  5466324 kB`.
fn memory(source: &Source<'_>, node: u32) -> Result<Option<u64>, TopologyError> {
    let path = format!("{NODE}/node{node}/meminfo");
    let Some(text) = source.text(&path) else { return Ok(None) };
    let line = text.lines().find(|line| line.contains("MemTotal:")).unwrap_or(&text);
    let mut words = line.split_whitespace().skip_while(|word| *word != "MemTotal:").skip(1);
    let bytes = match (words.next().and_then(|word| word.parse::<u64>().ok()), words.next()) {
        (Some(kilobytes), Some("kB")) => kilobytes.checked_mul(1024),
        _ => None,
    };
    bytes.map(Some).ok_or_else(|| TopologyError::garbage(path, "a line \"Node N MemTotal: … kB\"", line))
}

/// One number for each online node, in rising order of their OS indices.
fn distances(source: &Source<'_>, node: u32, nodes: &CpuSet) -> Result<Vec<(u32, u32)>, TopologyError> {
    let path = format!("{NODE}/node{node}/distance");
    let Some(text) = source.text(&path) else { return Ok(Vec::new()) };
    let row: Option<Vec<u32>> = text.split_whitespace().map(|word| word.parse().ok()).collect();
    match row {
        Some(row) if row.len() == nodes.len() => {
            let row: Vec<(u32, u32)> = nodes.iter().zip(row).collect();
            nearest_is_itself(&path, node, row.iter().copied())?;
            Ok(row)
        }
        _ => Err(TopologyError::garbage(path, format!("{} distances, one for each node", nodes.len()), &text)),
    }
}
