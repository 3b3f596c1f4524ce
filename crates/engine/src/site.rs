//! What a decision is about: the machine, what the administrator says, how processors are given,
//! the time, and who has what. A plain record: each of its parts guards its own state. What a
//! policy may see of it is built here and nowhere else.

use crate::event::Nanos;
use crate::ledger::Ledger;
use crate::participants::Participants;
use crate::regime::Regime;
use crate::settings::Settings;
use crate::threads::Threads;
use numaestro_policy::View;
use numaestro_topology::Machine;

/// See the head of this file.
#[derive(Debug, Clone)]
pub(crate) struct Site {
    pub machine: Machine,
    pub settings: Settings,
    pub regime: Regime,
    /// Time of the present event, nanoseconds; never goes back.
    pub now: Nanos,
    pub ledger: Ledger,
    /// Among whom processors are divided.
    pub among: Participants,
    pub threads: Threads,
    /// Memory that is free, bytes by NUMA node.
    pub free_memory: Vec<u64>,
}

impl Site {
    /// What the policy sees.
    pub(crate) fn view(&self) -> View<'_> {
        View {
            now_ns: self.now,
            machine: &self.machine,
            pus: self.ledger.pus(),
            apps: self.ledger.apps(),
            order: self.among.order(),
            capacity: self.among.capacity(),
            threads: self.threads.listed(),
            buses: &self.settings.buses,
            free_memory: &self.free_memory,
        }
    }
}
