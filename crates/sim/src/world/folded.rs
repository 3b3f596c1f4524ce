//! Teams with more threads than processors: a virtual processor that would wait for its team gives its processor to one that was left without ("stolen"),
//! so that nobody waits for a preempted partner (Martorell et al. 2000, §3.2 and figure 4). Only programs that can do so. Knows nothing of why there are
//! too few.

use super::World;
use super::thread::{Doing, NONE, State};

impl World {
    /// A thread that waits for its team gives its processor to one of its application that has work and none. True if it did.
    pub(super) fn hand_over(&mut self, id: u32) -> bool {
        let thread = &self.threads[id as usize];
        let entry = &self.apps[thread.app as usize];
        if !entry.program.recovers || entry.team.len() <= entry.list.len() && !entry.told.shared {
            return false;
        }
        let stolen = |&&id: &&u32| {
            let other = &self.threads[id as usize];
            other.state == State::Ready && !other.doing.waits() && other.doing != Doing::Nothing
        };
        let Some(&stolen) = entry.team.iter().find(stolen) else { return false };
        let (pu, ran, floats) = (thread.pu, thread.state == State::Running, entry.floats);
        self.threads[id as usize].spin = 0;
        self.block(id);
        if ran && self.pus[pu as usize].running == NONE && self.threads[stolen as usize].state == State::Ready {
            self.move_to(stolen, pu, floats);
        }
        true
    }

    /// The same for all threads of an application that wait, after its processors have changed.
    pub(super) fn recover(&mut self, app: u32) {
        if !self.apps[app as usize].program.recovers {
            return;
        }
        for number in 0..self.apps[app as usize].team.len() {
            let id = self.apps[app as usize].team[number];
            let thread = &self.threads[id as usize];
            if thread.is_active() && thread.doing == Doing::Meet {
                self.hand_over(id);
            }
        }
    }
}
