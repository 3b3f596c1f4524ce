//! Owners are told to leave processors, and answer: they have carried a target out, or have nothing
//! to run on a processor. Some do not answer before their time is over.

use super::Ledger;
use crate::event::{Class, Nanos};
use numaestro_policy::{PageHome, Slot};
use numaestro_topology::{PuId, PuSet};

impl Ledger {
    /// Records the next target of an application, and returns its epoch. An application of class
    /// fold has carried it out as soon as the shell has.
    pub(crate) fn send_target(&mut self, slot: Slot, pus: &PuSet, count: u32, (shared, lent): (bool, bool)) -> u32 {
        let sent = &mut self.accounts[slot.index()].sent;
        sent.pus.clone_from(pus);
        (sent.epoch, sent.count, sent.shared, sent.lent) = (sent.epoch + 1, count, shared, lent);
        if self.apps[slot.index()].class == Class::Fold {
            sent.adopted = sent.epoch;
        }
        sent.epoch
    }

    /// Records the home of an application's pages. False if it has been told the same before.
    pub(crate) fn send_pages(&mut self, slot: Slot, home: PageHome) -> bool {
        std::mem::replace(&mut self.accounts[slot.index()].sent.pages, home) != home
    }

    /// The epoch of its latest target, and the largest one that it has carried out.
    pub(crate) fn epochs(&self, slot: Slot) -> (u32, u32) {
        let sent = &self.account(slot).sent;
        (sent.epoch, sent.adopted)
    }

    /// An application has carried `epoch` out. True if it has left processors by that.
    pub(crate) fn adopted(&mut self, slot: Slot, epoch: u32, now: Nanos) -> bool {
        let account = &mut self.accounts[slot.index()];
        if epoch > account.sent.epoch || epoch <= account.sent.adopted {
            return false;
        }
        account.sent.adopted = epoch;
        if account.leaving.is_empty() {
            return false;
        }
        let left = account.leaving.len();
        self.release_announced(slot, epoch, now);
        self.account(slot).leaving.len() < left
    }

    /// Lets go of every processor that it was told to leave with `epoch` or before.
    pub(crate) fn release_announced(&mut self, slot: Slot, epoch: u32, now: Nanos) {
        let mut vacated = std::mem::take(&mut self.scratch);
        let announced = |pu: &PuId| self.vacating.is_told(*pu, epoch);
        vacated.extend(self.account(slot).leaving.iter().filter(announced));
        for pu in vacated.drain(..) {
            self.let_go(pu, now);
        }
        self.scratch = vacated;
        if self.account(slot).leaving.is_empty() {
            self.vacating.settle(slot);
        } else {
            self.vacating.restart(slot, now);
        }
    }

    /// Says whether an application has been told of every processor that it has to leave.
    pub(crate) fn knows_to_leave(&self, slot: Slot) -> bool {
        self.account(slot).leaving.iter().all(|pu| self.vacating.is_told(pu, u32::MAX))
    }

    /// An application's latest target has told it which processors to leave.
    pub(crate) fn announced(&mut self, slot: Slot, now: Nanos, grace: Nanos) {
        let account = &self.accounts[slot.index()];
        self.vacating.tell(slot, &account.leaving, account.sent.epoch, now, grace);
    }

    /// The shell forces an application to carry its latest target out.
    pub(crate) fn forced(&mut self, slot: Slot, now: Nanos) {
        self.vacating.force(slot, self.accounts[slot.index()].sent.epoch, now);
    }

    /// Keeps in [`Self::vacating`] only the applications that still have processors to leave, in
    /// order of arrival.
    pub(crate) fn tidy_vacating(&mut self) {
        let apps = &self.apps;
        self.vacating.tidy(|slot| apps[slot.index()].id);
    }

    /// Records the processors on which an application has nothing to run. It has left those of them
    /// that it was told to leave. True if that is new.
    pub(crate) fn idle(&mut self, slot: Slot, idle: &PuSet, now: Nanos) -> bool {
        let mut new = false;
        for pu in &self.accounts[slot.index()].owned {
            let entry = &mut self.pus[pu.index()];
            new |= std::mem::replace(&mut entry.idle, idle.contains(pu)) != entry.idle;
        }
        if self.account(slot).leaving.intersects(idle) {
            let mut pus = std::mem::take(&mut self.scratch);
            let vacated = |pu: &PuId| idle.contains(*pu) && self.vacating.is_told(*pu, u32::MAX);
            pus.extend(self.account(slot).leaving.iter().filter(vacated));
            for pu in pus.drain(..) {
                self.let_go(pu, now);
                new = true;
            }
            self.scratch = pus;
            self.settle_leaving(slot);
        }
        new
    }

    /// The number of processors to take as the request of an application that says it could use
    /// this many. One with idle processors of its own uses the others, and no more.
    pub(crate) fn usable_by(&self, slot: Slot, processors: u32) -> u32 {
        let idle = self.account(slot).owned.iter().filter(|&pu| self.pu(pu).idle).count() as u32;
        match idle {
            0 => processors,
            1.. => processors.min(self.app(slot).allocation - idle),
        }
    }
}
