//! Decides which processors each application gets: those that may have some only, by
//! [`Bounded`], and around them the others, by the placement part. Applications that may have
//! the same few processors, and a selective placement, may find fewer than the share; then the
//! share part divides again.

use crate::bounded::Bounded;
use crate::division::Division;
use crate::group;
use crate::site::Site;
use crate::worklist::WorkList;
use numaestro_policy::{Plan, Policy, Shares, Slot, View};

/// The plan, which goes on from decision to decision.
#[derive(Debug, Clone, Default)]
pub(crate) struct Placement {
    plan: Plan,
    bounded: Bounded,
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
        if site.places_anew() {
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
            let mut view = site.view();
            if site.ledger.bounds() {
                self.release_outsiders(site);
                self.bounded.place(site, division.shares(), &mut self.plan);
                view = View { order: self.bounded.others(), ..view };
            }
            policy.placement.place(&view, division.shares(), &mut self.plan);
            if !site.places_anew() || !self.lower_caps(site, division.shares()) {
                return;
            }
        }
    }

    /// Who does not take part gives up its processors: no number counts them. A decision has
    /// stopped such applications; where admission only tries, they still have theirs.
    fn release_outsiders(&mut self, site: &Site) {
        let mut at = 0;
        for &slot in site.ledger.started() {
            if group::is_next(site.among.order(), &mut at, slot) || site.ledger.account(slot).pinned {
                continue;
            }
            for pu in &site.ledger.app(slot).own {
                if self.plan.next(pu) == Some(slot) {
                    self.plan.release(pu);
                }
            }
        }
    }

    /// Caps each application that was placed on fewer processors than its share at that number.
    /// False if there was none. Caps only fall, so the loop ends.
    ///
    /// One that was placed below its minimum gets nothing in the next round. Others may have made
    /// room for it in this one, and would be capped for nothing: such applications go first.
    fn lower_caps(&self, site: &mut Site, shares: &Shares) -> bool {
        self.lower_caps_of(site, shares, |placed, min| placed < min) || self.lower_caps_of(site, shares, |_, _| true)
    }

    /// The same for those whose placed number and minimum are `chosen`.
    fn lower_caps_of(&self, site: &mut Site, shares: &Shares, chosen: impl Fn(u32, u32) -> bool) -> bool {
        let mut lowered = false;
        for &slot in site.among.order() {
            let (placed, app) = (self.plan.count(slot), site.ledger.app(slot));
            if placed < shares.count(slot) && placed < app.placeable && chosen(placed, app.min) {
                site.ledger.set_placeable(slot, placed);
                lowered = true;
            }
        }
        lowered
    }
}
