//! Reads the residency of an application, its bytes on each node, from `numa_maps`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use numaestro_host::{HostError, monotonic_ns, numa, procfs};

use super::course::{Aim, Distances, Sample};

/// An application, as it is looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Subject {
    pub(crate) app: u64,
    pub(crate) pid: u32,
    /// Clock ticks after boot: with `pid`, the process.
    pub(crate) start_time: u64,
    /// All its descendants without the subtrees of these others; `None`: that process alone.
    pub(crate) tree: Option<Arc<BTreeSet<u32>>>,
    /// Set by [`super::Pages`].
    pub(super) aim: Aim,
}

impl Subject {
    pub(crate) fn new(app: u64, pid: u32, start_time: u64, tree: Option<Arc<BTreeSet<u32>>>) -> Self {
        Self { app, pid, start_time, tree, aim: Aim::default() }
    }
}

/// The nodes of a machine.
#[derive(Debug, Default)]
pub(crate) struct Places {
    pub(crate) distances: Distances,
    /// OS index of the node, by OS index of the processor.
    pub(crate) node_of: BTreeMap<u32, u32>,
}

/// The processes of an application.
pub(super) fn pids(subject: &Subject) -> Vec<u32> {
    let alone = vec![subject.pid];
    subject.tree.as_ref().and_then(|except| procfs::tree(subject.pid, except).ok()).unwrap_or(alone)
}

/// Looks at an application; `None` if it is gone.
pub(super) fn sample(subject: &Subject, places: &Places) -> Result<Option<Sample>, HostError> {
    let began = monotonic_ns();
    // The number may be another process's by now.
    if procfs::stat(subject.pid).map_or(true, |stat| stat.start_time != subject.start_time) {
        return Ok(None);
    }
    let mut sum = Sample::default();
    for pid in pids(subject) {
        let areas = match numa::numa_maps(pid) {
            Ok(areas) => areas,
            // One of several has ended meanwhile.
            Err(cause) if cause.is_gone() && pid != subject.pid => continue,
            Err(cause) if cause.is_gone() => return Ok(None),
            Err(cause) => return Err(cause),
        };
        for area in &areas {
            let places = if area.is_anonymous() { &mut sum.own } else { &mut sum.shared };
            add(places, area);
            if area.may_be_moved() {
                add(&mut sum.movable, area);
            }
        }
        for processor in procfs::thread_processors(pid).unwrap_or_default() {
            if let Some(node) = places.node_of.get(&processor) {
                *sum.threads.entry(*node).or_default() += 1;
            }
        }
    }
    sum.took_ns = monotonic_ns().saturating_sub(began);
    Ok(Some(sum))
}

fn add(places: &mut BTreeMap<u32, u64>, area: &numa::Area) {
    for (node, pages) in &area.by_node {
        *places.entry(*node).or_default() += pages.saturating_mul(area.page_bytes);
    }
}
