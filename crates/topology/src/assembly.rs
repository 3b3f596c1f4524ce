//! Makes a [`Machine`] from a reader's data: puts all objects in hardware order, fills in missing
//! data, refuses contradictions.
//!
//! Readers number objects as they like ("keys"). PUs with the same key share an object; nothing
//! else counts.

use crate::error::TopologyError;
use crate::id::{NumaNodeId, PuId};
use crate::machine::{Core, CoreKind, Llc, Machine, NUMA_NODES_MAX, NumaNode, PUS_MAX, Package, Pu};
use crate::set::{CpuSet, PuSet};
use std::collections::BTreeMap;

/// Distance of a node to itself (ACPI SLIT).
const LOCAL: u32 = 10;
/// Distance assumed between different nodes where none is reported (Linux `REMOTE_DISTANCE`).
const REMOTE: u32 = 20;

/// One online PU. Keys index nothing: PUs that share an object have the same key.
#[derive(Debug, Clone)]
pub(crate) struct RawPu {
    pub os_index: u32,
    pub package: u32,
    /// OS index of its node; `None` = in no node.
    pub node: Option<u32>,
    /// Key of its cache; `None` = no cache is known.
    pub llc: Option<u32>,
    pub core: u32,
    pub kind: CoreKind,
    pub capacity: Option<u32>,
}

/// The known data of a cache.
#[derive(Debug, Clone, Default)]
pub(crate) struct RawLlc {
    pub id: Option<u32>,
    pub level: Option<u8>,
    pub size_bytes: Option<u64>,
}

/// The data of a reader.
#[derive(Debug, Clone, Default)]
pub(crate) struct Raw {
    pub pus: Vec<RawPu>,
    /// OS index → memory in bytes.
    pub nodes: BTreeMap<u32, Option<u64>>,
    /// Key → OS index, where known.
    pub packages: BTreeMap<u32, u32>,
    /// Key → known data.
    pub llcs: BTreeMap<u32, RawLlc>,
    /// (from, to) by OS index → distance.
    pub distances: BTreeMap<(u32, u32), u32>,
    pub allowed: Option<CpuSet>,
    pub isolated: CpuSet,
    pub offline: CpuSet,
}

/// Cache of a PU: one that was reported, or its node's part of its package.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Cache {
    Reported(u32),
    Assumed { package: u32, node: u32 },
}

impl RawPu {
    fn cache(&self, node: u32) -> Cache {
        self.llc.map_or(Cache::Assumed { package: self.package, node }, Cache::Reported)
    }
}

/// Numbers keys in the order in which they are first seen.
#[derive(Debug)]
struct Numbering<K>(BTreeMap<K, u32>);

impl<K> Default for Numbering<K> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<K: Ord> Numbering<K> {
    /// The number, and whether it is a new one.
    fn of(&mut self, key: K) -> (u32, bool) {
        let next = self.0.len() as u32;
        let number = *self.0.entry(key).or_insert(next);
        (number, number == next)
    }
}

/// Objects appear with the first PU that is in them.
struct Builder<'a> {
    raw: &'a Raw,
    machine: Machine,
    packages: Numbering<u32>,
    nodes: Numbering<u32>,
    caches: Numbering<Cache>,
    cores: Numbering<u32>,
}

impl<'a> Builder<'a> {
    fn new(raw: &'a Raw) -> Self {
        let machine = Machine {
            packages: Vec::new(),
            nodes: Vec::new(),
            llcs: Vec::new(),
            cores: Vec::new(),
            pus: Vec::with_capacity(raw.pus.len()),
            distances: Vec::new(),
            distances_reported: false,
            allowed: PuSet::new(),
            isolated: raw.isolated.clone(),
            offline: raw.offline.clone(),
            by_os: Vec::new(),
        };
        let (packages, nodes, caches, cores) = Default::default();
        Self { raw, machine, packages, nodes, caches, cores }
    }

