//! Applications that are only a speedup curve: work W is done at rate S(n) on n processors, dW/dt = S(n(t)) (logs, allocation studies).
//!
//! Where several of them share a processor each has its part of it, and the speedup is that of n processors times the mean part. Threads of
//! other applications on the same processor are not in their way.

use super::World;
use super::app::{Fluid, Stand};
use super::log::Line;
use super::queue::{EventQueue, Happening, Key, Rank};
use crate::Nanos;
use crate::program::Body;
use numaestro_topology::PuSet;
use std::sync::Arc;

impl Fluid {
    /// When its work is done at the present rate.
    fn ends(&self) -> Nanos {
        let begins = self.marked.saturating_add(self.stall);
        if self.left == 0 {
            begins
        } else if self.rate > 0.0 {
            begins.saturating_add(libm::ceil(self.left as f64 / self.rate) as u64)
        } else {
            Nanos::MAX
        }
    }

    /// Takes what was done since the last time.
    fn progress(&mut self, now: Nanos) {
        let elapsed = now - std::mem::replace(&mut self.marked, now);
        let stalled = elapsed.min(self.stall);
        self.stall -= stalled;
        self.left = self.left.saturating_sub(((elapsed - stalled) as f64 * self.rate) as u64);
    }
}

impl World {
    /// Its processors change. Called before its set does.
    pub(super) fn change_curve(&mut self, app: u32, pus: &PuSet) {
        self.advance_curve(app);
        let now = self.now;
        let entry = &mut self.apps[app as usize];
        let Body::Curve { work, resize_ns, .. } = &entry.program.body else { return };
        if entry.stand == Stand::Waiting {
            let left = entry.draws.once(1, work);
            (entry.stand, entry.given) = (Stand::Curve, left);
            let chunk = entry.watch.chunk(left).min(left);
            entry.fluid =
                Fluid { left: chunk, rest: left - chunk, chunk: (chunk, now), marked: now, ..Fluid::default() };
            entry.fluid.size = pus.len() as u32;
        } else if !pus.is_empty() && entry.fluid.size != pus.len() as u32 {
            entry.fluid.stall += resize_ns;
            entry.fluid.size = pus.len() as u32;
        }
        let before = std::mem::take(&mut entry.set);
        let mut shared = self.occupy(app, &before, pus, -1);
        shared |= self.occupy(app, pus, &before, 1);
        let entry = &mut self.apps[app as usize];
        entry.set = before;
        if shared {
            self.rate_others(app);
        }
        self.rate_curve(app, pus);
    }

    /// Somebody has come to processors of other curves, or left them: their parts change though their sets do not.
    fn rate_others(&mut self, app: u32) {
        let curves: Vec<u32> = self.by_id.values().copied().filter(|&other| other != app).collect();
        for other in curves {
            if self.apps[other as usize].stand == Stand::Curve {
                self.advance_curve(other);
                let own = std::mem::take(&mut self.apps[other as usize].set);
                self.rate_curve(other, &own);
                self.apps[other as usize].set = own;
            }
        }
    }

    /// Adds to the number of curves on processors of `some` that are not in `others`. True if another curve is on one of them.
    fn occupy(&mut self, app: u32, some: &PuSet, others: &PuSet, change: i16) -> bool {
        let mut shared = false;
        for pu in some.iter().filter(|&pu| !others.contains(pu)) {
            self.account(pu.0);
            let curves = &mut self.pus[pu.index()].curves;
            *curves = curves.saturating_add_signed(change);
            shared |= *curves > u16::from(change > 0);
            if self.watched {
                let who = (change > 0).then(|| (self.apps[app as usize].id, self.apps[app as usize].record.job, 0));
                self.occupancy.push((pu, who));
            }
        }
        shared
    }

    fn advance_curve(&mut self, app: u32) {
        let now = self.now;
        let entry = &mut self.apps[app as usize];
        if entry.stand == Stand::Curve {
            entry.record.cpu_ns += (now - entry.fluid.marked) * entry.set.len() as u64;
            entry.fluid.progress(now);
        }
    }

    pub(super) fn rate_curve(&mut self, app: u32, pus: &PuSet) {
        let entry = &mut self.apps[app as usize];
        let program = Arc::clone(&entry.program);
        let Body::Curve { curve, .. } = &program.body else { return };
        let count = pus.len() as u32;
        let part = |pu: numaestro_topology::PuId| 1.0 / f64::from(self.pus[pu.index()].curves.max(1));
        let alone = pus.iter().all(|pu| self.pus[pu.index()].curves <= 1);
        let mean = if alone { 1.0 } else { pus.iter().map(part).sum::<f64>() / f64::from(count.max(1)) };
        entry.fluid.rate = curve.speedup(count) * mean;
        entry.record.threads = entry.record.threads.max(count);
        let key = Key::new(entry.fluid.ends(), Rank::Segment);
        let slot = self.pus.len() + app as usize;
        self.slots.reach(slot);
        self.slots.set(slot, key);
    }

    /// A part of its work is done: it measures itself, and goes on.
    fn next_part(&mut self, app: u32) {
        let now = self.now;
        let entry = &mut self.apps[app as usize];
        let fluid = &mut entry.fluid;
        let (work, began) = fluid.chunk;
        let next = entry.watch.chunk(entry.given).min(fluid.rest);
        (fluid.left, fluid.rest, fluid.chunk) = (next, fluid.rest - next, (next, now));
        let set = std::mem::take(&mut entry.set);
        self.rate_curve(app, &set);
        self.apps[app as usize].set = set;
        self.watch_curve(app, work, now - began);
    }

    /// All its work is done.
    pub(super) fn curve_ended(&mut self, app: u32) {
        self.advance_curve(app);
        if self.apps[app as usize].fluid.rest > 0 {
            return self.next_part(app);
        }
        self.slots.set(self.pus.len() + app as usize, Key::NEVER);
        let entry = &mut self.apps[app as usize];
        (entry.fluid.left, entry.done, entry.stand) = (0, entry.given, Stand::Over);
        self.thread_events += 1;
        self.note(Line::Segment, app, 0, 0);
        let set = std::mem::take(&mut self.apps[app as usize].set);
        let shared = self.occupy(app, &set, &PuSet::new(), -1);
        self.apps[app as usize].set = set;
        if shared {
            self.rate_others(app);
        }
        self.queue.push(self.now, Rank::End, Happening::End(app));
    }
}
