//! Applications that are stopped, and go on.

use super::{Naive, Place, What};
use numaestro_topology::PuSet;

impl Naive {
    pub(super) fn stop(&mut self, app: usize) {
        if self.apps[app].place == Place::Over {
            return;
        }
        self.note("stop", app, 0, 0);
        let now = self.now;
        let entry = &mut self.apps[app];
        (entry.stopped, entry.owes, entry.set) = (true, false, PuSet::new());
        for thread in entry.threads.iter_mut().filter(|thread| thread.works) {
            thread.left -= ((now - thread.since) as f64 * thread.rate) as u64;
            (thread.since, thread.rate) = (now, 0.0);
        }
        if entry.pauses() {
            return;
        }
        let (left, stall, since, rate) = entry.work;
        let stalled = stall.min(now - since);
        let done = ((now - since - stalled) as f64 * rate) as u64;
        entry.work = (left.saturating_sub(done), stall - stalled, now, 0.0);
    }

    pub(super) fn go_on(&mut self, app: usize) {
        self.note("continue", app, 0, 0);
        self.apps[app].stopped = false;
        if self.apps[app].pauses() {
            let (left, stall, since, rate) = self.apps[app].work;
            self.apps[app].work = (left.saturating_sub(self.now - since), stall, self.now, rate);
        }
        for number in 0..self.apps[app].threads.len() {
            let thread = &self.apps[app].threads[number];
            if thread.works {
                let rate = self.rate(app, thread.part, thread.pu.expect("somewhere"));
                let thread = &mut self.apps[app].threads[number];
                (thread.since, thread.rate) = (self.now, rate);
            }
        }
        if let Some(what) = self.apps[app].missed.take() {
            self.happens(app, what);
        }
    }

    /// A pause ends or a team meets: a stopped application finds that out when it goes on.
    pub(super) fn happens(&mut self, app: usize, what: What) {
        if self.apps[app].stopped {
            self.apps[app].missed = Some(what);
            return;
        }
        match what {
            What::Resume(_) => {
                self.note("resume", app, 0, 0);
                self.advance(app);
            }
            What::Meeting(_) => self.meeting(app),
            What::End(_) => panic!("an end does not wait"),
        }
    }
}
