//! The situation that a policy decides on: applications, processors and buses in dense arrays,
//! read-only. The engine keeps them up to date.
//!
//! It has room for every policy of the literature this project builds on: requests and history
//! (Martorell et al. 2000), homes and before-processors (Koita et al.), speedups (PDPA) and
//! bus-transaction rates (Antonopoulos et al. 2004).

use numaestro_topology::{Machine, NumaNodeId, PuId, PuSet};
use serde::{Deserialize, Serialize};

/// Number of an application; a later arrival has a greater one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct AppId(pub u64);

impl std::fmt::Display for AppId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

/// Index of an application in [`View::apps`]. Used again after the application has gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Slot(pub u32);

impl Slot {
    /// For indexing arrays that have one entry per application.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// The way in which an application can be steered, as far as known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Class {
    /// Its regions follow the allocation by themselves and it says `Adopted`.
    Malleable,
    /// A helper in it calls a library's setter and it says `Adopted`.
    Setter,
    /// Affinity only: a target takes effect as soon as the shell has carried it out.
    Fold,
}

/// The state of one processor in the ledger.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PuState {
    /// It has no owner.
    #[default]
    Free,
    /// It has an owner, who keeps it.
    Owned,
    /// Its owner has been told to vacate it; `next` has it afterwards.
    Leaving,
    /// Kept out by the administrator.
    Reserved,
    /// Left to load that is not managed.
    Unmanaged,
    /// Not there, or outside the shell's cpuset.
    Offline,
}

/// An owner of the past: valid only while the slot still holds the same application.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Former {
    /// Its slot.
    pub slot: Slot,
    /// The application that was there.
    pub app: AppId,
}

/// One processor of the ledger.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Processor {
    /// Its state now.
    pub state: PuState,
    /// Its owner; `Some` exactly for [`PuState::Owned`] and [`PuState::Leaving`].
    pub owner: Option<Slot>,
    /// Its owner once all announced moves are done.
    pub next: Option<Slot>,
    /// Its owner has said that it has nothing to run on it.
    pub idle: bool,
    /// Applications that run on it besides its owner.
    pub guests: u32,
    /// The owner before the present one; of a free one, the latest.
    pub last: Option<Former>,
    /// Time of the latest change of owner, nanoseconds.
    pub since_ns: u64,
}

impl Processor {
    /// Says whether applications may own it.
    pub fn is_usable(&self) -> bool {
        !matches!(self.state, PuState::Reserved | PuState::Offline)
    }
}

/// One measured point of a speedup curve.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Speedup {
    /// Processors it was measured with.
    pub processors: u32,
    /// Speedup over one processor, thousandths.
    pub speedup_milli: u32,
}

/// The state of the search for the number of processors that an application can use well (PDPA),
/// for the admission part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Search {
    /// No part searches for it.
    #[default]
    None,
    /// The search goes on.
    Going,
    /// The search has found it, and the application uses its processors well enough.
    Settled {
        /// It might use more well too: its request is not met and its tests are not used up.
        grows: bool,
    },
    /// It uses even few processors badly.
    Bad,
}

