//! Not every difference is worth a move.
//!
//! A share is a whole number, the right share usually is not: several roundings are equally fair. A
//! processor that would pass between two running applications, neither of which the event is about,
//! stays where it is if the present counts of both are the right share rounded up or down.
//! Arrivals, departures, requests and every larger difference take effect at once.

use crate::site::Site;
use numaestro_policy::{Shares, Slot};

/// Puts back pairs of counts that differ from the present ones by rounding only.
pub(crate) fn keep_roundings(site: &Site, subject: Option<Slot>, shares: &mut Shares) {
    let (ledger, order, capacity) = (&site.ledger, site.among.order(), site.among.capacity());
    let settled = |slot: Slot| Some(slot) != subject && !ledger.activity(slot).sequential;
    let bounded = |slot: Slot| {
        let app = ledger.app(slot);
        app.allocation >= app.min && app.allocation <= app.cap(capacity)
    };
    let equally_right = |shares: &Shares, slot: Slot| {
        settled(slot)
            && bounded(slot)
            && shares.count(slot) > 0
            && shares.is_rounding(slot, ledger.app(slot).allocation)
    };
    let (mut gainers, mut losers) = (order.iter(), order.iter());
    loop {
        let rises =
            |&&slot: &&Slot| shares.count(slot) == ledger.app(slot).allocation + 1 && equally_right(shares, slot);
        let falls =
            |&&slot: &&Slot| shares.count(slot) + 1 == ledger.app(slot).allocation && equally_right(shares, slot);
        let (Some(&gainer), Some(&loser)) = (gainers.find(rises), losers.find(falls)) else { return };
        shares.set(gainer, ledger.app(gainer).allocation);
        shares.set(loser, ledger.app(loser).allocation);
    }
}
