//! Who takes part in the division, who is stopped without processors, and how many processors there
//! are.
//!
//! Under turns that stop, nobody runs without processors of its own, but those that the shell
//! cannot stop, that wait for something outside, or that keep what they had when the manager was
//! started again.

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
    // Where processors have no owners, none is left to anybody in particular.
    let left_alone = if site.regime.owns() { unmanaged.min(usable - 1) } else { 0 };
    let available = usable.saturating_sub(unmanaged).max(1);
    site.among.set_processors(available, (usable - left_alone).saturating_sub(pinned.unwrap_or(0)));
    site.ledger.take_from_unmanaged(left_alone);
    if changes.regrouped || pinned.is_some() || site.among.is_narrowed() || site.regime.stops() {
        let mut order = Vec::new();
        site.among.exchange(&mut order);
        order.clear();
        order.extend(site.ledger.started().iter().filter(|&&slot| takes_part(site, slot)));
        site.among.exchange(&mut order);
        site.among.complete();
    }
}

/// What policies see of the wishes of one application.
pub(crate) fn clamp_wish(site: &mut Site, slot: Slot) {
    let party = site.ledger.app(slot).party;
    site.ledger.clamp_wish(slot, site.regime.owns(), most_of(&site.settings.parties, party));
}

/// Whether it takes part in the division whenever it is its turn. Where turns are taken, an
/// application whose minimum is more than there is does not, nor one for whose party nothing is
/// left beside what is kept for others: its turn would help nobody.
pub(crate) fn takes_part(site: &Site, slot: Slot) -> bool {
    let (app, account) = (site.ledger.app(slot), site.ledger.account(slot));
    let available = site.among.available();
    let helps = || app.min <= available && may_have_some(&site.settings.parties, app.party, available);
    let runs = account.phase == Phase::Running && !account.activity.blocked && !account.pinned;
    runs && (!site.regime.stops() || helps())
}

/// Whether having no processors means that it is stopped.
pub(crate) fn can_be_stopped(site: &Site, slot: Slot) -> bool {
    site.regime.stops() && takes_part(site, slot) && !site.ledger.activity(slot).unstoppable
}

/// Whether it is stopped if it has no processors. In its turn it is, if others have some: where a
/// policy finds none for anybody, nobody is stopped for the sake of others. Where parties bound
/// applications (`confined`) and leave it none in its turn, it is a guest: a turns part that knows
/// nothing of parties could choose it again and again beside the same others, and it would never
/// run.
pub(crate) fn stops_without(site: &Site, slot: Slot, its_turn: bool, confined: bool) -> bool {
    can_be_stopped(site, slot) && (!its_turn || site.ledger.allocated() > 0 && !confined)
}

/// Whether the next of `order`, from `at` on, is this application. Asked of all that have been
/// started in order of arrival, it says whose turn it is.
#[inline]
pub(crate) fn is_next(order: &[Slot], at: &mut usize, slot: Slot) -> bool {
    let next = order.get(*at) == Some(&slot);
    *at += usize::from(next);
    next
}