/// One application, as the engine sees it now (wishes are clamped, a sequential phase has lowered
/// `request` to 1).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct App {
    /// Its number; the order of arrival.
    pub id: AppId,
    /// Processors it could use now; no more than there are, but where processors have no owners.
    pub request: u32,
    /// Fewest processors it may have; at least 1.
    pub min: u32,
    /// Most processors it may have; not below `min`.
    pub max: u32,
    /// Share relative to others, thousandths; at least 1.
    pub weight_milli: u32,
    /// Processors that are its own once all announced moves are done.
    pub own: PuSet,
    /// Number of `own`.
    pub allocation: u32,
    /// Before-processors: the processors that it had at its latest deallocation, whoever has them
    /// now. Those that it kept then are among them.
    pub held: PuSet,
    /// Its home, for policies that give one.
    pub home: Option<NumaNodeId>,
    /// Most processors that the placement has been able to give it in this decision; `u32::MAX`
    /// until it has given less than its share.
    pub placeable: u32,
    /// Most processors that the turns part lets it have in this turn; `u32::MAX` unless it says
    /// otherwise ([`crate::Turn::limit`]).
    pub turn: u32,
    /// Its party: an index among the [`Party`]s of the machine.
    pub party: u32,
    /// Most processors that its party's part of the machine leaves it; `u32::MAX` where parties do
    /// not matter.
    pub entitled: u32,
    /// Bytes of its pages by NUMA node; empty: not known.
    pub memory: Vec<u64>,
    /// Memory it is going to need, bytes, as its user says; 0: not known.
    pub needs_memory: u64,
    /// Time when it was started, nanoseconds; 0 before.
    pub started_ns: u64,
    /// Its user's estimate of its run time, nanoseconds.
    pub estimate_ns: Option<u64>,
    /// Processor time it has had, nanoseconds.
    pub cpu_ns: u64,
    /// Its class.
    pub class: Class,
    /// Points of its speedup curve, by rising processors; of each count the latest report.
    pub speedup: Vec<Speedup>,
    /// The latest report of its speedup that was measured with the allocation it has; none since
    /// its allocation changed.
    pub report: Option<Speedup>,
    /// Reports of that kind so far: a greater number means a new one.
    pub reports: u32,
    /// The state that the share part last set with [`crate::Shares::set_search`].
    pub search: Search,
    /// Index of its first thread in [`View::threads`].
    pub first_thread: u32,
    /// Number of its threads there.
    pub thread_count: u32,
}

impl App {
    /// An application that could use this many processors, of which nothing else is known: any
    /// number will do, usual weight, malleable. It has no processors.
    pub const fn new(id: AppId, request: u32) -> Self {
        Self {
            id,
            request,
            min: 1,
            max: u32::MAX,
            weight_milli: 1000,
            own: PuSet::new(),
            allocation: 0,
            held: PuSet::new(),
            home: None,
            placeable: u32::MAX,
            turn: u32::MAX,
            party: 0,
            entitled: u32::MAX,
            memory: Vec::new(),
            needs_memory: 0,
            started_ns: 0,
            estimate_ns: None,
            cpu_ns: 0,
            class: Class::Malleable,
            speedup: Vec::new(),
            report: None,
            reports: 0,
            search: Search::None,
            first_thread: 0,
            thread_count: 0,
        }
    }

    /// Threads it would have by itself: its request within its own limits, even beyond the machine.
    pub fn threads(&self) -> u32 {
        self.request.clamp(self.min, self.max.max(self.min))
    }

    /// Says whether its minimum can be had of `left` processors where there are `capacity`.
    pub fn has_its_minimum(&self, left: u32, capacity: u32) -> bool {
        self.min <= left && self.min <= self.cap(capacity)
    }

    /// Processors it can be given at most: its request within its own limits, the machine's, the
    /// placement's and its party's.
    pub fn cap(&self, capacity: u32) -> u32 {
        self.wanted(capacity).min(self.entitled)
    }

    /// The same without the limit of its party.
    pub fn wanted(&self, capacity: u32) -> u32 {
        let wanted = self.request.clamp(self.min, self.max.max(self.min)).min(capacity);
        wanted.min(self.placeable).min(self.turn)
    }
}

/// One thread (virtual processor) of an application that has been started, for policies that choose
/// threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Thread {
    /// The application.
    pub app: Slot,
    /// Number of its virtual processor, from 0.
    pub vp: u32,
    /// The processor it ran on last.
    pub last: Option<PuId>,
    /// Bus-transaction rate (BTR), transactions per millisecond, in the latest quantum it ran;
    /// `None`: not measured yet, or no longer.
    pub rate: Option<u32>,
    /// Samples so far: a greater number means a new `rate`.
    pub samples: u32,
}

