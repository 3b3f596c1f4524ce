//! The data that decisions are about: the machine, the administrator's settings, the regime, the
//! time, and the ledger. A plain record: each of its parts guards its own state. The view of a
//! policy is built here and nowhere else.

use crate::event::Nanos;
use crate::ledger::Ledger;
use crate::participants::Participants;
use crate::party::known_party;
use crate::regime::Regime;
use crate::settings::Settings;
use crate::threads::Threads;
use numaestro_policy::{Party, Slot, View};
use numaestro_topology::Machine;

/// The data that decisions are about.
#[derive(Debug, Clone)]
pub(crate) struct Site {
    pub machine: Machine,
    pub settings: Settings,
    pub regime: Regime,
    /// Time of the present event, nanoseconds; never goes back.
    pub now: Nanos,
    pub ledger: Ledger,
    /// The applications among which processors are divided.
    pub among: Participants,
    pub threads: Threads,
    /// Memory that is free, bytes by NUMA node.
    pub free_memory: Vec<u64>,
}

impl Site {
    /// Says whether an application may be placed on fewer processors than its share: the placement
    /// is selective, or some applications may have some processors only. Then the share part
    /// divides again.
    pub(crate) fn places_anew(&self) -> bool {
        self.regime.selects() || self.ledger.bounds()
    }

    /// Says whether the latest decision has freed a processor, and the placement is selective. Such
    /// a placement gives only processors that were free before, so there is something to decide.
    pub(crate) fn has_freed(&self) -> bool {
        self.regime.selects() && self.ledger.has_freed()
    }

    /// Says the same, and forgets it.
    pub(crate) fn take_freed(&mut self) -> bool {
        self.ledger.take_freed() && self.regime.selects()
    }

    /// Other parties share the machine from now on. False if they are the same.
    pub(crate) fn set_parties(&mut self, parties: &[Party]) -> bool {
        let differ = self.settings.parties != parties;
        if differ {
            self.settings.parties = parties.to_vec();
            self.ledger.renumber_parties(|party| known_party(parties, party));
        }
        differ
    }

    /// The view that the policy is given.
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

    /// The free memory of every node, bytes. Nodes that the machine does not have do not count.
    pub(crate) fn set_free_memory(&mut self, bytes: &[u64]) {
        let nodes = self.machine.numa_nodes().len();
        self.free_memory.clear();
        self.free_memory.extend(bytes.iter().take(nodes));
    }

    /// The memory of an application, bytes by node.
    pub(crate) fn set_memory(&mut self, slot: Slot, bytes: &[u64]) {
        let nodes = self.machine.numa_nodes().len();
        self.ledger.set_memory(slot, bytes.iter().copied().take(nodes));
    }

    /// The most that a bus carries, transactions per millisecond.
    pub(crate) fn set_saturation(&mut self, bus: u32, rate: u32) {
        if let Some(bus) = self.settings.buses.get_mut(bus as usize) {
            bus.saturation = rate;
        }
    }
}
