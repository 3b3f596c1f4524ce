//! Decides which processors each application gets. A selective placement may find fewer than the
//! share; then the share part divides the rest again.

use crate::division::Division;
use crate::site::Site;
use crate::worklist::WorkList;
use numaestro_policy::{Plan, Policy, Shares, Slot};

/// The plan, which goes on from decision to decision.
#[derive(Debug, Clone, Default)]
pub(crate) struct Placement {
    plan: Plan,
}

impl Placement {
    /// The plan: the next owner of each processor.
    pub(crate) fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Processors that the plan gives an application.
    pub(crate) fn count(&self, slot: Slot) -> u32 {
        self.plan.count(slot)
    }

    /// Divides and places.
    pub(crate) fn place(
        &mut self,
        site: &mut Site,
        division: &mut Division,
        policy: &mut Policy,
        work_list: Option<WorkList<'_>>,
        subject: Option<Slot>,
    ) {
        if site.regime.selects() {
            for &slot in site.among.order() {
                site.ledger.set_placeable(slot, u32::MAX);
            }
        }
        loop {
            division.divide(site, &mut *policy.share, work_list);
            division.settle(site, subject, work_list);
            let unplanned = site.ledger.unplanned();
            self.plan.follow(&site.view(), &unplanned.pus, &unplanned.homes);
            site.ledger.planned();
            policy.placement.place(&site.view(), division.shares(), &mut self.plan);
            if !site.regime.selects() || !self.lower_caps(site, division.shares()) {
                return;
            }
        }
    }

    /// Caps each application that was placed on fewer processors than its share at that number.
    /// False if there was none. Caps only fall, so the loop ends.
    fn lower_caps(&self, site: &mut Site, shares: &Shares) -> bool {
        let mut lowered = false;
        for &slot in site.among.order() {
            let placed = self.plan.count(slot);
            if placed < shares.count(slot) && placed < site.ledger.app(slot).placeable {
                site.ledger.set_placeable(slot, placed);
                lowered = true;
            }
        }
        lowered
    }
}
