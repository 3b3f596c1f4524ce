//! Processors that are left to load that is not managed. More of it takes effect at once, less of
//! it when it has lasted.

use crate::event::Nanos;
use crate::site::Site;
use numaestro_policy::PuState;
use numaestro_topology::PuId;

/// How many processors it takes.
#[derive(Debug, Clone, Default)]
pub(crate) struct Unmanaged {
    processors: u32,
    /// A smaller number of them, and when it counts.
    soon: Option<(u32, Nanos)>,
}

impl Unmanaged {
    /// Processors that it takes.
    pub(crate) fn processors(&self) -> u32 {
        self.processors
    }

    /// When fewer count.
    pub(crate) fn deadline(&self) -> Option<Nanos> {
        self.soon.map(|(_, at)| at)
    }

    /// It takes so many now; fewer count at `later`. True if that changes something at once.
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

    /// Time has passed. True if fewer count now.
    pub(crate) fn pass_time(&mut self, now: Nanos) -> bool {
        let due = self.soon.filter(|&(_, at)| now >= at);
        if let Some((processors, _)) = due {
            (self.processors, self.soon) = (processors, None);
        }
        due.is_some()
    }

    /// Marks as many free processors as it takes, beside those that are marked already: siblings of
    /// marked ones first, then the last ones in hardware order.
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
