//! Decides which applications take part in the division, which are stopped without processors, and
//! how many processors there are.
//!
//! Under turns that stop, an application without processors of its own does not run. Exceptions are
//! an application that the shell cannot stop, one that waits for something outside, and one that
//! keeps the processors it had when the manager was started again.

use crate::account::Phase;
use crate::changes::Changes;
use crate::party::{may_have_some, most_of};
use crate::site::Site;
use numaestro_policy::Slot;

/// Lists the applications that take part, and counts their processors. `unmanaged`: processors
/// taken by load that is not managed.
pub(crate) fn gather(site: &mut Site, changes: &Changes, unmanaged: u32) {
    let usable = site.ledger.usable().len() as u32;
    let pinned = site.ledger.keep_pinned();
    // Where processors have no owners, none is set aside for unmanaged load.
    let left_alone = if site.regime.owns() { unmanaged.min(usable - 1) } else { 0 };
    let available = usable.saturating_sub(unmanaged).max(1);
    site.among.set_processors(available, (usable - left_alone).saturating_sub(pinned.unwrap_or(0)));
    site.ledger.take_from_unmanaged(left_alone);
    site.ledger.take_bounded_from_unmanaged();
    if changes.regrouped || pinned.is_some() || site.among.is_narrowed() || site.regime.stops() {
        let mut order = Vec::new();
        site.among.exchange(&mut order);
        order.clear();
        order.extend(site.ledger.started().iter().filter(|&&slot| takes_part(site, slot)));
        site.among.exchange(&mut order);
        site.among.complete();
    }
}

/// Clamps the wishes of one application, as policies see them.
pub(crate) fn clamp_wish(site: &mut Site, slot: Slot) {
    let party = site.ledger.app(slot).party;
    site.ledger.clamp_wish(slot, site.regime.owns(), most_of(&site.settings.parties, party));
}

/// Says whether an application takes part in the division whenever it is its turn. Where turns are
/// taken, it does not if its minimum is more than there is, or if the processors reserved for other
/// parties leave its party none: its turn would help nobody.
pub(crate) fn takes_part(site: &Site, slot: Slot) -> bool {
    let (app, account) = (site.ledger.app(slot), site.ledger.account(slot));
    let available = site.among.available();
    let helps = || app.min <= available && may_have_some(&site.settings.parties, app.party, available);
    let runs = account.phase == Phase::Running && !account.activity.blocked && !account.pinned;
    runs && (!site.regime.stops() || helps())
}

/// Says whether an application without processors can be stopped.
pub(crate) fn can_be_stopped(site: &Site, slot: Slot) -> bool {
    site.regime.stops() && takes_part(site, slot) && !site.ledger.activity(slot).unstoppable
}

/// Says whether an application is stopped if it has no processors. In its turn it is stopped only
/// if others have some: where a policy finds processors for nobody, nobody is stopped for the sake
/// of others. Where parties bound applications (`confined`) and leave it none in its turn, it is a
/// guest: the turns part does not see parties and could choose it again and again beside the same
/// others, and it would never run. The same goes for one that may have some processors only.
pub(crate) fn stops_without(site: &Site, slot: Slot, its_turn: bool, confined: bool) -> bool {
    let bounded = confined || site.ledger.within(slot).is_some();
    can_be_stopped(site, slot) && (!its_turn || site.ledger.allocated() > 0 && !bounded)
}

/// Says whether this application is the one at `at` in `order`, and then moves `at` on. Asked of
/// all started applications in order of arrival, it says which of them are in `order`.
#[inline]
pub(crate) fn is_next(order: &[Slot], at: &mut usize, slot: Slot) -> bool {
    let next = order.get(*at) == Some(&slot);
    *at += usize::from(next);
    next
}