/// Processors that share one way to memory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bus {
    /// Its processors.
    pub pus: PuSet,
    /// Saturation bus-transaction rate (SBTR) of all of them together, transactions per
    /// millisecond; 0: not known.
    pub saturation: u32,
}

/// A user, a group of users together, or a job of a batch system. A machine is divided among
/// parties first, and then among the applications of each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Party {
    /// Share relative to other parties that have something to run, thousandths; at least 1.
    pub weight_milli: u32,
    /// Processors that all its applications together have at most; `u32::MAX`: any number.
    pub most: u32,
    /// Processors that are never given to other parties, even while it has nothing to run.
    pub reserved: u32,
}

impl Default for Party {
    fn default() -> Self {
        Self { weight_milli: 1000, most: u32::MAX, reserved: 0 }
    }
}

impl Party {
    /// A job of a batch system that was allocated `cpus` processors of the machine: they are its
    /// weight and its most. A `malleable` job can run on that many, at least and at most: it may
    /// have more than it was allocated while others leave them, and nobody else is given its
    /// fewest, but for what is not its `own` ([`own_of_job`]). `most`: a limit that somebody has
    /// set for a malleable job.
    pub fn of_job(cpus: u32, own: u32, malleable: Option<(u32, u32)>, most: Option<u32>) -> Self {
        let cpus = cpus.clamp(1, u32::MAX / 1000);
        let party = Self { weight_milli: cpus * 1000, most: cpus, reserved: 0 };
        let Some((least, limit)) = malleable else { return party };
        let most = most.unwrap_or(limit).clamp(1, limit.max(1));
        Self { most, reserved: least.min(own).min(most), ..party }
    }
}

/// The processors that are a job's own, of those that it was allocated: all, or, where the jobs on
/// a machine were allocated more than it has, its part of the machine in that ratio; rounded down.
/// Any unit, the same for all.
pub const fn own_of_job(allocated: u64, by_all: u64, machine: u64) -> u64 {
    if by_all <= machine { allocated } else { (allocated as u128 * machine as u128 / by_all as u128) as u64 }
}

/// All data that a policy may read.
#[derive(Debug, Clone, Copy)]
pub struct View<'a> {
    /// Time of the event, nanoseconds on the shell's clock.
    pub now_ns: u64,
    /// The machine: its tree of packages, nodes, caches and cores.
    pub machine: &'a Machine,
    /// The processors, by [`PuId`].
    pub pus: &'a [Processor],
    /// The applications, by [`Slot`]; entries that are not in `order` are vacant or take no part in
    /// this decision.
    pub apps: &'a [App],
    /// The applications among which processors are divided, in order of arrival.
    pub order: &'a [Slot],
    /// Number of processors that the applications in `order` may own.
    pub capacity: u32,
    /// Threads of the started applications, by order of arrival and number; empty unless the turns
    /// part chooses threads.
    pub threads: &'a [Thread],
    /// The machine's buses; every PU is on exactly one. Empty where the shell knows none.
    pub buses: &'a [Bus],
    /// Memory that is free, bytes by NUMA node; empty where the shell does not say.
    pub free_memory: &'a [u64],
}

impl<'a> View<'a> {
    /// One application.
    pub fn app(&self, slot: Slot) -> &'a App {
        &self.apps[slot.index()]
    }

    /// One processor.
    pub fn pu(&self, pu: PuId) -> &'a Processor {
        &self.pus[pu.index()]
    }

    /// The threads of one application.
    pub fn threads_of(&self, slot: Slot) -> &'a [Thread] {
        let app = self.app(slot);
        &self.threads[app.first_thread as usize..][..app.thread_count as usize]
    }

    /// The application that had this processor before, if it is still there.
    pub fn former(&self, pu: PuId) -> Option<Slot> {
        let former = self.pu(pu).last?;
        (self.apps.get(former.slot.index())?.id == former.app).then_some(former.slot)
    }
}
