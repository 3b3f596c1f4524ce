//! Records which owners have been told to leave processors, and how long they have for it. An owner
//! has a grace time from the target that tells it. When that is over the shell forces it; when it
//! does not answer then either, its processors are taken.

use crate::event::Nanos;
use numaestro_policy::{AppId, Slot};
use numaestro_topology::{PuId, PuSet};

/// State: by processor and by slot.
#[derive(Debug, Clone)]
pub(crate) struct Vacating {
    /// By processor: the epoch of the target that told its owner to leave; 0: not told yet.
    told: Vec<u32>,
    /// Notices, by slot.
    notices: Vec<Notice>,
    /// All applications that have a notice, and some that had one.
    listed: Vec<Slot>,
}

/// The time that an application has to leave.
#[derive(Debug, Clone, Copy, Default)]
struct Notice {
    /// Time when its present grace time began.
    since: Option<Nanos>,
    /// Grace time from then on, nanoseconds.
    grace: Nanos,
    /// Time when it was forced, and the epoch for which.
    forced: Option<(Nanos, u32)>,
    listed: bool,
}

/// The next step when a grace time is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Overdue {
    /// It is to be forced.
    Force,
    /// It was forced for this epoch: the processors that it was told to leave by then are taken.
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

    /// Says whether the owner has been told, with this epoch or before.
    pub(crate) fn is_told(&self, pu: PuId, epoch: u32) -> bool {
        (1..=epoch).contains(&self.told[pu.index()])
    }

    /// The target with this epoch has told the owner to leave these processors.
    pub(crate) fn tell(&mut self, slot: Slot, leaving: &PuSet, epoch: u32, now: Nanos, grace: Nanos) {
        let notice = &mut self.notices[slot.index()];
        for pu in leaving {
            let told = &mut self.told[pu.index()];
            if *told == 0 {
                *told = epoch;
                // A shorter grace shortens the time that is left; a longer one does not lengthen
                // it.
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

    /// The owner has answered; it was told later to leave the rest.
    pub(crate) fn restart(&mut self, slot: Slot, now: Nanos) {
        let notice = &mut self.notices[slot.index()];
        (notice.since, notice.forced) = (Some(now), None);
    }

    /// The owner has no processors to leave any more.
    pub(crate) fn settle(&mut self, slot: Slot) {
        let notice = &mut self.notices[slot.index()];
        (notice.since, notice.forced) = (None, None);
    }

    /// The shell forces the owner to carry out this epoch.
    pub(crate) fn force(&mut self, slot: Slot, epoch: u32, now: Nanos) {
        self.notices[slot.index()].forced = Some((now, epoch));
    }

    /// Forgets the applications that have nothing to leave any more, and puts the others in order
    /// of arrival.
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

    /// All applications that may have a notice.
    pub(crate) fn listed(&self) -> &[Slot] {
        &self.listed
    }

    /// The next step for one of them, if its time is over. `grace` is the time of a forced
    /// application, nanoseconds.
    pub(crate) fn overdue(&self, slot: Slot, now: Nanos, grace: Nanos) -> Option<Overdue> {
        let notice = &self.notices[slot.index()];
        let overdue = notice.forced.map_or(Overdue::Force, |(_, epoch)| Overdue::Take(epoch));
        notice.ends(grace).filter(|&at| now >= at).map(|_| overdue)
    }

    /// Time when the first grace time ends.
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
