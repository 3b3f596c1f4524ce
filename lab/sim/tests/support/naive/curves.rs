//! Programs that are only a curve: stretch after stretch.

use super::{App, Naive, Place, What, constant};
use numaestro_sim::program::{Body, Stretch};

impl App {
    /// A curve in a stretch without work.
    pub(super) fn pauses(&self) -> bool {
        matches!(self.stretches.front(), Some(Stretch::Pause(_)))
    }

    /// Work of a curve in a nanosecond of its present stretch.
    pub(super) fn speed(&self) -> f64 {
        match (&self.program.body, &self.stretches[0]) {
            (Body::Curve { curve, .. }, Stretch::Parallel(_)) => curve.speedup(self.set.len() as u32),
            _ => 1.0,
        }
    }
}

impl Naive {
    /// It has other processors, or its first ones.
    pub(super) fn target_of_curve(&mut self, app: usize, first: bool, changed: bool) {
        let now = self.now;
        let entry = &mut self.apps[app];
        let Body::Curve { resize_ns, .. } = &entry.program.body else { panic!("a curve") };
        let speed = entry.speed();
        let (left, stall, since, rate) = entry.work;
        let stalled = stall.min(now - since);
        let done = ((now - since - stalled) as f64 * rate) as u64;
        let pays = if entry.pauses() || entry.size == entry.set.len() { 0 } else { *resize_ns };
        entry.size = entry.set.len();
        if first {
            entry.work = (constant(entry.stretches[0].amount()), 0, now, speed);
        } else if changed {
            entry.work = (left.saturating_sub(done), stall - stalled + pays, now, speed);
        }
        entry.place = Place::Curve;
        if first {
            self.note("start", app, 0, 0);
        }
        self.adopt(app);
    }

    pub(super) fn curve_ended(&mut self, app: usize) {
        let entry = &mut self.apps[app];
        let pauses = matches!(entry.stretches.pop_front(), Some(Stretch::Pause(_)));
        let next = entry.stretches.front().map(|stretch| constant(stretch.amount()));
        self.note(if pauses { "resume" } else { "segment" }, app, 0, 0);
        let entry = &mut self.apps[app];
        if let Some(next) = next {
            entry.work = (next, 0, self.now, entry.speed());
            return;
        }
        entry.place = Place::Over;
        self.later(self.now, 2, What::End(app));
    }
}
