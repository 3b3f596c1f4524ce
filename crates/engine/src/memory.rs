//! Where pages are and how much memory is left, as the shell says from time to time. Knows nothing of how that is found out.

use crate::engine::Engine;
use numaestro_policy::{AppId, Slot};
use numaestro_topology::NumaNodeId;

impl Engine {
    /// The home that an application has been given by the placement, if any.
    pub fn home(&self, app: AppId) -> Option<NumaNodeId> {
        self.ledger.app(self.ledger.slot(app)?).home
    }

    /// The pages of an application. They are looked at when there is something to decide; by themselves they are no reason.
    pub(crate) fn resides(&mut self, slot: Slot, bytes: &[u64]) -> bool {
        let nodes = self.machine.numa_nodes().len();
        let memory = &mut self.ledger.apps[slot.index()].memory;
        memory.clear();
        memory.extend(bytes.iter().take(nodes));
        false
    }

    /// The free memory of every node.
    pub(crate) fn memory_left(&mut self, bytes: &[u64]) -> bool {
        let nodes = self.machine.numa_nodes().len();
        self.free_memory.clear();
        self.free_memory.extend(bytes.iter().take(nodes));
        false
    }
}
