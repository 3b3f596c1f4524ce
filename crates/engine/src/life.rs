//! Records the events of an application between its arrival and its end: it wants another number of
//! processors, works alone, waits, or is there for its children only. Later stages decide which
//! processors that moves.

use crate::account::Phase;
use crate::admission::Admission;
use crate::changes::Changes;
use crate::event::Action;
use crate::group;
use crate::site::Site;
use numaestro_policy::Slot;
use numaestro_topology::PuSet;

/// An application has ended.
pub(crate) fn depart(site: &mut Site, admission: &mut Admission, slot: Slot) -> Changes {
    let waited = site.ledger.account(slot).phase == Phase::Waiting;
    admission.remove(&site.ledger, slot);
    site.ledger.leave(slot, site.now);
    site.threads.forget(slot);
    if waited { Changes::QUEUE } else { Changes::GROUP }
}

/// An application wants another number of processors.
pub(crate) fn request(
    site: &mut Site,
    admission: &mut Admission,
    slot: Slot,
    processors: u32,
    actions: &mut Vec<Action>,
) -> Changes {
    let phase = site.ledger.account(slot).phase;
    let limits = &mut site.ledger.activity_mut(slot).limits;
    if std::mem::replace(&mut limits.request, processors) == processors {
        return Changes::NONE;
    }
    let changes = match (phase, processors) {
        (Phase::Wrapper, 0) | (Phase::Gone, _) => return Changes::NONE,
        (Phase::Waiting | Phase::Running, 0) => wrap(site, admission, slot, actions),
        (Phase::Wrapper, 1..) => {
            site.ledger.set_phase(slot, Phase::Running);
            Changes::GROUP
        }
        (Phase::Waiting, 1..) => Changes::QUEUE,
        (Phase::Running, 1..) => Changes::DIVISION,
    };
    clamp_wish(site, admission, slot);
    changes
}

/// An application holds no processors from now on; its children do.
pub(crate) fn wrap(site: &mut Site, admission: &mut Admission, slot: Slot, actions: &mut Vec<Action>) -> Changes {
    let ledger = &mut site.ledger;
    ledger.activity_mut(slot).blocked = false;
    ledger.remove_guests(slot);
    ledger.give_up_all(slot, site.now);
    ledger.set_home(slot, None);
    ledger.pin(slot, false);
    if ledger.account(slot).phase == Phase::Waiting {
        admission.remove(ledger, slot);
        ledger.start(slot, Phase::Wrapper, site.now);
        actions.push(Action::Start { app: ledger.app(slot).id });
    } else {
        ledger.set_phase(slot, Phase::Wrapper);
    }
    Changes::GROUP
}

/// An application may have other processors than before. Where it has some that it may not have any
/// more, it does not keep those of its claim either.
pub(crate) fn allow(site: &mut Site, admission: &mut Admission, slot: Slot, pus: &PuSet) -> Changes {
    if !site.ledger.allow(slot, pus) {
        return Changes::NONE;
    }
    site.ledger.pin(slot, false);
    site.ledger.remove_guests(slot);
    clamp_wish(site, admission, slot);
    Changes::GROUP
}

/// An application works alone, or in parallel again.
pub(crate) fn set_sequential(site: &mut Site, admission: &mut Admission, slot: Slot, sequential: bool) -> Changes {
    let allocation = site.ledger.app(slot).allocation;
    let phase = site.ledger.account(slot).phase;
    let activity = site.ledger.activity_mut(slot);
    let was_blocked = std::mem::take(&mut activity.blocked);
    let changed = std::mem::replace(&mut activity.sequential, sequential) != sequential;
    if changed {
        activity.parallel_count = allocation;
    }
    if changed || was_blocked {
        site.ledger.mark(slot);
        clamp_wish(site, admission, slot);
    }
    if was_blocked {
        site.ledger.mark_hosts(slot);
    }
    let decides = (changed || was_blocked) && phase == Phase::Running;
    let reclaims = decides && (!sequential || was_blocked);
    Changes { reclaims, regrouped: was_blocked, ..Changes::division_if(decides) }
}

/// An application waits for something outside. One that keeps the processors of its claim, or has
/// none of its own, stays as it is.
pub(crate) fn block(site: &mut Site, slot: Slot) -> Changes {
    let allocation = site.ledger.app(slot).allocation;
    let account = site.ledger.account(slot);
    let (phase, pinned) = (account.phase, account.pinned);
    let activity = site.ledger.activity_mut(slot);
    // A stopped application said that it waits before it was stopped.
    let nothing = allocation == 0 && !activity.stopped;
    if phase != Phase::Running || pinned || activity.blocked || nothing {
        return Changes::NONE;
    }
    if !activity.sequential {
        activity.parallel_count = allocation;
    }
    (activity.sequential, activity.blocked) = (true, true);
    site.ledger.mark(slot);
    site.ledger.lend_all(slot, site.now);
    group::clamp_wish(site, slot);
    Changes::GROUP
}

/// The shell can stop an application, or cannot.
pub(crate) fn set_stoppable(site: &mut Site, slot: Slot, stoppable: bool) -> Changes {
    let activity = site.ledger.activity_mut(slot);
    let changed = std::mem::replace(&mut activity.unstoppable, !stoppable) == stoppable;
    if changed && !stoppable {
        // It has never been stopped, or goes on by itself.
        activity.stopped = false;
        site.ledger.mark(slot);
    }
    Changes::division_if(changed)
}

/// The wishes of an application have changed; it may be in the queue.
pub(crate) fn clamp_wish(site: &mut Site, admission: &mut Admission, slot: Slot) {
    group::clamp_wish(site, slot);
    admission.note_wish(&site.ledger, slot);
}
