//! The limits that a user sets for an application: fewest and most processors, and weight. They are
//! checked here when the application arrives, and when its user changes them while it runs. A limit
//! that cannot be kept is refused, and the former ones stay.
//!
//! The application's own request is not touched. It counts within the limits, so an application
//! cannot ask its way out of them.

use crate::account::{Limits, Phase};
use crate::admission::Admission;
use crate::changes::Changes;
use crate::event::Action;
use crate::life;
use crate::party::most_of;
use crate::site::Site;
use numaestro_policy::Slot;

/// Largest weight, so that sums of products stay far from overflow.
const WEIGHT_MILLI_MAX: u32 = 1_000_000;

/// Limits as a user states them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stated {
    /// Fewest processors.
    pub min: u32,
    /// Most processors.
    pub max: u32,
    /// Weight, thousandths.
    pub weight_milli: u32,
}

impl Stated {
    /// These limits as the engine goes by them; `others`: the wishes that they do not concern.
    pub(crate) fn within(self, others: Limits) -> Limits {
        let (min, max) = (self.min.max(1), self.max.max(1));
        Limits { min, max, weight_milli: self.weight_milli.clamp(1, WEIGHT_MILLI_MAX), ..others }
    }

    /// The reason why an application of this party cannot have them.
    pub(crate) fn objection(self, site: &Site, party: u32) -> Option<String> {
        let usable = site.ledger.usable().len() as u32;
        let most = most_of(&site.settings.parties, party);
        if self.max == 0 || self.min > self.max {
            Some(format!("at least {} and at most {} processors contradict each other", self.min, self.max))
        } else if self.min > usable {
            Some(format!("at least {} processors are wanted, but only {usable} can be given", self.min))
        } else if self.min > most {
            Some(format!("at least {} processors are wanted, but its party may have {most} at most", self.min))
        } else {
            None
        }
    }
}

/// The user of an application changes its limits.
pub(crate) fn change(
    site: &mut Site,
    admission: &mut Admission,
    slot: Slot,
    stated: Stated,
    actions: &mut Vec<Action>,
) -> Changes {
    let app = site.ledger.app(slot);
    if let Some(reason) = stated.objection(site, app.party) {
        actions.push(Action::Refuse { app: Some(app.id), reason });
        return Changes::NONE;
    }
    let phase = site.ledger.account(slot).phase;
    let limits = &mut site.ledger.activity_mut(slot).limits;
    let fresh = stated.within(*limits);
    if std::mem::replace(limits, fresh) == fresh {
        return Changes::NONE;
    }
    life::clamp_wish(site, admission, slot);
    match phase {
        Phase::Gone | Phase::Wrapper => Changes::NONE,
        Phase::Waiting => Changes::QUEUE,
        Phase::Running => Changes::DIVISION,
    }
}
