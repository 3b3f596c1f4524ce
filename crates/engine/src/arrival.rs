//! An application arrives: is its wish possible, and what does it bring along? Knows nothing of what it will get.

use crate::engine::Engine;
use crate::event::{Action, Wish};
use crate::ledger::{Limits, Phase};
use crate::parties::known_party;
use numaestro_policy::{AppId, PuState, Slot, Waiting};
use numaestro_topology::{NumaNodeId, PuSet};

/// Largest weight, so that sums of products stay far from overflow.
const WEIGHT_MILLI_MAX: u32 = 1_000_000;

impl Engine {
    /// True if there is something to decide.
    pub(crate) fn arrive(&mut self, id: AppId, wish: &Wish, actions: &mut Vec<Action>) -> bool {
        if let Some(reason) = self.objection(id, wish) {
            actions.push(Action::Refuse { app: Some(id), reason });
            return false;
        }
        self.newest = Some(id);
        let slot = self.ledger.enter(id, wish.class);
        self.subject = Some(slot);
        let account = self.ledger.account_mut(slot);
        account.phase = Phase::Waiting;
        account.limits = Limits {
            request: wish.request,
            min: wish.min.max(1),
            max: wish.max.max(1),
            weight_milli: wish.weight_milli.clamp(1, WEIGHT_MILLI_MAX),
            wait: wish.wait,
            estimate_ns: wish.estimate_ns,
        };
        let app = &mut self.ledger.apps[slot.index()];
        (app.party, app.needs_memory) = (known_party(&self.settings.parties, wish.party), wish.memory);
        self.refresh_wish(slot);
        if wish.request > 0
            && let Some(claim) = &wish.claim
        {
            self.claim(slot, claim, wish.home, actions);
            return true;
        }
        let processors = self.ledger.app(slot).cap(u32::MAX);
        self.ledger.queue.push(Waiting { app: slot, processors, estimate_ns: wish.estimate_ns });
        if wish.request == 0 {
            self.wrap(slot, actions);
        } else {
            self.only_queue = true;
        }
        true
    }

    fn objection(&self, id: AppId, wish: &Wish) -> Option<String> {
        let usable = self.ledger.usable.len() as u32;
        if self.newest.is_some_and(|newest| id <= newest) {
            Some(format!("application {id} has arrived already"))
        } else if wish.max == 0 || wish.min > wish.max {
            Some(format!("at least {} and at most {} processors contradict each other", wish.min, wish.max))
        } else if wish.min > usable {
            Some(format!("at least {} processors are wanted, but only {usable} can be given", wish.min))
        } else if wish.min > self.most_of(known_party(&self.settings.parties, wish.party)) {
            let most = self.most_of(known_party(&self.settings.parties, wish.party));
            Some(format!("at least {} processors are wanted, but its party may have {most} at most", wish.min))
        } else {
            None
        }
    }

    /// It runs already, on these, and calls this node its home: it keeps those that nobody else has.
    fn claim(&mut self, slot: Slot, claim: &PuSet, home: Option<NumaNodeId>, actions: &mut Vec<Action>) {
        for pu in claim.iter().filter(|pu| pu.index() < self.machine.pu_count()) {
            let entry = self.ledger.pus[pu.index()];
            if matches!(entry.state, PuState::Free | PuState::Unmanaged) && entry.next.is_none() {
                self.ledger.assign(pu, Some(slot), self.now);
            }
        }
        if let Some(home) = home.filter(|home| home.index() < self.machine.numa_nodes().len()) {
            self.ledger.apps[slot.index()].home = Some(home);
            self.ledger.news.homes.push(slot);
        }
        let recovering = self.now < self.recovered_at();
        let app = self.ledger.app(slot);
        let (id, pinned) = (app.id, recovering && app.allocation > 0);
        self.ledger.start(slot, Phase::Running, self.now);
        self.ledger.account_mut(slot).pinned = pinned;
        self.ledger.some.pinned |= pinned;
        self.ledger.regrouped = true;
        actions.push(Action::Start { app: id });
    }
}
