//! What the adapters and the watcher call, beside meetings.

use loom::sync::atomic::Ordering;

use super::mistake::Mistake;
use super::team::{Carrier, Flow, Team};

impl Team {
    /// `nm_fold_go_home`.
    pub fn go_home(&self, carrier: &mut Carrier, me: usize) -> Flow {
        self.contexts[me].home.store(true, Ordering::SeqCst);
        if carrier.number == me { Flow::GoesOn } else { self.suspend(carrier, me) }
    }

    /// `nm_fold_send_home`.
    pub fn send_home(&self, number: usize) {
        self.contexts[number].home.store(true, Ordering::SeqCst);
        if !self.has(Mistake::HomeNotCalled) {
            self.call(number);
        }
    }

    /// What `nm_fold_send_all_home` waits for, and that the context's own carrier has taken it.
    pub fn is_at_home(&self, number: usize) -> bool {
        self.contexts[number].runner.load(Ordering::SeqCst) == number as u32 + 1
    }

    /// `nm_fold_leave_home`.
    pub fn leave_home(&self, me: usize) {
        self.contexts[me].home.store(false, Ordering::SeqCst);
    }

    /// `nm_fold_roam`.
    pub fn roam(&self, on: bool) {
        let before = self.roams.swap(on, Ordering::SeqCst);
        if before && !on {
            self.call(0);
        } else if on && !before {
            self.ring();
        }
    }

    /// `nm_fold_limit`.
    pub fn change_limit(&self, limit: u32) {
        let before = self.limit.swap(limit, Ordering::SeqCst);
        if !self.has(Mistake::LimitNotCalled) {
            (before..limit).for_each(|carrier| self.call(carrier as usize));
        }
        if before != limit {
            self.ring();
        }
    }

    /// `nm_fold_dissolve`.
    pub fn dissolve(&self) {
        self.dissolving.store(true, Ordering::SeqCst);
        self.limit.store(self.members() as u32, Ordering::SeqCst);
        self.open_turn(self.generation.load(Ordering::Relaxed) + 1);
        if !self.has(Mistake::DissolvedNotCalled) {
            (1..self.members()).for_each(|carrier| self.call(carrier));
        }
    }
}