    fn add(&mut self, pu: &RawPu) {
        let id = PuId(self.machine.pus.len() as u32);
        let os_node = pu.node.unwrap_or(0);
        let package = self.package(pu.package);
        let node = self.node(os_node);
        let llc = self.cache(pu, os_node);
        let core = self.core(pu);
        let smt_rank = self.machine.cores[core as usize].pus.len() as u32;
        self.machine.packages[package as usize].pus.insert(id);
        self.machine.nodes[node as usize].pus.insert(id);
        self.machine.llcs[llc as usize].pus.insert(id);
        self.machine.cores[core as usize].pus.insert(id);
        let node = NumaNodeId(node);
        self.machine.pus.push(Pu { id, os_index: pu.os_index, core, llc, node, package, smt_rank });
    }

    fn package(&mut self, key: u32) -> u32 {
        let (number, new) = self.packages.of(key);
        if new {
            let os_index = self.raw.packages.get(&key).copied();
            self.machine.packages.push(Package { os_index, pus: PuSet::new() });
        }
        number
    }

    fn node(&mut self, os_index: u32) -> u32 {
        let (number, new) = self.nodes.of(os_index);
        if new {
            let memory_bytes = self.raw.nodes.get(&os_index).copied().flatten();
            self.machine.nodes.push(NumaNode { os_index, memory_bytes, pus: PuSet::new() });
        }
        number
    }

    fn cache(&mut self, pu: &RawPu, os_node: u32) -> u32 {
        let (number, new) = self.caches.of(pu.cache(os_node));
        if new {
            let known = pu.llc.and_then(|key| self.raw.llcs.get(&key)).cloned().unwrap_or_default();
            let RawLlc { id, level: cache_level, size_bytes } = known;
            self.machine.llcs.push(Llc { id, cache_level, size_bytes, pus: PuSet::new() });
        }
        number
    }

    fn core(&mut self, pu: &RawPu) -> u32 {
        let (number, new) = self.cores.of(pu.core);
        if new {
            self.machine.cores.push(Core { kind: pu.kind, capacity: pu.capacity, pus: PuSet::new() });
        }
        number
    }
}

impl Raw {
    /// Builds the tree. `origin` names the description in errors.
    pub(crate) fn assemble(mut self, origin: &str) -> Result<Machine, TopologyError> {
        self.check(origin)?;
        self.settle_nodes();
        self.sort();
        let mut machine = self.tree();
        machine.distances = self.distance_matrix(&machine.nodes, origin)?;
        self.restrict(&mut machine)?;
        Ok(machine)
    }

    fn check(&self, origin: &str) -> Result<(), TopologyError> {
        if self.pus.is_empty() {
            return Err(TopologyError::NoProcessor(format!("{origin} describes none that is online")));
        }
        limit("processors", self.pus.len(), PUS_MAX)?;
        limit("NUMA nodes", self.nodes.len(), NUMA_NODES_MAX)?;
        let mut seen = CpuSet::new();
        for pu in &self.pus {
            if pu.os_index > crate::list::LARGEST {
                return Err(TopologyError::inconsistent(
                    origin,
                    format!("processor index {} is too large", pu.os_index),
                ));
            }
            if !seen.insert(pu.os_index) {
                return Err(TopologyError::inconsistent(origin, format!("processor {} occurs twice", pu.os_index)));
            }
        }
        Ok(())
    }

    /// Gives every PU a node: without any, one node holds all; a PU in none joins the node of its
    /// package, else the lowest.
    fn settle_nodes(&mut self) {
        for pu in &self.pus {
            if let Some(node) = pu.node {
                self.nodes.entry(node).or_insert(None);
            }
        }
        if self.nodes.is_empty() {
            self.nodes.insert(0, None);
        }
        let lowest = self.nodes.keys().next().copied().unwrap_or(0);
        let mut of_package = BTreeMap::new();
        for pu in &self.pus {
            if let Some(node) = pu.node {
                of_package.entry(pu.package).or_insert(node);
            }
        }
        for pu in &mut self.pus {
            pu.node.get_or_insert_with(|| of_package.get(&pu.package).copied().unwrap_or(lowest));
        }
    }

