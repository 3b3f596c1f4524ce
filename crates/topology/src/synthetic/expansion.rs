//! Expands levels to PUs: each level's count multiplies the counts before it.

use super::syntax::{Attributes, Kind, Term};
use crate::assembly::{Raw, RawLlc, RawPu, limit};
use crate::error::TopologyError;
use crate::machine::{CoreKind, NUMA_NODES_MAX, PUS_MAX};
use std::cmp::Reverse;

/// Memory of a node without `memory=`, bytes, as in hwloc.
pub(super) const MEMORY_DEFAULT: u64 = 1 << 30;

/// A level with the number of its objects in the whole machine.
#[derive(Debug, Clone, Copy)]
struct Placed<'a> {
    term: &'a Term,
    total: u32,
    /// Levels above it; for an attached node as for the level it is attached to.
    depth: usize,
}

impl Placed<'_> {
    /// The object of this level that holds this PU.
    fn of(&self, pu: u32, pus: u32) -> u32 {
        pu / (pus / self.total)
    }
}

/// Expands the terms.
pub(super) fn raw(terms: &[Term]) -> Result<Raw, TopologyError> {
    let levels = place(terms)?;
    let pus = check_last(terms, &levels)?;
    let find = |kind| levels.iter().find(|level| level.term.kind == kind);
    let package = find(Kind::Package);
    let core = find(Kind::Core);
    let llc = last_level_cache(&levels);
    let nodes: Vec<_> = levels.iter().filter(|level| level.term.kind == Kind::NumaNode).collect();
    let mut raw = Raw::default();
    let local = add_nodes(&nodes, &mut raw)?;
    let pu_level = find(Kind::Pu).map(|level| &level.term.attributes);
    let os = os_indices(pu_level, pus, "PUs")?;
    for pu in 0..pus {
        raw.pus.push(RawPu {
            os_index: os.as_ref().map_or(pu, |os| os[pu as usize]),
            package: package.map_or(0, |level| level.of(pu, pus)),
            node: local.as_ref().map(|(level, os)| os[level.of(pu, pus) as usize]),
            llc: llc.map(|level| level.of(pu, pus)),
            core: core.map_or(pu, |level| level.of(pu, pus)),
            kind: CoreKind::Uniform,
            capacity: None,
        });
    }
    for number in 0..package.map_or(1, |level| level.total) {
        raw.packages.insert(number, number);
    }
    if let Some(llc) = llc {
        let Kind::Cache(level, _) = llc.term.kind else { return Ok(raw) };
        for number in 0..llc.total {
            let known = RawLlc { id: Some(number), level: Some(level), size_bytes: llc.term.attributes.size };
            raw.llcs.insert(number, known);
        }
    }
    Ok(raw)
}

/// Running products; there are as many attached nodes as objects of the level before.
fn place(terms: &[Term]) -> Result<Vec<Placed<'_>>, TopologyError> {
    let mut total: u64 = 1;
    let mut depth = 0;
    let mut levels: Vec<Placed<'_>> = Vec::with_capacity(terms.len());
    for term in terms {
        total = total.saturating_mul(u64::from(term.count.unwrap_or(1)));
        if total > PUS_MAX as u64 {
            return Err(TopologyError::TooLarge {
                what: "synthetic description: processors",
                found: total,
                limit: PUS_MAX as u64,
            });
        }
        let repeated = |level: &Placed<'_>| level.term.kind == term.kind && level.term.count.is_some();
        if term.kind != Kind::Other && term.count.is_some() && levels.iter().any(repeated) {
            return Err(TopologyError::synthetic(term.column, "each level only once", &term.text));
        }
        if levels.iter().any(|level| level.term.kind == Kind::Pu) {
            return Err(TopologyError::synthetic(term.column, "nothing after the PUs", &term.text));
        }
        if levels.iter().any(|level| level.term.kind == Kind::Core) && term.kind == Kind::Package {
            return Err(TopologyError::synthetic(term.column, "packages before cores", &term.text));
        }
        depth += usize::from(term.count.is_some());
        levels.push(Placed { term, total: total as u32, depth });
    }
    Ok(levels)
}

