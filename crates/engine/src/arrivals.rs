//! An application arrives. The engine refuses an impossible wish, and the application keeps the
//! processors and home that it claims.

use crate::account::{Limits, Phase};
use crate::admission::Admission;
use crate::changes::Changes;
use crate::event::{Action, Wish};
use crate::group;
use crate::life;
use crate::limits::Stated;
use crate::party::known_party;
use crate::site::Site;
use numaestro_policy::{AppId, PuState, Slot};
use numaestro_topology::{NumaNodeId, PuSet};

/// The newest application so far.
#[derive(Debug, Clone, Default)]
pub(crate) struct Arrivals {
    /// The newest one that was not refused.
    newest: Option<AppId>,
    /// The largest number of an arrival, refused or not.
    largest: Option<AppId>,
}

impl Arrivals {
    /// The number that a shell gives to the next arrival: shells count all arrivals from 1, the
    /// refused ones too.
    pub(crate) fn next_number(&self) -> AppId {
        AppId(self.largest.map_or(1, |largest| largest.0.saturating_add(1)))
    }

    /// An application arrives. `recovering`: it keeps the processors it claims for a while.
    pub(crate) fn arrive(
        &mut self,
        site: &mut Site,
        admission: &mut Admission,
        (id, wish): (AppId, &Wish),
        recovering: bool,
        actions: &mut Vec<Action>,
    ) -> Changes {
        let party = known_party(&site.settings.parties, wish.party);
        self.largest = self.largest.max(Some(id));
        let stated = Stated { min: wish.min, max: wish.max, weight_milli: wish.weight_milli };
        if let Some(reason) = self.objection(id).or_else(|| stated.objection(site, party)) {
            actions.push(Action::Refuse { app: Some(id), reason });
            return Changes::NONE;
        }
        self.newest = Some(id);
        let limits = Limits::new(wish.request, wish.wait, wish.estimate_ns);
        let slot = site.ledger.enter(id, wish.class, stated.within(limits));
        site.ledger.set_origin(slot, party, wish.memory);
        site.ledger.allow(slot, &wish.allowed);
        group::clamp_wish(site, slot);
        let changes = match &wish.claim {
            _ if wish.request == 0 => life::wrap(site, admission, slot, actions),
            Some(claimed) => claim(site, slot, claimed, wish.home, recovering, actions),
            None => {
                admission.push(&site.ledger, slot);
                Changes::QUEUE
            }
        };
        Changes { subject: Some(slot), ..changes }
    }

    fn objection(&self, id: AppId) -> Option<String> {
        let late = self.newest.is_some_and(|newest| id <= newest);
        late.then(|| format!("application {id} has arrived already"))
    }
}

/// An application runs already, on these processors, and calls this node its home: it keeps the
/// processors that no other application has.
fn claim(
    site: &mut Site,
    slot: Slot,
    claimed: &PuSet,
    home: Option<NumaNodeId>,
    recovering: bool,
    actions: &mut Vec<Action>,
) -> Changes {
    for pu in claimed.iter().filter(|pu| pu.index() < site.machine.pu_count()) {
        let entry = site.ledger.pu(pu);
        let allowed = site.ledger.within(slot).is_none_or(|within| within.contains(pu));
        if allowed && matches!(entry.state, PuState::Free | PuState::Unmanaged) && entry.next.is_none() {
            site.ledger.assign(pu, Some(slot), site.now);
        }
    }
    site.ledger.set_home(slot, home.filter(|home| home.index() < site.machine.numa_nodes().len()));
    site.ledger.start(slot, Phase::Running, site.now);
    let app = site.ledger.app(slot);
    actions.push(Action::Start { app: app.id });
    let pinned = recovering && app.allocation > 0;
    site.ledger.pin(slot, pinned);
    Changes::GROUP
}
