//! A share part as the conventional policy inside a policy of bandwidth: it decides how many
//! threads of each application run, before rates matter.
//!
//! The share says what each application is entitled to. It knows nothing of divisions before, so
//! [`Entitlements`] turns this into threads, and carries what rounding leaves out.
//!
//! Source: Antonopoulos et al. 2004, §4, the two general methods.

use super::entitlements::Entitlements;
use super::ready::Ready;
use crate::part::Share;
use crate::rejected::Rejected;
use crate::shares::Shares;
use crate::view::{App, Search, Slot, View};
use numaestro_topology::PuSet;

/// The share and its buffers.
#[derive(Debug, Clone)]
pub struct Division {
    share: Box<dyn Share>,
    shares: Shares,
    entitlements: Entitlements,
    /// Applications by their last thread in the list: the one that was served longest ago is first.
    order: Vec<Slot>,
    listed: Vec<bool>,
    /// Copies in which requests are multiplied.
    apps: Vec<App>,
}

impl Division {
    /// A division by this share.
    ///
    /// # Errors
    /// If its counts depend on processors held before, on homes or on speedups: this division
    /// starts afresh each time, on copies of the applications.
    pub fn new(share: Box<dyn Share>) -> Result<Self, Rejected> {
        if !share.space_shares() || share.needs_homes() || share.retains() || share.preempts() || share.needs().speedup
        {
            let name = share.info().name;
            return Err(Rejected::new(format!(
                "share `{name}` cannot be the conventional part of a policy of bandwidth: it depends on more than requests; dss, equi, equip and cluster do not"
            )));
        }
        Ok(Self {
            share,
            shares: Shares::new(),
            entitlements: Entitlements::default(),
            order: Vec::new(),
            listed: Vec::new(),
            apps: Vec::new(),
        })
    }

    /// The share as in policy texts.
    pub fn name(&self) -> String {
        crate::parameters::write_answer(self.share.info(), &self.share.parameters())
    }

    /// Divides `processors` among the applications in the list, each of which could use `times` as
    /// many as it has threads.
    pub fn divide(&mut self, view: &View<'_>, ready: &Ready, processors: u32, times: u32) {
        self.order.clear();
        self.listed.clear();
        self.listed.resize(view.apps.len(), false);
        for entry in ready.list.iter().rev() {
            if !std::mem::replace(&mut self.listed[entry.slot.index()], true) {
                self.order.push(entry.slot);
            }
        }
        self.order.reverse();
        for (slot, app) in view.apps.iter().enumerate() {
            let copy = multiplied(app, times);
            match self.apps.get_mut(slot) {
                Some(place) => *place = copy,
                None => self.apps.push(copy),
            }
        }
        let entitled = View { apps: &self.apps[..view.apps.len()], order: &self.order, capacity: processors, ..*view };
        self.shares.reset(view.apps.len());
        self.share.divide(&entitled, &mut self.shares);
        self.entitlements.grant(&entitled, &self.shares);
    }

    /// a(j) of the latest division.
    pub fn count(&self, slot: Slot) -> u32 {
        self.entitlements.count(slot)
    }
}

/// A copy of an application for the share; it has no processors yet.
fn multiplied(app: &App, times: u32) -> App {
    App {
        id: app.id,
        request: app.request.saturating_mul(times),
        min: app.min,
        max: app.max.saturating_mul(times),
        weight_milli: app.weight_milli,
        own: PuSet::new(),
        allocation: 0,
        held: PuSet::new(),
        home: None,
        placeable: u32::MAX,
        turn: u32::MAX,
        party: app.party,
        entitled: u32::MAX,
        memory: Vec::new(),
        needs_memory: app.needs_memory,
        started_ns: app.started_ns,
        estimate_ns: app.estimate_ns,
        cpu_ns: app.cpu_ns,
        class: app.class,
        speedup: Vec::new(),
        report: None,
        reports: 0,
        search: Search::None,
        first_thread: app.first_thread,
        thread_count: app.thread_count,
    }
}
