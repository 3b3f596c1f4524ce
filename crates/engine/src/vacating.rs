//! How processors are vacated: announced, answered, or taken when time is over. Knows nothing of who is next.

use crate::event::Nanos;
use crate::ledger::Ledger;
use numaestro_policy::Slot;
use numaestro_topology::PuId;

impl Ledger {
    /// An application has carried `epoch` out. False if that is nothing new, or was never asked.
    pub(crate) fn adopted(&mut self, slot: Slot, epoch: u32, now: Nanos) -> bool {
        let account = self.account_mut(slot);
        if epoch > account.sent.epoch || epoch <= account.adopted {
            return false;
        }
        account.adopted = epoch;
        let left = account.leaving.len();
        self.release_announced(slot, epoch, now);
        self.account(slot).leaving.len() < left
    }

    /// Lets go of everything whose vacating was announced with `epoch` or before.
    pub(crate) fn release_announced(&mut self, slot: Slot, epoch: u32, now: Nanos) {
        let mut vacated = std::mem::take(&mut self.scratch);
        let announced = |pu: &PuId| (1..=epoch).contains(&self.leave_epoch[pu.index()]);
        vacated.extend(self.account(slot).leaving.iter().filter(announced));
        for pu in vacated.drain(..) {
            self.let_go(pu, now);
        }
        self.scratch = vacated;
        let account = self.account_mut(slot);
        (account.leaving_since, account.forced) =
            if account.leaving.is_empty() { (None, None) } else { (Some(now), None) };
    }

    /// The target with this epoch has told the owner what to vacate.
    pub(crate) fn announced(&mut self, slot: Slot, epoch: u32, now: Nanos, grace: Nanos) {
        let account = &mut self.accounts[slot.index()];
        for pu in &account.leaving {
            let announced = &mut self.leave_epoch[pu.index()];
            if *announced == 0 {
                *announced = epoch;
                // A hurry shortens what time is left, never the other way round.
                let left = match account.leaving_since {
                    Some(since) => since.saturating_add(account.leaving_grace).saturating_sub(now),
                    None => Nanos::MAX,
                };
                (account.leaving_since, account.leaving_grace) = (Some(now), left.min(grace));
            }
        }
        if account.leaving_since.is_some() && !std::mem::replace(&mut account.listed, true) {
            self.vacating.push(slot);
        }
    }

    /// Leaves in `vacating`, in order of arrival, only those that still have something to vacate.
    pub(crate) fn forget_vacated(&mut self) {
        if self.vacating.is_empty() {
            return;
        }
        let accounts = &mut self.accounts;
        self.vacating.retain(|slot| {
            let account = &mut accounts[slot.index()];
            account.listed = account.leaving_since.is_some() || account.forced.is_some();
            account.listed
        });
        self.vacating.sort_unstable_by_key(|slot| self.apps[slot.index()].id);
    }

    pub(crate) fn settle_leaving(&mut self, slot: Slot) {
        let account = self.account_mut(slot);
        if account.leaving.is_empty() {
            (account.leaving_since, account.forced) = (None, None);
        }
    }
}
