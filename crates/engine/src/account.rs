//! What the engine keeps of an application besides what policies see. Knows nothing of what happens to it.

use crate::event::Nanos;
use numaestro_policy::PageHome;
use numaestro_topology::{PuId, PuSet};

/// What an application is doing, as far as processors go.
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

/// What the user and the program wish, before any clamping.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Limits {
    pub request: u32,
    pub min: u32,
    pub max: u32,
    pub weight_milli: u32,
    pub wait: Option<bool>,
    pub estimate_ns: Option<Nanos>,
}

/// The latest `Action::Target`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Sent {
    /// 0 = none yet.
    pub epoch: u32,
    pub count: u32,
    pub pus: PuSet,
    pub shared: bool,
    pub lent: bool,
}

/// What the engine keeps of an application besides what policies see.
#[derive(Debug, Clone)]
#[allow(clippy::struct_excessive_bools)] // Each is a fact of its own; all combinations occur.
pub(crate) struct Account {
    pub phase: Phase,
    pub limits: Limits,
    pub sequential: bool,
    /// It waits for something outside, and lends everything.
    pub blocked: bool,
    /// Processors it had when its sequential phase began.
    pub parallel_count: u32,
    /// Owned and not leaving.
    pub owned: PuSet,
    /// Owned and leaving.
    pub leaving: PuSet,
    /// Number of both.
    pub on: u32,
    /// When `on` changed, or its processor time was last brought up to date.
    pub on_since: Nanos,
    /// Processors of others that it runs on because it has none of its own.
    pub guest_of: PuSet,
    pub sent: Sent,
    /// Largest epoch carried out.
    pub adopted: u32,
    /// When the first of the processors in `leaving` was announced.
    pub leaving_since: Option<Nanos>,
    /// How long it has for that, from then on.
    pub leaving_grace: Nanos,
    /// When and for which epoch it was forced, if it still has to vacate something.
    pub forced: Option<(Nanos, u32)>,
    /// It is in `Ledger::vacating`.
    pub listed: bool,
    /// It arrived with a claim that still holds.
    pub pinned: bool,
    /// Its target may have changed, and it is in `Ledger::dirty`.
    pub dirty: bool,
    /// Its place in the queue as last told; 0 = not told.
    pub position: u32,
    /// Threads it should have where processors have no owners; 0 = as many as its processors.
    pub team: u32,
    /// Where its pages go, as last told.
    pub pages: PageHome,
    /// It does not run until it is told to go on.
    pub stopped: bool,
    /// The shell cannot stop it.
    pub unstoppable: bool,
    /// What is known of its threads, by virtual processor.
    pub vps: Vec<Vp>,
}

/// What is known of one thread.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Vp {
    /// Latest bus-transaction rate, transactions per millisecond.
    pub rate: Option<u32>,
    /// Rates so far.
    pub samples: u32,
    /// Where it ran last.
    pub last: Option<PuId>,
}

impl Account {
    pub(crate) fn vacant(pus: usize) -> Self {
        let set = || PuSet::with_capacity(pus);
        Self {
            phase: Phase::Gone,
            limits: Limits { request: 0, min: 1, max: 1, weight_milli: 1, wait: None, estimate_ns: None },
            sequential: false,
            blocked: false,
            parallel_count: 0,
            owned: set(),
            leaving: set(),
            on: 0,
            on_since: 0,
            guest_of: set(),
            sent: Sent { pus: set(), ..Sent::default() },
            adopted: 0,
            leaving_since: None,
            leaving_grace: 0,
            forced: None,
            listed: false,
            pinned: false,
            dirty: false,
            position: 0,
            team: 0,
            pages: PageHome::FirstTouch,
            stopped: false,
            unstoppable: false,
            vps: Vec::new(),
        }
    }
}
