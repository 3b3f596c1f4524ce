//! The parts of a modelled machine.

use crate::Nanos;
use numaestro_topology::{Level, Machine, NumaNodeId, PuId, PuSet};

/// Picoseconds: costs of single references; a cycle of 16.67 MHz is 60 000 of them.
pub type Picos = u64;

/// The kinds of memory references.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Op {
    /// Reads a word that is not cached.
    Load = 0,
    /// Writes a word that is not cached.
    Store = 1,
    /// Brings a line into the cache.
    Line = 2,
    /// Writes a line back.
    Writeback = 3,
}

impl Op {
    /// Number of kinds.
    pub const COUNT: usize = 4;
    /// All kinds, by number.
    pub const ALL: [Self; Self::COUNT] = [Self::Load, Self::Store, Self::Line, Self::Writeback];

    /// The word in files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Load => "load",
            Self::Store => "store",
            Self::Line => "line",
            Self::Writeback => "writeback",
        }
    }
}

/// A class of places of memory as seen from a processor: local, same station, remote ...
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccessClass {
    /// The name in the machine's file.
    pub name: String,
    /// Cost of a reference without contention, picoseconds by [`Op`], the delay switch included.
    pub cost_ps: [Picos; Op::COUNT],
}

/// The costs of references.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Access {
    /// From near to far; costs need not rise (Hector's stores do not).
    pub classes: Vec<AccessClass>,
    /// Index into `classes`, row-major by PU and NUMA node.
    pub class_of: Vec<u8>,
    /// Cost of a reference that hits the processor's own cache, picoseconds.
    pub hit_ps: Picos,
}

/// The effect of a line that comes into a cache on the lines that are there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Replacement {
    /// Direct mapped or random: of a footprint exp(-D/C) survives D foreign lines.
    Random,
    /// Least recently used: max(0, 1 - D/C) survives.
    Lru,
}

/// A cache for each object of a level.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cache {
    /// `Pu` (private) or `Llc` (shared).
    pub level: Level,
    /// Capacity in lines; 0 = none, then nothing is ever reloaded.
    pub lines: u64,
    /// Bytes of a line.
    pub line_bytes: u32,
    /// The replacement of its lines.
    pub replacement: Replacement,
}

/// The references that use a channel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Over {
    /// All references that leave the caches of these PUs (a front-side bus).
    Bus(PuSet),
    /// All references to this node's memory (a memory controller).
    Controller(NumaNodeId),
    /// All references from PUs of this node to memory of other nodes (its link).
    Link(NumaNodeId),
    /// All references whose processor and memory are in different ones of these sets (a ring
    /// between stations).
    Between(Vec<PuSet>),
}

/// A part of the machine with limited bandwidth.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Channel {
    /// Its name, for people.
    pub name: String,
    /// The references that use it.
    pub over: Over,
    /// Most transactions (lines, words) per millisecond; above 0.
    pub per_ms: u64,
}

/// The costs of actions, nanoseconds but for the last field.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Costs {
    /// A processor takes another thread.
    pub switch_ns: Nanos,
    /// A thread goes to another processor (besides the refill of its cache).
    pub migration_ns: Nanos,
    /// A page is touched for the first time.
    pub page_fault_ns: Nanos,
    /// A page goes to another node; 0: pages never do.
    pub page_move_ns: Nanos,
    /// From an event to the moment when the engine's decision reaches applications.
    pub decision_ns: Nanos,
    /// A thread that was stopped goes on.
    pub stop_ns: Nanos,
    /// Thousandths of the time that threads wait on a processor that go to calls of the system
    /// (`sched_yield`, `sginap`).
    pub waiting_milli: u32,
}

/// The scheduler of the modelled operating system. It chooses the thread that runs on a processor
/// on which several threads may run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum System {
    /// A queue for each processor, round robin; a thread stays where it is bound or was last.
    #[default]
    RoundRobin,
    /// Linux 2.4: one queue, counters of time left, a bonus for the last processor.
    Linux24,
    /// IRIX: one queue, decaying priorities, affinity; a new thread starts with the best priority.
    Irix,
}

/// Numbers of IRIX's scheduler.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Irix {
    /// Time in which processor time that was used counts half as much for priorities, nanoseconds.
    pub half_life_ns: Nanos,
    /// Time between two looks of a processor whether others have fewer threads, nanoseconds; 0: it
    /// never looks.
    pub rebalance_ns: Nanos,
}

impl Default for Irix {
    fn default() -> Self {
        Self { half_life_ns: 200_000_000, rebalance_ns: 0 }
    }
}

/// A modelled machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Model {
    /// `hector`, `origin2000-64`, ...
    pub name: String,
    /// One sentence on the machine, with the paper that describes it.
    pub about: String,
    /// The tree.
    pub topology: Machine,
    /// A cycle of its clock, picoseconds.
    pub cycle_ps: Picos,
    /// Delay switch in cycles per off-station packet (Brecht 1993, §7.1); 0 where there is none.
    pub delay: u32,
    /// The costs of references.
    pub access: Access,
    /// Its caches.
    pub cache: Cache,
    /// Bytes of a page.
    pub page_bytes: u32,
    /// Pages of one node's memory.
    pub node_pages: u64,
    /// The parts with limited bandwidth; may be empty.
    pub channels: Vec<Channel>,
    /// The costs of actions.
    pub costs: Costs,
    /// Its operating system's scheduler.
    pub system: System,
    /// Time slice of that scheduler, nanoseconds.
    pub quantum_ns: Nanos,
    /// Whether a new thread has the best priority for one quantum (IRIX).
    pub favours_new: bool,
    /// The other numbers of IRIX's scheduler.
    pub irix: Irix,
    /// PUs kept for the system, never given to applications.
    pub reserved: PuSet,
}

impl Model {
    /// Processors that applications can have.
    pub fn usable(&self) -> u32 {
        self.topology.allowed().difference(&self.reserved).len() as u32
    }

    /// The class of a node's memory as seen from a PU; an index into `access.classes`.
    pub fn class(&self, pu: PuId, node: NumaNodeId) -> usize {
        usize::from(self.access.class_of[pu.index() * self.topology.numa_nodes().len() + node.index()])
    }

    /// Cost of one reference without contention, picoseconds.
    pub fn cost_ps(&self, pu: PuId, node: NumaNodeId, op: Op) -> Picos {
        self.access.classes[self.class(pu, node)].cost_ps[op as usize]
    }

    /// The NUMA node of a PU.
    pub fn node_of(&self, pu: PuId) -> NumaNodeId {
        self.topology.pu(pu).node
    }
}
