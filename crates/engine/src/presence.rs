//! Processors go offline and come back. The bounds of all wishes change with them.

use crate::changes::Changes;
use crate::event::Action;
use crate::site::Site;
use numaestro_topology::PuId;

/// A processor is gone. The last one stays: an application has to run somewhere.
pub(crate) fn offline(site: &mut Site, pu: PuId, actions: &mut Vec<Action>) -> Changes {
    let usable = site.ledger.usable();
    if !usable.contains(pu) {
        return Changes::NONE;
    }
    if usable.len() == 1 {
        let reason = format!("PU {pu} is the last one; it stays until another one is there");
        actions.push(Action::Refuse { app: None, reason });
        return Changes::NONE;
    }
    site.ledger.offline(pu, site.now);
    Changes::CLAMPS
}

/// A processor is back.
pub(crate) fn online(site: &mut Site, pu: PuId) -> Changes {
    let known = pu.index() < site.machine.pu_count() && !site.settings.reserved.contains(pu);
    if !known || site.ledger.usable().contains(pu) {
        return Changes::NONE;
    }
    site.ledger.online(pu, site.now);
    Changes::CLAMPS
}
