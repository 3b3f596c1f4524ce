//! Sets processors aside for unmanaged load. More load takes effect at once, less load when it has
//! lasted.

use crate::event::Nanos;
use crate::site::Site;
use numaestro_policy::PuState;
use numaestro_topology::PuId;

/// The number of processors that unmanaged load takes.
#[derive(Debug, Clone, Default)]
pub(crate) struct Unmanaged {
    processors: u32,
    /// A smaller number of processors, and the time when it counts.
    soon: Option<(u32, Nanos)>,
}

impl Unmanaged {
    /// Number of processors that the load takes.
    pub(crate) fn processors(&self) -> u32 {
        self.processors
    }

    /// Time when the smaller number counts.
    pub(crate) fn deadline(&self) -> Option<Nanos> {
        self.soon.map(|(_, at)| at)
    }

    /// The load takes so many processors now; a smaller number counts at `later`. True if that
    /// changes something at once.
    pub(crate) fn set(&mut self, processors: u32, later: Nanos) -> bool {
        if processors < self.processors {
            if self.soon.is_none_or(|(soon, _)| soon != processors) {
                self.soon = Some((processors, later));
            }
            return false;
        }
        let changed = processors > self.processors;
        (self.processors, self.soon) = (processors, None);
        changed
    }

    /// Time has passed. True if a smaller number counts now.
    pub(crate) fn pass_time(&mut self, now: Nanos) -> bool {
        let due = self.soon.filter(|&(_, at)| now >= at);
        if let Some((processors, _)) = due {
            (self.processors, self.soon) = (processors, None);
        }
        due.is_some()
    }

    /// Marks free processors until as many are marked as the load takes: siblings of marked ones
    /// first, then the last ones in hardware order.
    pub(crate) fn mark(&self, site: &mut Site) {
        let ledger = &mut site.ledger;
        for _ in ledger.unmanaged()..self.processors.min(ledger.usable().len() as u32 - 1) {
            let pus = ledger.pus();
            let is_free = |pu: &PuId| {
                let pu = pus[pu.index()];
                pu.state == PuState::Free && pu.next.is_none() && pu.guests == 0
            };
            let beside = |pu: PuId| {
                let mut siblings = site.machine.smt_siblings(pu).iter();
                siblings.any(|sibling| pus[sibling.index()].state == PuState::Unmanaged)
            };
            let free = (0..pus.len() as u32).map(PuId).filter(is_free);
            let Some(best) = free.max_by_key(|&pu| (beside(pu), pu)) else { return };
            ledger.leave_to_unmanaged(best);
        }
    }
}
