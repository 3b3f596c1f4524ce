//! Decides how many processors each application gets: the share part, or the work-list, divides
//! under the bounds of parties. Processors of a sequential application that nobody wants stay with
//! it. Counts that differ from the present ones by rounding only do not change.

use crate::hysteresis::keep_roundings;
use crate::parties::Parties;
use crate::site::Site;
use crate::worklist::WorkList;
use numaestro_policy::{Policy, Share, Shares, Slot};

/// Divisions in one decision, at most.
const ROUNDS_MAX: u32 = 4;

/// The counts of the latest division, and the bounds that parties set.
#[derive(Debug, Clone)]
pub(crate) struct Division {
    shares: Shares,
    parties: Parties,
}

impl Division {
    /// Nothing is divided yet.
    pub(crate) fn new() -> Self {
        Self { shares: Shares::new(), parties: Parties::default() }
    }

    /// The counts.
    pub(crate) fn shares(&self) -> &Shares {
        &self.shares
    }

    /// The bounds that parties set.
    pub(crate) fn parties(&self) -> &Parties {
        &self.parties
    }

    pub(crate) fn parties_mut(&mut self) -> &mut Parties {
        &mut self.parties
    }

    /// Divides, and divides again while others could use processors that an application may have
    /// and does not use. In the middle of a turn whose counts hold there is a work-list.
    pub(crate) fn divide(&mut self, site: &mut Site, share: &mut dyn Share, work_list: Option<WorkList<'_>>) {
        if !self.parties.apply(site) {
            self.divide_once(site, share, work_list);
            return;
        }
        for _ in 0..ROUNDS_MAX {
            self.parties.entitle(site, work_list.is_some());
            self.divide_once(site, share, work_list);
            Parties::clip(site, &mut self.shares);
            if !self.parties.lower_unused(site, &self.shares) {
                return;
            }
        }
    }

    fn divide_once(&mut self, site: &Site, share: &mut dyn Share, work_list: Option<WorkList<'_>>) {
        self.shares.reset(site.ledger.apps().len());
        match work_list {
            None => share.divide(&site.view(), &mut self.shares),
            Some(work_list) => work_list.divide(&site.view(), &mut self.shares),
        }
    }

    /// Leaves processors where they are if nobody needs them elsewhere.
    pub(crate) fn settle(&mut self, site: &Site, subject: Option<Slot>, work_list: Option<WorkList<'_>>) {
        self.lend_back(site);
        if !site.settings.move_for_rounding && work_list.is_none() {
            keep_roundings(site, subject, &mut self.shares);
        }
    }

    /// Processors of sequential applications that nobody wants stay with them.
    fn lend_back(&mut self, site: &Site) {
        let capacity = site.among.capacity();
        let mut left = capacity - self.shares.total();
        let mut rooms = self.parties.count(site, &self.shares);
        for &slot in site.among.order() {
            let activity = site.ledger.activity(slot);
            let count = self.shares.count(slot);
            if activity.sequential && count > 0 {
                let party = site.ledger.app(slot).party;
                let room = rooms.as_ref().map_or(u32::MAX, |rooms| rooms.left_for(party, capacity));
                let most = site.ledger.within(slot).map_or(capacity, |within| within.len() as u32);
                let before = activity.parallel_count.min(most).min(site.ledger.app(slot).placeable);
                let back = left.min(before.saturating_sub(count)).min(room);
                self.shares.set(slot, count + back);
                if let Some(rooms) = &mut rooms {
                    rooms.add(party, back);
                }
                left -= back;
            }
        }
    }

    /// Panics if the decision gives a party more or less than it may have.
    pub(crate) fn check(&mut self, site: &Site, policy: &Policy, work_list: Option<WorkList<'_>>) {
        let everything = policy.share.conserves_work() && !site.places_anew() && work_list.is_none();
        self.parties.check(site, &self.shares, everything);
    }
}
