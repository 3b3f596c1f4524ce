//! Threads that want a processor and may not have one: their application is stopped, or their
//! processor was taken from them in the middle of their work and their program keeps them aside.

use super::Os;
use super::thread::{NONE, State};
use crate::Nanos;
use numaestro_topology::PuId;

impl Os {
    /// An application is stopped: its threads stay where they are in their work, and their
    /// processors are free at once.
    pub fn stop(&mut self, app: u32, team: &[u32]) {
        self.cpus.tenant_mut(app).stopped = true;
        let mut freed = std::mem::take(&mut self.freed);
        for &id in team {
            let thread = self.thread(id);
            match thread.state {
                State::Running => {
                    let pu = thread.pu;
                    self.take_off(pu);
                    freed.push(pu);
                }
                State::Ready => self.queues.take(&mut self.cpus, id),
                State::New | State::Blocked | State::Held => continue,
            }
            self.cpus.thread_mut(id).state = State::Held;
        }
        self.cpus.tenant_mut(app).set.clear();
        freed.drain(..).for_each(|pu| self.choose(pu));
        self.freed = freed;
    }

    /// A stopped application may run again, but for its threads. False if it was not stopped.
    pub fn unstop(&mut self, app: u32) -> bool {
        std::mem::take(&mut self.cpus.tenant_mut(app).stopped)
    }

    /// A thread that was held goes on, at a cost: on its last processor if it still may run there,
    /// else on `pu`.
    pub fn release(&mut self, id: u32, pu: Option<PuId>, cost: Nanos) {
        if self.thread(id).state != State::Held {
            return;
        }
        let own = self.cpus.may_run(id, self.thread(id).pu);
        let thread = self.cpus.thread_mut(id);
        if let Some(pu) = pu.filter(|_| !own) {
            thread.pu = pu.0;
        }
        thread.overhead += cost;
        thread.state = State::Blocked;
        self.wake(id);
    }
    /// An active thread loses its processor and is nowhere, until [`Self::release`] gives it one.
    pub fn set_aside(&mut self, id: u32) {
        let thread = self.thread(id);
        let (state, pu) = (thread.state, thread.pu);
        match state {
            State::Running => _ = self.take_off(pu),
            State::Ready => self.queues.take(&mut self.cpus, id),
            State::New | State::Blocked | State::Held => return,
        }
        let thread = self.cpus.thread_mut(id);
        (thread.state, thread.pu) = (State::Held, NONE);
        if state == State::Running {
            self.choose(pu);
        }
    }

    /// Whether a thread has been set aside.
    pub fn is_aside(&self, id: u32) -> bool {
        let thread = self.thread(id);
        thread.state == State::Held && thread.pu == NONE
    }
}
