//! What stands in a timeline: intervals of processors, intervals of applications, moments.

use super::kind::Kind;
use numaestro_engine::Nanos;
use numaestro_topology::NumaNodeId;
use std::collections::BTreeMap;

/// The way in which somebody is on a processor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum How {
    /// It is its own.
    Owner,
    /// It has been told to vacate it.
    Leaving,
    /// It runs there beside the owner.
    Guest,
    /// Load that is not managed has it.
    Unmanaged,
}

impl How {
    /// The word for people.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Owner => "running",
            Self::Leaving => "leaving",
            Self::Guest => "guest",
            Self::Unmanaged => "unmanaged",
        }
    }
}

/// An application, or load that is not managed, on a processor for a while.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    pub from: Nanos,
    pub to: Nanos,
    /// `None` for load that is not managed.
    pub app: Option<u64>,
    pub how: How,
    /// Number of the processor among the application's own of its node, from 0: the lowest number
    /// that was free when it came.
    pub lane: u32,
}

/// The state of an application for a while: a word, the number of its processors, and the number of
/// processors of others that it is on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Phase {
    pub from: Nanos,
    pub to: Nanos,
    pub state: &'static str,
    pub count: u32,
    pub guest: u32,
}

/// One application, or the load that is not managed.
#[derive(Debug, Clone, Default)]
pub struct AppRow {
    /// Its program, if the journal says it.
    pub name: String,
    pub phases: Vec<Phase>,
    /// By node, which of its lanes are taken: it has been on as many processors of it at once.
    pub lanes: BTreeMap<NumaNodeId, Vec<bool>>,
}

/// Something that happened at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mark {
    pub at: Nanos,
    pub app: Option<u64>,
    pub kind: Kind,
    /// The value; `kind` gives its meaning.
    pub value: u64,
    /// For people; empty where the kind says it all.
    pub text: String,
}

impl AppRow {
    /// A number for one more processor of this node.
    pub(super) fn lane(&mut self, node: NumaNodeId) -> u32 {
        let taken = self.lanes.entry(node).or_default();
        let lane = taken.iter().position(|taken| !taken).unwrap_or(taken.len());
        if lane == taken.len() {
            taken.push(true);
        }
        taken[lane] = true;
        lane as u32
    }

    /// It is no longer on the processor with this number.
    pub(super) fn leave(&mut self, node: NumaNodeId, lane: u32) {
        if let Some(taken) = self.lanes.get_mut(&node) {
            taken[lane as usize] = false;
        }
    }

    pub(super) fn phase(&mut self, at: Nanos, state: &'static str, count: u32, guest: u32) {
        if let Some(phase) = self.phases.last_mut() {
            if (phase.state, phase.count, phase.guest) == (state, count, guest) {
                return;
            }
            phase.to = at;
        }
        self.phases.push(Phase { from: at, to: Nanos::MAX, state, count, guest });
    }
}
