//! Applications that are stopped for a while: their threads stay where they are in their work, and want nothing until they are let go on. Knows nothing of
//! why and how long.
//!
//! A thread of a stopped application that had or wanted a processor is held; one that would wake up meanwhile (its team meets, its pause ends) is held from
//! then on, because a stopped process hears nothing. When the application goes on, every thread is put back where it ran last if that is its own again
//! (`allocate_cpu` of Martorell et al. 2000, figure 3).

use super::World;
use super::app::{Deferred, Stand};
use super::log::Line;
use super::queue::Key;
use super::thread::State;
use numaestro_topology::{PuId, PuSet};

impl World {
    /// It does not run until it is let go on. Its processors are free at once.
    pub(super) fn stop(&mut self, app: u32) {
        let entry = &mut self.apps[app as usize];
        if entry.stopped || entry.stand == Stand::Over {
            return;
        }
        entry.stopped = true;
        entry.record.stops += 1;
        entry.told.owes = false;
        entry.leaving.clear();
        entry.watch.disturb();
        self.note(Line::Stop, app, 0, 0);
        if self.apps[app as usize].stand == Stand::Curve {
            self.change_curve(app, &PuSet::new());
            self.slots.set(self.pus.len() + app as usize, Key::NEVER);
        }
        let mut freed = std::mem::take(&mut self.freed);
        for number in 0..self.apps[app as usize].team.len() {
            let id = self.apps[app as usize].team[number];
            match self.threads[id as usize].state {
                State::Running => {
                    let pu = self.threads[id as usize].pu;
                    self.take_off(pu);
                    freed.push(pu);
                }
                State::Ready => self.unqueue(id),
                State::New | State::Blocked | State::Held => continue,
            }
            self.threads[id as usize].state = State::Held;
        }
        self.apps[app as usize].set.clear();
        for pu in freed.drain(..) {
            self.choose(pu);
        }
        self.freed = freed;
    }

    /// It goes on, on the processors that it was told last.
    pub(super) fn let_go_on(&mut self, app: u32) {
        let entry = &mut self.apps[app as usize];
        if !std::mem::take(&mut entry.stopped) {
            return;
        }
        self.note(Line::Continue, app, 0, 0);
        let cost = self.model.costs.stop_ns;
        if self.apps[app as usize].stand == Stand::Curve {
            self.apps[app as usize].fluid.stall += cost;
            let set = std::mem::take(&mut self.apps[app as usize].set);
            self.rate_curve(app, &set);
            self.apps[app as usize].set = set;
            return;
        }
        if self.apps[app as usize].moved {
            self.spread(app);
        }
        for number in 0..self.apps[app as usize].team.len() {
            let entry = &self.apps[app as usize];
            let id = entry.team[number];
            if self.threads[id as usize].state != State::Held {
                continue;
            }
            let thread = &mut self.threads[id as usize];
            if !entry.set.contains(PuId(thread.pu))
                && let Some(pu) = entry.list.get(number % entry.list.len().max(1))
            {
                // One that waits between two regions; the next one spreads it.
                thread.pu = pu.0;
            }
            thread.overhead += cost;
            thread.state = State::Blocked;
            self.wake(id);
        }
        self.recover(app);
        match self.apps[app as usize].deferred.take() {
            None => {}
            Some(Deferred::Meeting) => self.meeting(app),
            Some(Deferred::Resume) => self.resume(app),
            Some(Deferred::Answer) => self.answered(app),
        }
    }

    /// Whether something has to wait until the application goes on; if so, it does.
    pub(super) fn defers(&mut self, app: u32, what: Deferred) -> bool {
        let entry = &mut self.apps[app as usize];
        if entry.stopped {
            entry.deferred = Some(what);
        }
        entry.stopped
    }
}
