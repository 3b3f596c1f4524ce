//! Conservation, checked at every event where that is wanted. Knows nothing of why things are as they are.

use super::World;
use super::app::Stand;
use super::processor::Stage;
use super::thread::{NONE, State};

impl World {
    /// Time, processors, threads and work are conserved.
    ///
    /// # Panics
    /// If they are not, which is a mistake in the world.
    pub(super) fn check(&self) {
        for (index, pu) in self.pus.iter().enumerate() {
            let time = &self.times[index];
            let sum = time.work + time.spin + time.reload + time.overhead + time.idle;
            assert_eq!(sum, pu.marked, "PU {index}: its times are not the time that has passed");
            assert!(pu.marked <= self.now, "PU {index}: it is ahead of the clock");
            assert_eq!(pu.running == NONE, pu.stage == Stage::Idle, "PU {index}: its stage and its thread disagree");
            assert!(pu.running != NONE || pu.head == NONE, "PU {index} is idle while threads wait for it");
            if let Some(thread) = self.threads.get(pu.running as usize) {
                assert_eq!(
                    (thread.state, thread.pu),
                    (State::Running, index as u32),
                    "PU {index}: its thread is elsewhere"
                );
            }
        }
        let mut owned = vec![false; self.pus.len()];
        for &app in self.by_id.values() {
            self.check_app(app, &mut owned);
        }
    }

    fn check_app(&self, app: u32, owned: &mut [bool]) {
        let entry = &self.apps[app as usize];
        let mut pending = 0;
        for &id in &entry.team {
            let thread = &self.threads[id as usize];
            assert_eq!(thread.app, app, "thread {id} is another application's");
            assert!(thread.left <= thread.given, "thread {id} has more left than it was given");
            if thread.state == State::Running {
                assert_eq!(self.pus[thread.pu as usize].running, id, "thread {id} does not run where it says");
            }
            pending += thread.given;
        }
        if entry.stand != Stand::Curve {
            assert_eq!(entry.done + pending, entry.given, "application {}: work is lost or done twice", entry.id);
        }
        if !entry.told.shared {
            for pu in &entry.set {
                assert!(!std::mem::replace(&mut owned[pu.index()], true), "PU {pu} has two owners");
            }
        }
    }
}
