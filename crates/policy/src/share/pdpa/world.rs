//! A small world for tests of PDPA: programs with speedup curves, and a manager that carries
//! decisions out at once.

use super::{Config, Pdpa, Share, State};
use crate::conformance::Case;
use crate::shares::Shares;
use crate::view::{PuState, Slot, Speedup};
use numaestro_topology::PuId;

pub const QUANTUM: u64 = 100_000_000;

/// Speedup with this many processors, thousandths; 0: it says nothing.
pub type Curve = fn(u32) -> u32;

pub fn silent(_: u32) -> u32 {
    0
}

pub fn linear(processors: u32) -> u32 {
    1000 * processors
}

/// Amdahl's law with a parallel part of 55 %.
pub fn half_parallel(processors: u32) -> u32 {
    1_000_000 / (450 + 550 / processors)
}

/// Nearly linear up to 18, then falling.
pub fn peak_at_18(processors: u32) -> u32 {
    if processors <= 18 { 900 * processors } else { 900 * 18 - 300 * (processors - 18) }
}

pub fn superlinear(processors: u32) -> u32 {
    1000 * processors + 20 * processors * processors
}

pub fn flat(_: u32) -> u32 {
    1000
}

/// A machine, programs, and a manager that carries decisions out at once.
pub struct World {
    pub case: Case,
    pub pdpa: Pdpa,
    pub curves: Vec<Curve>,
    /// Counts of the latest division, by slot.
    pub counts: Vec<u32>,
    /// Changes of counts since the beginning.
    pub changes: u32,
}

impl World {
    pub fn new(pus: u32, programs: &[(u32, Curve)]) -> Self {
        Self::with(pus, programs, Config::default())
    }

    pub fn with(pus: u32, programs: &[(u32, Curve)], config: Config) -> Self {
        let requests: Vec<u32> = programs.iter().map(|&(request, _)| request).collect();
        let case = Case::new(pus).wants(&requests);
        let (curves, counts) = (programs.iter().map(|&(_, curve)| curve).collect(), vec![0; programs.len()]);
        Self { case, pdpa: Pdpa { config, ..Pdpa::default() }, curves, counts, changes: 0 }
    }

    /// Divides and carries the decision out.
    pub fn decide(&mut self) {
        let mut shares = Shares::new();
        shares.reset(self.case.apps.len());
        self.case.with_view(|view| self.pdpa.divide(view, &mut shares));
        assert!(shares.total() <= self.case.pus.len() as u32);
        for &(slot, search) in shares.searches() {
            self.case.apps[slot.index()].search = search;
        }
        for slot in self.case.order.clone() {
            let count = shares.count(slot);
            let surplus = self.case.apps[slot.index()].allocation.saturating_sub(count);
            for _ in 0..surplus {
                let pu = self.case.apps[slot.index()].own.iter().next().unwrap();
                self.take(slot, pu);
            }
        }
        for slot in self.case.order.clone() {
            let count = shares.count(slot);
            self.changes += u32::from(std::mem::replace(&mut self.counts[slot.index()], count) != count);
            if self.case.apps[slot.index()].allocation != count {
                self.case.apps[slot.index()].report = None;
            }
            while self.case.apps[slot.index()].allocation < count {
                let pu = self.case.pus.iter().position(|pu| pu.next.is_none()).unwrap();
                self.case.give(slot, PuId(pu as u32), self.case.now_ns);
            }
        }
    }

    pub fn take(&mut self, slot: Slot, pu: PuId) {
        let app = &mut self.case.apps[slot.index()];
        app.own.remove(pu);
        app.allocation -= 1;
        app.report = None;
        let entry = &mut self.case.pus[pu.index()];
        (entry.state, entry.owner, entry.next) = (PuState::Free, None, None);
    }

    pub fn report(&mut self, slot: usize, speedup_milli: u32) {
        let app = &mut self.case.apps[slot];
        app.report = Some(Speedup { processors: app.allocation, speedup_milli });
        app.reports += 1;
    }

    /// One program after the other says its speedup, then a quantum passes; `quanta` times.
    pub fn run(&mut self, quanta: u32) {
        for _ in 0..quanta {
            self.decide();
            for slot in self.case.order.clone() {
                let allocation = self.case.apps[slot.index()].allocation;
                if allocation > 0 && self.curves[slot.index()](allocation) > 0 {
                    self.report(slot.index(), self.curves[slot.index()](allocation));
                    self.decide();
                }
            }
            self.case.now_ns += QUANTUM;
        }
    }

    pub fn depart(&mut self, slot: u32) {
        let slot = Slot(slot);
        for pu in &self.case.apps[slot.index()].own.clone() {
            self.take(slot, pu);
        }
        self.case.order.retain(|&other| other != slot);
    }

    pub fn state(&self, slot: usize) -> State {
        self.pdpa.records[slot].state
    }

    /// Divides, reports a speedup, and divides again. Returns state and count.
    pub fn after(&mut self, slot: usize, speedup_milli: u32) -> (State, u32) {
        self.report(slot, speedup_milli);
        self.decide();
        (self.state(slot), self.counts[slot])
    }
}
