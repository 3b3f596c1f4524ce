//! What users wish for, when an application arrives and while it runs.

use super::World;
use super::drawn::Op;
use numaestro_engine::{AppId, Class, Event, Wish};
use numaestro_topology::{NumaNodeId, PuId, PuSet};

impl World {
    pub fn wish(&self, op: &Op) -> Wish {
        let min = if op.a.is_multiple_of(5) { 1 + op.b % self.pus } else { 1 };
        let max = if op.a.is_multiple_of(7) { min + op.b % 3 } else { u32::MAX };
        let claim =
            op.a.is_multiple_of(11)
                .then(|| (0..self.pus).map(PuId).filter(|pu| op.b >> (pu.0 % 32) & 1 == 1).collect());
        Wish {
            request: if op.who.is_multiple_of(9) { 0 } else { 1 + op.who % (2 * self.pus) },
            min,
            max,
            weight_milli: [1000, 1000, 500, 4000][op.a as usize % 4],
            class: [Class::Malleable, Class::Malleable, Class::Setter, Class::Fold][op.b as usize % 4],
            wait: [None, None, None, Some(true), Some(false)][op.b as usize % 5],
            estimate_ns: [None, Some(u64::from(op.b % 5_000_000))][op.a as usize % 2],
            claim,
            home: op.a.is_multiple_of(22).then_some(NumaNodeId(op.b % 5)),
            allowed: if op.a.is_multiple_of(4) { self.few(op) } else { PuSet::new() },
            party: op.b / 8 % 5,
            memory: if op.a.is_multiple_of(3) { u64::from(op.b % 8) << 30 } else { 0 },
        }
    }

    /// One processor or more, also such as are not there; seldom none.
    pub fn few(&self, op: &Op) -> PuSet {
        let sparse = op.who.rotate_left(16) & op.b.rotate_left(8);
        (0..self.pus + 2).map(PuId).filter(|pu| sparse >> (pu.0 % 32) & 1 == 1 || pu.0 == op.b % self.pus).collect()
    }

    /// Mostly possible ones.
    pub fn limits(&self, app: AppId, op: &Op) -> Event {
        let Wish { min, max, weight_milli, .. } = self.wish(op);
        let min = if op.b.is_multiple_of(13) { max.saturating_add(1) } else { min };
        Event::Limits { app, min, max, weight_milli }
    }
}
