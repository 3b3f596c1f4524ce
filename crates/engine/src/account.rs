//! The engine's record of an application, beside the record that policies see. These are plain
//! records: the ledger writes all of them but [`Activity`], and hands them out to be read.

use crate::event::Nanos;
use numaestro_policy::PageHome;
use numaestro_topology::PuSet;

/// The stage of its life that an application is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    /// The slot is vacant.
    Gone,
    /// In the queue.
    Waiting,
    /// Takes part in the division.
    Running,
    /// Takes no part: its children do.
    Wrapper,
}

/// The wishes of the user and the program, before any clamping.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Limits {
    /// Processors it could use.
    pub request: u32,
    pub min: u32,
    pub max: u32,
    pub weight_milli: u32,
    pub wait: Option<bool>,
    pub estimate_ns: Option<Nanos>,
}

impl Limits {
    /// The wishes of an application whose user sets no limits.
    pub(crate) fn new(request: u32, wait: Option<bool>, estimate_ns: Option<Nanos>) -> Self {
        Self { request, min: 1, max: u32::MAX, weight_milli: 1000, wait, estimate_ns }
    }
}

/// The wishes of an application, and its state as the shell tells it.
#[derive(Debug, Clone, Copy)]
#[allow(clippy::struct_excessive_bools)] // Each is a fact of its own; all combinations occur.
pub(crate) struct Activity {
    pub limits: Limits,
    pub sequential: bool,
    /// It waits for something outside, and lends everything.
    pub blocked: bool,
    /// Processors it had when its sequential phase began.
    pub parallel_count: u32,
    /// It does not run until it is told to go on.
    pub stopped: bool,
    /// The shell cannot stop it.
    pub unstoppable: bool,
    /// Threads it should have where processors have no owners; 0: as many as its processors.
    pub team: u32,
}

/// The latest target and page home that an application was told.
#[derive(Debug, Clone)]
pub(crate) struct Sent {
    /// Epoch of the latest `Action::Target`; 0: none yet.
    pub epoch: u32,
    /// Threads.
    pub count: u32,
    pub pus: PuSet,
    pub shared: bool,
    pub lent: bool,
    /// Largest epoch carried out.
    pub adopted: u32,
    /// Home of its new pages.
    pub pages: PageHome,
}

/// The ledger's record of an application, beside the record that policies see.
#[derive(Debug, Clone)]
pub(crate) struct Account {
    pub phase: Phase,
    pub activity: Activity,
    /// It arrived with a claim that still holds.
    pub pinned: bool,
    /// The only processors it may have, as it was said; empty: any.
    pub allowed: PuSet,
    /// The usable ones of them, if these are some and not all; else empty: nothing bounds it.
    pub within: PuSet,
    /// Processors it owns and keeps.
    pub owned: PuSet,
    /// Processors it owns and is leaving.
    pub leaving: PuSet,
    /// Number of processors in both sets.
    pub on: u32,
    /// Time when `on` changed or its processor time was last brought up to date.
    pub on_since: Nanos,
    /// Time of its latest deallocation, nanoseconds: of the latest moment in which it lost
    /// processors.
    pub deallocated: Option<Nanos>,
    /// Processors that it runs on as a guest, because it has none of its own.
    pub guest_of: PuSet,
    pub sent: Sent,
    /// Its target may have changed.
    pub dirty: bool,
}

impl Account {
    /// The account of a vacant slot, with room for so many processors.
    pub(crate) fn vacant(pus: usize) -> Self {
        let set = || PuSet::with_capacity(pus);
        Self::with_sets([set(), set(), set(), set(), set(), set()])
    }

    /// Makes the account that of a vacant slot; the sets keep their memory.
    pub(crate) fn vacate(&mut self) {
        let (owned, leaving, guest_of) = (&mut self.owned, &mut self.leaving, &mut self.guest_of);
        let sets = [&mut self.allowed, &mut self.within, owned, leaving, guest_of, &mut self.sent.pus];
        *self = Self::with_sets(sets.map(|set| {
            set.clear();
            std::mem::take(set)
        }));
    }

    fn with_sets([allowed, within, owned, leaving, guest_of, pus]: [PuSet; 6]) -> Self {
        let limits = Limits { request: 0, min: 1, max: 1, weight_milli: 1, wait: None, estimate_ns: None };
        Self {
            phase: Phase::Gone,
            activity: Activity {
                limits,
                sequential: false,
                blocked: false,
                parallel_count: 0,
                stopped: false,
                unstoppable: false,
                team: 0,
            },
            pinned: false,
            allowed,
            within,
            owned,
            leaving,
            on: 0,
            on_since: 0,
            deallocated: None,
            guest_of,
            sent: Sent { epoch: 0, count: 0, pus, shared: false, lent: false, adopted: 0, pages: PageHome::FirstTouch },
            dirty: false,
        }
    }
}
