//! Lists the threads among which some turns parts choose.
//!
//! An application itself places its threads on its processors. The best assumption is that one
//! thread is on each of its processors, and stays there as long as the application has that
//! processor.

use crate::ledger::Ledger;
use numaestro_policy::{Slot, Thread};
use numaestro_topology::{PuId, PuSet};

/// The rates and processors of the threads of each application.
#[derive(Debug, Clone, Default)]
pub(crate) struct Threads {
    /// The threads of all applications that take part, by order of arrival and number.
    listed: Vec<Thread>,
    /// Records by slot and virtual processor.
    known: Vec<Vec<Vp>>,
    /// A buffer.
    taken: PuSet,
}

/// The record of one thread.
#[derive(Debug, Clone, Copy, Default)]
struct Vp {
    /// Latest bus-transaction rate, transactions per millisecond.
    rate: Option<u32>,
    /// Number of rates so far.
    samples: u32,
    /// The processor it ran on last.
    last: Option<PuId>,
}

impl Threads {
    /// The threads of all applications that take part, if the turns part chooses among threads.
    pub(crate) fn listed(&self) -> &[Thread] {
        &self.listed
    }

    /// The application is gone.
    pub(crate) fn forget(&mut self, slot: Slot) {
        if let Some(known) = self.known.get_mut(slot.index()) {
            known.clear();
        }
    }

    /// Records the rates, transactions per millisecond, of an application's `threads` threads; the
    /// last rate counts for all the others.
    pub(crate) fn sampled(&mut self, slot: Slot, threads: u32, rates: &[Option<u32>]) {
        let Some(&last) = rates.last() else { return };
        for (vp, known) in known_of(&mut self.known, slot, threads).iter_mut().enumerate() {
            if let Some(rate) = rates.get(vp).copied().unwrap_or(last) {
                (known.rate, known.samples) = (Some(rate), known.samples.wrapping_add(1));
            }
        }
    }

    /// Lists no threads, because the turns part does not choose among them.
    pub(crate) fn clear(&mut self) {
        self.listed.clear();
    }

    /// Lists the threads of all applications in `order`.
    pub(crate) fn list(&mut self, ledger: &mut Ledger, order: &[Slot]) {
        self.listed.clear();
        for index in 0..ledger.started().len() {
            ledger.set_threads(ledger.started()[index], 0, 0);
        }
        for &slot in order {
            let count = ledger.app(slot).threads();
            ledger.set_threads(slot, self.listed.len() as u32, count);
            let known = known_of(&mut self.known, slot, count);
            find(&ledger.account(slot).owned, known, &mut self.taken);
            let thread = |(vp, known): (usize, &Vp)| Thread {
                app: slot,
                vp: vp as u32,
                last: known.last,
                rate: known.rate,
                samples: known.samples,
            };
            self.listed.extend(known.iter().enumerate().map(thread));
        }
    }
}

/// The records of an application that has so many threads.
fn known_of(known: &mut Vec<Vec<Vp>>, slot: Slot, threads: u32) -> &mut [Vp] {
    if known.len() <= slot.index() {
        known.resize_with(slot.index() + 1, Vec::new);
    }
    let known = &mut known[slot.index()];
    known.resize(threads as usize, Vp::default());
    known
}

/// Finds the processor of each thread of one application. `taken` is a buffer.
fn find(owned: &PuSet, vps: &mut [Vp], taken: &mut PuSet) {
    if owned.is_empty() {
        return;
    }
    taken.clear();
    for vp in vps.iter_mut() {
        if !vp.last.is_some_and(|pu| owned.contains(pu) && taken.insert(pu)) {
            vp.last = None;
        }
    }
    // The other threads go to processors without one, then to all in rotation.
    let nobody_there = owned.iter().filter(|&pu| !taken.contains(pu));
    let mut places = nobody_there.chain(owned.iter().cycle());
    for vp in vps.iter_mut().filter(|vp| vp.last.is_none()) {
        vp.last = places.next();
    }
}
