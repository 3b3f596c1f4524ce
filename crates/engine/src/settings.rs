//! What the administrator decides about the engine. Knows nothing of configuration files.

use crate::event::Nanos;
use numaestro_policy::{Bus, Needs, Party};
use numaestro_topology::PuSet;

/// Fixed for the life of an engine, except the policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// The policy to start with, as [`numaestro_policy::Policy::parse`] takes it. Default: the
    /// empty text, which is `equi`.
    pub policy: String,
    /// Time that an application has to vacate processors before it is folded. Default 10 ms.
    pub grace_ns: Nanos,
    /// The same where a processor was lent and its owner wants it back: the borrower is on it by
    /// favour. Default 0.3 ms.
    pub reclaim_ns: Nanos,
    /// Time that processors taken by unmanaged load must have been free of it before they are given
    /// out again, so that load that comes and goes does not move processors each time. Delays
    /// nothing else. Default 100 ms.
    pub cooldown_ns: Nanos,
    /// Time after the first event in which nothing is taken from an application that arrived with a
    /// claim, and nothing given to it: others like it may still come for what they have. Default 2
    /// s.
    pub recovery_ns: Nanos,
    /// Processors that are never given to anybody. Default none.
    pub reserved: PuSet,
    /// What the host can feed a policy. Default: requests and preemption.
    pub host: Needs,
    /// The machine's buses, with what they carry as far as known: every PU is on exactly one.
    /// Default: none, and policies that need them are refused.
    pub buses: Vec<Bus>,
    /// Among whom the machine is shared before it is shared among applications. Default: none, and
    /// all applications are alike.
    pub parties: Vec<Party>,
    /// Whether processors move between running applications when only rounding asks for it. Default
    /// false.
    pub move_for_rounding: bool,
    /// How many at the head of the queue are told when their place changes; everybody is told the
    /// first one. Default all.
    pub positions: u32,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            policy: String::new(),
            grace_ns: 10_000_000,
            reclaim_ns: 300_000,
            cooldown_ns: 100_000_000,
            recovery_ns: 2_000_000_000,
            reserved: PuSet::new(),
            host: Needs { requests: true, preemption: true, ..Needs::NONE },
            buses: Vec::new(),
            parties: Vec::new(),
            move_for_rounding: false,
            positions: u32::MAX,
        }
    }
}