    /// Hardware order: each object stands where its lowest OS index stands, from the package down
    /// (as hwloc does).
    fn sort(&mut self) {
        let mut package = BTreeMap::new();
        let mut node = BTreeMap::new();
        let mut cache = BTreeMap::new();
        let mut core = BTreeMap::new();
        for pu in &self.pus {
            let n = pu.node.unwrap_or(0);
            lower(package.entry(pu.package).or_insert(u32::MAX), pu.os_index);
            lower(node.entry(n).or_insert(u32::MAX), pu.os_index);
            lower(cache.entry(pu.cache(n)).or_insert(u32::MAX), pu.os_index);
            lower(core.entry(pu.core).or_insert(u32::MAX), pu.os_index);
        }
        self.pus.sort_by_key(|pu| {
            let n = pu.node.unwrap_or(0);
            (package[&pu.package], node[&n], cache[&pu.cache(n)], core[&pu.core], pu.os_index)
        });
    }

    /// The arrays, from PUs in hardware order; distances and cpuset come later.
    fn tree(&self) -> Machine {
        let mut builder = Builder::new(self);
        for raw in &self.pus {
            builder.add(raw);
        }
        for &os_node in self.nodes.keys() {
            builder.node(os_node);
        }
        let mut machine = builder.machine;
        let end = self.pus.iter().map(|pu| pu.os_index as usize + 1).max().unwrap_or(0);
        machine.by_os = vec![u32::MAX; end];
        for pu in &machine.pus {
            machine.by_os[pu.os_index as usize] = pu.id.0;
        }
        machine.distances_reported = !self.distances.is_empty();
        machine
    }

    /// All pairs or none must be reported: half a matrix would make nodes look nearer than they
    /// are.
    fn distance_matrix(&self, nodes: &[NumaNode], origin: &str) -> Result<Vec<u32>, TopologyError> {
        let mut matrix = Vec::with_capacity(nodes.len() * nodes.len());
        for from in nodes.iter().map(|node| node.os_index) {
            for to in nodes.iter().map(|node| node.os_index) {
                let assumed = if from == to { LOCAL } else { REMOTE };
                match self.distances.get(&(from, to)) {
                    Some(&distance) => matrix.push(distance),
                    None if self.distances.is_empty() => matrix.push(assumed),
                    None => {
                        let problem = format!("no distance from node {from} to node {to}, but others are given");
                        return Err(TopologyError::inconsistent(origin, problem));
                    }
                }
            }
        }
        Ok(matrix)
    }

    /// An explicit cpuset wins over isolation: a process on an isolated processor was put there on
    /// purpose.
    fn restrict(&self, machine: &mut Machine) -> Result<(), TopologyError> {
        machine.allowed = if let Some(cpus) = &self.allowed {
            let allowed = machine.pu_set(cpus);
            if allowed.is_empty() {
                return Err(TopologyError::NoProcessor(format!("none of the cpuset \"{cpus}\" is online")));
            }
            allowed
        } else {
            let free = machine.all().difference(&machine.pu_set(&self.isolated));
            if free.is_empty() { machine.all() } else { free }
        };
        Ok(())
    }
}

fn lower(slot: &mut u32, value: u32) {
    *slot = value.min(*slot);
}

/// Refuses a row of distances (to, distance) in which a node is nearer to another than to itself,
/// or nowhere: kernels check the firmware's table for just that, and a search for near memory would
/// find far memory.
pub(crate) fn nearest_is_itself(
    path: &str,
    from: u32,
    mut row: impl Iterator<Item = (u32, u32)> + Clone,
) -> Result<(), TopologyError> {
    let own = row.clone().find(|&(to, _)| to == from).map_or(LOCAL, |(_, distance)| distance);
    if own == 0 {
        return Err(TopologyError::inconsistent(path, format!("the distance of node {from} to itself is 0")));
    }
    match row.find(|&(_, distance)| distance < own) {
        Some((to, distance)) => {
            let problem = format!("node {from} is nearer to node {to} ({distance}) than to itself ({own})");
            Err(TopologyError::inconsistent(path, problem))
        }
        None => Ok(()),
    }
}

pub(crate) fn limit(what: &'static str, found: usize, limit: usize) -> Result<(), TopologyError> {
    if found > limit {
        return Err(TopologyError::TooLarge { what, found: found as u64, limit: limit as u64 });
    }
    Ok(())
}
