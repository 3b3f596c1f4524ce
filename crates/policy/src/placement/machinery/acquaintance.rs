//! Ranks processors by an application's past on them: it is still there, or has been there.
//!
//! Caches and pages that it has left behind are worth going back to, and a processor that it has
//! not left yet costs no move at all.

use crate::view::{Slot, View};
use numaestro_topology::PuId;
use std::cmp::Reverse;

/// 0: it has not left the processor yet; 1: it was the last there, the latest first; 2: neither.
/// Smaller is better.
pub fn acquaintance(view: &View<'_>, slot: Slot, pu: PuId) -> (u8, Reverse<u64>) {
    let entry = view.pu(pu);
    if entry.owner == Some(slot) {
        (0, Reverse(0))
    } else if view.former(pu) == Some(slot) {
        (1, Reverse(entry.since_ns))
    } else {
        (2, Reverse(0))
    }
}
