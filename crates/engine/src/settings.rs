//! The administrator's settings of the engine.

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
    /// The same time when a processor was lent and its owner wants it back: the borrower is on it
    /// by favour. Default 0.3 ms.
    pub reclaim_ns: Nanos,
    /// Time that processors taken by unmanaged load must have been free of it before they are given
    /// out again, so that load that comes and goes does not move processors each time. Delays
    /// nothing else. Default 100 ms.
    pub cooldown_ns: Nanos,
    /// Time after the first event in which the engine takes nothing from an application that
    /// arrived with a claim, and gives it nothing: other applications may still come and claim
    /// their processors. Default 2 s.
    pub recovery_ns: Nanos,
    /// Processors that no application ever gets. Default none.
    pub reserved: PuSet,
    /// The kinds of data and control that the host can give a policy. Default: requests and
    /// preemption.
    pub host: Needs,
    /// The machine's buses, with their saturation rates as far as known. Every PU is on exactly one
    /// bus. Default: none, and policies that need them are refused.
    pub buses: Vec<Bus>,
    /// The parties among which the machine is divided before it is divided among applications.
    /// Default: none, and all applications are alike.
    pub parties: Vec<Party>,
    /// Says whether processors move between running applications when only rounding asks for it.
    /// Default false.
    pub move_for_rounding: bool,
    /// Number of applications at the head of the queue that are told when their place changes.
    /// Every application is told its first place. Default: all.
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
