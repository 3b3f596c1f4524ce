//! The threads that policies of threads choose among. Knows nothing of which of them run.
//!
//! Which of its threads runs on which processor is an application's own business. The best that is known: one thread is on each of
//! its processors, and it stays there as long as that is the application's.

use crate::account::{Account, Vp};
use crate::engine::Engine;
use numaestro_policy::Thread;
use numaestro_topology::PuSet;

impl Engine {
    /// Writes down the threads of all in `order`, if anybody wants to choose among them.
    pub(crate) fn list_threads(&mut self) {
        self.threads.clear();
        if !self.policy.turns.chooses_threads() {
            return;
        }
        for &slot in &self.ledger.started {
            self.ledger.apps[slot.index()].thread_count = 0;
        }
        for &slot in &self.order {
            let (app, account) = (&mut self.ledger.apps[slot.index()], &mut self.ledger.accounts[slot.index()]);
            (app.first_thread, app.thread_count) = (self.threads.len() as u32, app.threads());
            if account.vps.len() != app.thread_count as usize {
                account.vps.resize(app.thread_count as usize, Vp::default());
            }
            find(account, &mut self.taken);
            let thread = |(vp, known): (usize, &Vp)| Thread {
                app: slot,
                vp: vp as u32,
                last: known.last,
                rate: known.rate,
                samples: known.samples,
            };
            self.threads.extend(account.vps.iter().enumerate().map(thread));
        }
    }
}

/// Where the threads of one application are. `taken` is a buffer.
fn find(account: &mut Account, taken: &mut PuSet) {
    let Account { owned, vps, .. } = account;
    if owned.is_empty() {
        return;
    }
    taken.clear();
    for vp in vps.iter_mut() {
        if !vp.last.is_some_and(|pu| owned.contains(pu) && taken.insert(pu)) {
            vp.last = None;
        }
    }
    // The others go where nobody is, then round and round.
    let nobody_there = owned.iter().filter(|&pu| !taken.contains(pu));
    let mut places = nobody_there.chain(owned.iter().cycle());
    for vp in vps.iter_mut().filter(|vp| vp.last.is_none()) {
        vp.last = places.next();
    }
}
