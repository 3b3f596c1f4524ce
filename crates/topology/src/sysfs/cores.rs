//! Reads a processor's place (core, last-level cache, package) and the kind of its core.

use super::Sort;
use super::source::{CPU, Source};
use crate::assembly::RawLlc;
use crate::error::TopologyError;
use crate::machine::CoreKind;
use crate::set::CpuSet;
use std::collections::BTreeMap;

/// The place of a processor. Keys are the lowest online processor that shares the object.
#[derive(Debug)]
pub(super) struct Place {
    pub core: u32,
    pub package: u32,
    pub package_id: Option<u32>,
    pub llc: Option<(u32, RawLlc)>,
}

/// First processor seen with the same ids, for kernels without sibling lists.
#[derive(Debug, Default)]
pub(super) struct SameIds(BTreeMap<Vec<Option<u32>>, u32>);

impl SameIds {
    /// The first processor with the same ids; `None` if the last id (the one that counts) is not
    /// there.
    fn first(&mut self, source: &Source<'_>, cpu: u32, names: &[&str]) -> Result<Option<u32>, TopologyError> {
        let mut ids = Vec::with_capacity(names.len());
        for name in names {
            ids.push(source.number(&format!("{CPU}/cpu{cpu}/topology/{name}"))?);
        }
        if ids.last().copied().flatten().is_none() {
            return Ok(None);
        }
        Ok(Some(*self.0.entry(ids).or_insert(cpu)))
    }
}

/// Reads `cpuN/topology` and `cpuN/cache`. To be called in rising order of `cpu` with the same
/// `seen`.
pub(super) fn place(
    source: &Source<'_>,
    cpu: u32,
    online: &CpuSet,
    seen: &mut SameIds,
) -> Result<Place, TopologyError> {
    let directory = format!("{CPU}/cpu{cpu}/topology");
    let package_id = source.number(&format!("{directory}/physical_package_id"))?;
    let core = match shared(source, cpu, online, &directory, ["core_cpus", "thread_siblings"])? {
        Some(first) => first,
        None => seen.first(source, cpu, &["physical_package_id", "die_id", "cluster_id", "core_id"])?.unwrap_or(cpu),
    };
    let package = match shared(source, cpu, online, &directory, ["package_cpus", "core_siblings"])? {
        Some(first) => first,
        None => seen.first(source, cpu, &["physical_package_id"])?.unwrap_or(ONE_PACKAGE),
    };
    Ok(Place { core, package, package_id, llc: llc(source, cpu, online)? })
}

/// Key of the package of processors whose files name no package.
const ONE_PACKAGE: u32 = u32::MAX;

/// The lowest online processor of the first of these lists (or masks) that is there.
fn shared(
    source: &Source<'_>,
    cpu: u32,
    online: &CpuSet,
    directory: &str,
    names: [&str; 2],
) -> Result<Option<u32>, TopologyError> {
    for name in names {
        let list = format!("{directory}/{name}_list");
        if let Some(set) = source.list_or_mask(&list, &format!("{directory}/{name}"))? {
            return first_of(set, cpu, online, list).map(Some);
        }
    }
    Ok(None)
}

/// The lowest online member; the processor itself must be one.
fn first_of(mut set: CpuSet, cpu: u32, online: &CpuSet, path: String) -> Result<u32, TopologyError> {
    if !set.contains(cpu) {
        return Err(TopologyError::inconsistent(path, format!("processor {cpu} is not in its own list \"{set}\"")));
    }
    set.and_with(online);
    Ok(set.first().unwrap_or(cpu))
}

/// The highest cache level that holds data and lists the processors that share it.
fn llc(source: &Source<'_>, cpu: u32, online: &CpuSet) -> Result<Option<(u32, RawLlc)>, TopologyError> {
    let directory = format!("{CPU}/cpu{cpu}/cache");
    let mut best: Option<(u32, RawLlc)> = None;
    for index in &source.numbered(&directory, "index") {
        let file = |name: &str| format!("{directory}/index{index}/{name}");
        if source.text(&file("type")).is_some_and(|kind| kind == "Instruction") {
            continue;
        }
        let Some(level) = source.number(&file("level"))? else { continue };
        let level = u8::try_from(level)
            .map_err(|_| TopologyError::garbage(file("level"), "a cache level from 1", &level.to_string()))?;
        let Some(set) = source.list_or_mask(&file("shared_cpu_list"), &file("shared_cpu_map"))? else { continue };
        if best.as_ref().is_some_and(|(_, known)| known.level >= Some(level)) {
            continue;
        }
        let first = first_of(set, cpu, online, file("shared_cpu_list"))?;
        let known =
            RawLlc { id: source.number(&file("id"))?, level: Some(level), size_bytes: size(source, &file("size"))? };
        best = Some((first, known));
    }
    Ok(best)
}

/// `32768K`.
fn size(source: &Source<'_>, path: &str) -> Result<Option<u64>, TopologyError> {
    let Some(text) = source.text(path) else { return Ok(None) };
    let kilobytes = text.strip_suffix('K').and_then(|digits| digits.parse::<u64>().ok());
    let bytes = kilobytes.and_then(|kilobytes| kilobytes.checked_mul(1024));
    bytes.map(Some).ok_or_else(|| TopologyError::garbage(path, "a size such as 32768K", &text))
}

/// Kind and capacity of each online processor, in order.
pub(super) fn kinds(source: &Source<'_>, online: &CpuSet) -> Result<Vec<Sort>, TopologyError> {
    let mut capacities = Vec::with_capacity(online.len());
    for cpu in online {
        capacities.push(source.number(&format!("{CPU}/cpu{cpu}/cpu_capacity"))?);
    }
    let fast = source.list("sys/devices/cpu_core/cpus")?.unwrap_or_default();
    let slow = source.list("sys/devices/cpu_atom/cpus")?.unwrap_or_default();
    let low = source.list("sys/devices/cpu_lowpower/cpus")?.unwrap_or_default();
    let by_device = fast.intersects(online) && (slow.intersects(online) || low.intersects(online));
    let highest = capacities.iter().flatten().max().copied();
    let lowest = capacities.iter().flatten().min().copied();
    let kind = |cpu: u32, capacity: Option<u32>| {
        if by_device {
            return device_kind(cpu, &fast, &slow, &low);
        }
        match capacity {
            Some(_) if highest == lowest => CoreKind::Uniform,
            Some(own) if Some(own) == highest => CoreKind::Performance,
            Some(own) if Some(own) == lowest => CoreKind::Efficiency,
            Some(_) => CoreKind::Middle,
            None => CoreKind::Uniform,
        }
    };
    Ok(online.iter().zip(capacities).map(|(cpu, capacity)| (kind(cpu, capacity), capacity)).collect())
}

/// Where there are three kinds (Intel's P, E and low-power E) the plain E-core is the middle one.
fn device_kind(cpu: u32, fast: &CpuSet, slow: &CpuSet, low: &CpuSet) -> CoreKind {
    if fast.contains(cpu) {
        CoreKind::Performance
    } else if low.contains(cpu) {
        CoreKind::Efficiency
    } else if slow.contains(cpu) {
        if low.is_empty() { CoreKind::Efficiency } else { CoreKind::Middle }
    } else {
        CoreKind::Uniform
    }
}