/// The last level must be the PUs; returns their number.
fn check_last(terms: &[Term], levels: &[Placed<'_>]) -> Result<u32, TopologyError> {
    match levels.last() {
        Some(last) if last.term.kind == Kind::Pu => Ok(last.total),
        _ => {
            let column = terms.last().map_or(1, |term| term.column);
            let found = terms.last().map_or("", |term| term.text.as_str());
            Err(TopologyError::synthetic(column, "pu:N as the last level", found))
        }
    }
}

/// The highest-numbered cache level that holds data.
fn last_level_cache<'a, 'b>(levels: &'b [Placed<'a>]) -> Option<&'b Placed<'a>> {
    levels
        .iter()
        .filter_map(|level| match level.term.kind {
            Kind::Cache(number, true) => Some((number, level)),
            _ => None,
        })
        .max_by_key(|(number, _)| *number)
        .map(|(_, level)| level)
}

/// Adds all nodes and gives the local ones with their OS indices: of several kinds the one nearest
/// to the PUs; the others are memory-only.
fn add_nodes<'a, 'b>(
    nodes: &[&'b Placed<'a>],
    raw: &mut Raw,
) -> Result<Option<(&'b Placed<'a>, Vec<u32>)>, TopologyError> {
    limit("NUMA nodes", nodes.iter().map(|level| level.total as usize).sum(), NUMA_NODES_MAX)?;
    let numbers = postorder(nodes);
    let mut local: Option<(&Placed<'_>, Vec<u32>)> = None;
    for (&level, numbers) in nodes.iter().zip(numbers) {
        let attributes = &level.term.attributes;
        let os = os_indices(Some(attributes), level.total, "nodes")?.unwrap_or(numbers);
        // As in hwloc: an attached node has only the memory it is given.
        let memory = attributes.memory.unwrap_or(if level.term.count.is_some() { MEMORY_DEFAULT } else { 0 });
        for &index in &os {
            if raw.nodes.insert(index, Some(memory)).is_some() {
                let expected = "an OS index for each node";
                return Err(TopologyError::synthetic(level.term.column, expected, &index.to_string()));
            }
        }
        if local.as_ref().is_none_or(|(other, _)| other.depth < level.depth) {
            local = Some((level, os));
        }
    }
    if local.is_none() {
        raw.nodes.insert(0, Some(MEMORY_DEFAULT));
    }
    Ok(local)
}

/// hwloc's numbering of nodes: depth first, inner nodes before outer ones, several at one place in
/// their order.
fn postorder(nodes: &[&Placed<'_>]) -> Vec<Vec<u32>> {
    let most = nodes.iter().map(|level| level.total).max().unwrap_or(1);
    let mut order = Vec::new();
    for (position, level) in nodes.iter().enumerate() {
        // Totals divide each other, so the end of an object can be given in objects of the smallest
        // level.
        let size = most / level.total;
        order.extend((0..level.total).map(|number| ((number + 1) * size, Reverse(level.depth), position)));
    }
    order.sort_unstable();
    let mut out = vec![Vec::new(); nodes.len()];
    for (number, (_, _, position)) in order.into_iter().enumerate() {
        out[position].push(number as u32);
    }
    out
}

/// `indexes=`, checked: as many as there are objects, all different.
fn os_indices(attributes: Option<&Attributes>, total: u32, what: &str) -> Result<Option<Vec<u32>>, TopologyError> {
    let Some((given, column)) = attributes.and_then(|a| Some((a.indexes.as_ref()?, a.indexes_column))) else {
        return Ok(None);
    };
    let mut sorted = given.clone();
    sorted.sort_unstable();
    sorted.dedup();
    if sorted.len() != total as usize || given.len() != total as usize {
        let found = format!("{} of them, {} different", given.len(), sorted.len());
        return Err(TopologyError::synthetic(
            column,
            format!("{total} different indices, one for each of the {what}"),
            &found,
        ));
    }
    Ok(Some(given.clone()))
}
