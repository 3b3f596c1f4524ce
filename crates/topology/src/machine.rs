//! The machine tree as arrays, and the two numberings of its processors. The readers build it.

use crate::error::TopologyError;
use crate::id::{NumaNodeId, PuId};
use crate::set::{CpuSet, PuSet};

/// Most PUs of a machine: twice what Linux can be built for. Sets of every core and group are
/// bitmaps over all PUs, so memory grows with the square of this.
pub const PUS_MAX: usize = 16_384;
/// Most NUMA nodes of a machine, as in Linux.
pub const NUMA_NODES_MAX: usize = 1024;

/// A socket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Package {
    /// Number the hardware gives it, where known.
    pub os_index: Option<u32>,
    /// Its PUs.
    pub pus: PuSet,
}

/// Memory, and the PUs that are local to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NumaNode {
    /// Number Linux gives it (`node3` = 3).
    pub os_index: u32,
    /// Size in bytes, where known; `Some(0)` for a node of processors only.
    pub memory_bytes: Option<u64>,
    /// Its PUs; empty for a memory-only (CPU-less) node.
    pub pus: PuSet,
}

impl NumaNode {
    /// Memory without processors (HBM, CXL, persistent memory), or a node whose processors are all
    /// offline.
    pub fn is_memory_only(&self) -> bool {
        self.pus.is_empty()
    }
}

/// A last-level cache, or a group of PUs that stands for one: see [`Llc::cache_level`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Llc {
    /// Identifier the kernel gives it; absent on many arm64 machines.
    pub id: Option<u32>,
    /// 3 for an L3. `None`: the machine reports no caches, and this is the part of a NUMA node
    /// inside one package.
    pub cache_level: Option<u8>,
    /// Size in bytes, where known.
    pub size_bytes: Option<u64>,
    /// The PUs that share it. May span NUMA nodes.
    pub pus: PuSet,
}

/// The kind of a core, on machines that have several.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CoreKind {
    /// The only kind of the machine, or unknown.
    Uniform,
    /// The slower kind (Intel E-core, Arm LITTLE).
    Efficiency,
    /// Between the two.
    Middle,
    /// The fastest kind (Intel P-core, Arm big).
    Performance,
}

/// A physical core.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Core {
    /// Kind of core.
    pub kind: CoreKind,
    /// Relative computing power, 1024 = the fastest of the machine, where known (Linux
    /// `cpu_capacity`).
    pub capacity: Option<u32>,
    /// Its PUs: SMT siblings of each other.
    pub pus: PuSet,
}

/// A processing unit, a CPU in Linux's words. All indices are logical, into the machine's arrays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pu {
    /// Its logical index.
    pub id: PuId,
    /// Number Linux gives it.
    pub os_index: u32,
    /// Index into [`Machine::cores`].
    pub core: u32,
    /// Index into [`Machine::llcs`].
    pub llc: u32,
    /// Index into [`Machine::numa_nodes`].
    pub node: NumaNodeId,
    /// Index into [`Machine::packages`].
    pub package: u32,
    /// 0 for the first PU of its core, 1 for its SMT sibling, and so on.
    pub smt_rank: u32,
}

/// A machine: its online processors, their places, and its memory.
///
/// Offline processors have no place and are only listed. The tree does not change: when a processor
/// comes or goes, read it again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Machine {
    pub(crate) packages: Vec<Package>,
    pub(crate) nodes: Vec<NumaNode>,
    pub(crate) llcs: Vec<Llc>,
    pub(crate) cores: Vec<Core>,
    pub(crate) pus: Vec<Pu>,
    /// Distances, 10 = local, row-major, `nodes` × `nodes`.
    pub(crate) distances: Vec<u32>,
    pub(crate) distances_reported: bool,
    pub(crate) allowed: PuSet,
    pub(crate) isolated: CpuSet,
    pub(crate) offline: CpuSet,
    /// Logical index by OS index; `u32::MAX` = no such PU.
    pub(crate) by_os: Vec<u32>,
}

impl Machine {
    /// Number of PUs; their ids are `0..pu_count()`.
    pub fn pu_count(&self) -> usize {
        self.pus.len()
    }

    /// All PUs by logical index.
    pub fn pus(&self) -> &[Pu] {
        &self.pus
    }

    /// One PU.
    ///
    /// # Panics
    /// If it is not one of this machine's.
    pub fn pu(&self, id: PuId) -> &Pu {
        &self.pus[id.index()]
    }

    /// Packages in hardware order.
    pub fn packages(&self) -> &[Package] {
        &self.packages
    }

