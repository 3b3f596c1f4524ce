//! Who has been told to leave processors, and until when. An owner has a grace time from the target
//! that tells it; when that is over it is forced, and when a forced one does not answer either, it
//! has left.

use crate::event::Nanos;
use numaestro_policy::{AppId, Slot};
use numaestro_topology::{PuId, PuSet};

/// State: by processor and by slot.
#[derive(Debug, Clone)]
pub(crate) struct Vacating {
    /// By processor: the epoch of the target that told its owner to leave; 0: not told yet.
    told: Vec<u32>,
    /// By slot.
    notices: Vec<Notice>,
    /// All that have a notice, among others that had one.
    listed: Vec<Slot>,
}

/// How long an application has.
#[derive(Debug, Clone, Copy, Default)]
struct Notice {
    /// When it was told to leave the first of what it has still to leave.
    since: Option<Nanos>,
    /// How long it has for that, nanoseconds.
    grace: Nanos,
    /// When and for which epoch it was forced.
    forced: Option<(Nanos, u32)>,
    listed: bool,
}

/// What is to be done because time is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Overdue {
    /// It is to be forced.
    Force,
    /// It was forced for this epoch: what it was to leave by then is taken.
    Take(u32),
}

impl Vacating {
    pub(crate) fn new(pus: usize) -> Self {
        Self { told: vec![0; pus], notices: Vec::new(), listed: Vec::new() }
    }

    /// There is one more slot.
    pub(crate) fn add_slot(&mut self) {
        self.notices.push(Notice::default());
    }

    /// The owner of a processor will have to leave it, once it is told.
    pub(crate) fn announce(&mut self, pu: PuId) {
        self.told[pu.index()] = 0;
    }

    /// Whether the owner has been told, with this epoch or before.
    pub(crate) fn is_told(&self, pu: PuId, epoch: u32) -> bool {
        (1..=epoch).contains(&self.told[pu.index()])
    }

    /// The target with this epoch has told the owner what to leave.
    pub(crate) fn tell(&mut self, slot: Slot, leaving: &PuSet, epoch: u32, now: Nanos, grace: Nanos) {
        let notice = &mut self.notices[slot.index()];
        for pu in leaving {
            let told = &mut self.told[pu.index()];
            if *told == 0 {
                *told = epoch;
                // A hurry shortens what time is left, never the other way round.
                let left = match notice.since {
                    Some(since) => since.saturating_add(notice.grace).saturating_sub(now),
                    None => Nanos::MAX,
                };
                (notice.since, notice.grace) = (Some(now), left.min(grace));
            }
        }
        if notice.since.is_some() && !std::mem::replace(&mut notice.listed, true) {
            self.listed.push(slot);
        }
    }

    /// It has answered; what it has still to leave it was told later.
    pub(crate) fn restart(&mut self, slot: Slot, now: Nanos) {
        let notice = &mut self.notices[slot.index()];
        (notice.since, notice.forced) = (Some(now), None);
    }

    /// It has nothing to leave any more.
    pub(crate) fn settle(&mut self, slot: Slot) {
        let notice = &mut self.notices[slot.index()];
        (notice.since, notice.forced) = (None, None);
    }

    /// It is being forced to carry out this epoch.
    pub(crate) fn force(&mut self, slot: Slot, epoch: u32, now: Nanos) {
        self.notices[slot.index()].forced = Some((now, epoch));
    }

    /// Forgets those that have nothing to leave any more; the others are in order of arrival.
    #[inline]
    pub(crate) fn tidy(&mut self, id: impl Fn(Slot) -> AppId) {
        if self.listed.is_empty() {
            return;
        }
        let notices = &mut self.notices;
        self.listed.retain(|slot| {
            let notice = &mut notices[slot.index()];
            notice.listed = notice.since.is_some() || notice.forced.is_some();
            notice.listed
        });
        self.listed.sort_unstable_by_key(|&slot| id(slot));
    }

    /// All that may have a notice.
    pub(crate) fn listed(&self) -> &[Slot] {
        &self.listed
    }

    /// What is to be done with one of them. `grace` is the time that a forced one has, nanoseconds.
    pub(crate) fn overdue(&self, slot: Slot, now: Nanos, grace: Nanos) -> Option<Overdue> {
        let notice = &self.notices[slot.index()];
        let overdue = notice.forced.map_or(Overdue::Force, |(_, epoch)| Overdue::Take(epoch));
        notice.ends(grace).filter(|&at| now >= at).map(|_| overdue)
    }

    /// When the first grace time ends.
    pub(crate) fn deadline(&self, grace: Nanos) -> Option<Nanos> {
        self.listed.iter().filter_map(|slot| self.notices[slot.index()].ends(grace)).min()
    }
}

impl Notice {
    fn ends(&self, grace: Nanos) -> Option<Nanos> {
        match self.forced {
            Some((at, _)) => Some(at.saturating_add(grace)),
            None => Some(self.since?.saturating_add(self.grace)),
        }
    }
}
