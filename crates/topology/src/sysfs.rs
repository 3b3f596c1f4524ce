//! Reads Linux's description of the machine through a [`Tree`].
//!
//! A missing file has a fallback; a file that makes no sense is an error that names it:
//!
//! | missing | taken instead |
//! |---|---|
//! | `cpu/online` | the `cpuN` directories |
//! | `topology/` of a processor | a core of its own, in the one package |
//! | sibling lists | package, die, cluster and core ids (they are only unique together) |
//! | all caches, or all cache lists | the node's part of the package stands for the last-level cache |
//! | cache `id` (arm64) | none; who shares a cache is known from `shared_cpu_list` alone |
//! | `node/` (kernel without NUMA) | one node 0 with everything |
//! | every `distance` | 10 and 20 |
//! | `cpu_capacity`, `cpu_core`, `cpu_atom` | all cores are of one kind |
//!
//! Dies and clusters are no levels of their own: only the cache below them counts for placement,
//! and that is a level.

mod cores;
mod nodes;
mod source;

use crate::assembly::{Raw, RawPu, limit};
use crate::error::TopologyError;
use crate::machine::{CoreKind, Machine, PUS_MAX};
use crate::set::CpuSet;
use crate::tree::Tree;
use source::{CPU, Source};

/// Reads the machine. `allowed` is the reader's own cpuset; `None` = every online processor that is
/// not isolated.
///
/// # Errors
/// [`TopologyError`] with the path, the expected text and the text found; or no processor is left.
pub fn read(tree: &dyn Tree, allowed: Option<&CpuSet>) -> Result<Machine, TopologyError> {
    let source = Source::new(tree);
    let online = online(&source)?;
    limit("processors", online.len(), PUS_MAX)?;
    let mut raw = Raw {
        allowed: allowed.cloned(),
        isolated: isolated(&source)?,
        offline: offline(&source, &online)?,
        ..Raw::default()
    };
    let node_of = nodes::read(&source, &online, &mut raw)?;
    let kinds = cores::kinds(&source, &online)?;
    let mut same_ids = cores::SameIds::default();
    for (cpu, kind) in online.iter().zip(kinds) {
        let place = cores::place(&source, cpu, &online, &mut same_ids)?;
        if let Some(id) = place.package_id {
            raw.packages.entry(place.package).or_insert(id);
        }
        let llc = place.llc.map(|(key, known)| {
            raw.llcs.entry(key).or_insert(known);
            key
        });
        raw.pus.push(RawPu {
            os_index: cpu,
            package: place.package,
            node: node_of.get(&cpu).copied(),
            llc,
            core: place.core,
            kind: kind.0,
            capacity: kind.1,
        });
    }
    raw.assemble(CPU)
}

fn online(source: &Source<'_>) -> Result<CpuSet, TopologyError> {
    let path = format!("{CPU}/online");
    let online = match source.list(&path)? {
        Some(online) => online,
        None => source.numbered(CPU, "cpu"),
    };
    if online.is_empty() {
        return Err(match source.text(&path) {
            Some(text) => TopologyError::garbage(path, "a list of processors such as 0-3", &text),
            None => TopologyError::Missing { path, expected: "a list of processors such as 0-3" },
        });
    }
    Ok(online)
}

/// Old kernels print `(null)` when there are none.
fn isolated(source: &Source<'_>) -> Result<CpuSet, TopologyError> {
    let path = format!("{CPU}/isolated");
    if source.text(&path).is_some_and(|text| text == "(null)") {
        return Ok(CpuSet::new());
    }
    Ok(source.list(&path)?.unwrap_or_default())
}

/// Processors that are plugged in but not online; where `present` is missing, those in `offline`.
fn offline(source: &Source<'_>, online: &CpuSet) -> Result<CpuSet, TopologyError> {
    let known = match source.list(&format!("{CPU}/present"))? {
        Some(present) => present,
        None => source.list(&format!("{CPU}/offline"))?.unwrap_or_default(),
    };
    Ok(known.difference(online))
}

/// Kind and capacity of a processor's core.
type Sort = (CoreKind, Option<u32>);