    /// NUMA nodes by logical index.
    pub fn numa_nodes(&self) -> &[NumaNode] {
        &self.nodes
    }

    /// Last-level caches in hardware order.
    pub fn llcs(&self) -> &[Llc] {
        &self.llcs
    }

    /// Cores in hardware order.
    pub fn cores(&self) -> &[Core] {
        &self.cores
    }

    /// The PUs of the core of `id`, itself included.
    pub fn smt_siblings(&self, id: PuId) -> &PuSet {
        &self.cores[self.pu(id).core as usize].pus
    }

    /// Most PUs of any core: 1 without SMT.
    pub fn smt_width(&self) -> usize {
        self.cores.iter().map(|core| core.pus.len()).max().unwrap_or(1)
    }

    /// Says whether it has more than one kind of core.
    pub fn is_hybrid(&self) -> bool {
        self.cores.iter().any(|core| core.kind != CoreKind::Uniform)
    }

    /// Distance between nodes as the firmware reports it: 10 = local, 20 = twice as long. Not
    /// always symmetric.
    ///
    /// # Panics
    /// If one is not a node of this machine.
    pub fn node_distance(&self, from: NumaNodeId, to: NumaNodeId) -> u32 {
        assert!(to.index() < self.nodes.len(), "node {to} of {}", self.nodes.len());
        self.distances[from.index() * self.nodes.len() + to.index()]
    }

    /// False when the distances are the assumed 10 (itself) and 20 (others).
    pub fn distances_reported(&self) -> bool {
        self.distances_reported
    }

    /// The same machine with these node distances, for descriptions that have no place for them:
    /// row-major, by logical index, 10 = local.
    ///
    /// # Errors
    /// [`TopologyError::Inconsistent`] if the numbers are not as many as pairs of nodes, or a node
    /// is nearer to another than to itself.
    pub fn with_node_distances(mut self, distances: Vec<u32>) -> Result<Self, TopologyError> {
        let nodes = self.nodes.len();
        if distances.len() != nodes * nodes {
            let problem = format!("{} numbers for {nodes} x {nodes} nodes", distances.len());
            return Err(TopologyError::inconsistent("node distances", problem));
        }
        for (from, row) in distances.chunks(nodes).enumerate() {
            if let Some(to) = row.iter().position(|&distance| distance < row[from]) {
                let problem = format!("node {from} is nearer to node {to} than to itself");
                return Err(TopologyError::inconsistent("node distances", problem));
            }
        }
        self.distances = distances;
        self.distances_reported = true;
        Ok(self)
    }

    /// PUs that may be used: the PUs of the given cpuset, or all that are not isolated.
    pub fn allowed(&self) -> &PuSet {
        &self.allowed
    }

    /// Every PU of the tree, allowed or not.
    pub fn all(&self) -> PuSet {
        (0..self.pus.len() as u32).map(PuId).collect()
    }

    /// OS indices of processors kept from the scheduler (`isolcpus=`). They are in the tree if
    /// online.
    pub fn isolated(&self) -> &CpuSet {
        &self.isolated
    }

    /// OS indices of processors that are present or possible but not online. They are not in the
    /// tree.
    pub fn offline(&self) -> &CpuSet {
        &self.offline
    }

    /// The number Linux gives a PU.
    ///
    /// # Panics
    /// If it is not one of this machine's.
    pub fn os_index(&self, id: PuId) -> u32 {
        self.pu(id).os_index
    }

    /// The PU of an OS index; `None` if offline or unknown.
    pub fn pu_of_os(&self, os_index: u32) -> Option<PuId> {
        self.by_os.get(os_index as usize).copied().filter(|&id| id != u32::MAX).map(PuId)
    }

    /// OS indices of a set of PUs. PUs that are not of this machine are left out.
    pub fn os_cpuset(&self, pus: &PuSet) -> CpuSet {
        let mut out = CpuSet::with_capacity(self.by_os.len());
        self.os_cpuset_into(pus, &mut out);
        out
    }

    /// As [`Self::os_cpuset`], into an existing set: allocates nothing if that has the capacity.
    pub fn os_cpuset_into(&self, pus: &PuSet, out: &mut CpuSet) {
        out.clear();
        out.extend(pus.iter().filter_map(|id| self.pus.get(id.index())).map(|pu| pu.os_index));
    }

    /// PUs of a set of OS indices. Indices that are offline or unknown are left out.
    pub fn pu_set(&self, cpus: &CpuSet) -> PuSet {
        let mut out = PuSet::with_capacity(self.pus.len());
        out.extend(cpus.iter().filter_map(|os| self.pu_of_os(os)));
        out
    }
}
