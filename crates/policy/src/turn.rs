//! The answer to "when": the applications that run in the turn that begins or goes on, and their
//! limits.

use crate::view::Slot;

/// The applications that run now, written by a turns part. The engine begins it with everybody that
/// has been started, in order of arrival.
#[derive(Debug, Clone, Default)]
pub struct Turn {
    /// Those that run now, in order of arrival. A turns part removes the others.
    pub running: Vec<Slot>,
    /// Those that do not run now but may be given what is released before the turn ends, in that
    /// order (the next window).
    pub next: Vec<Slot>,
    /// Limits that have been set, some of them several times; the last one holds.
    limits: Vec<(Slot, u32)>,
    /// Processors wanted on one bus, if the turns part chooses buses.
    on: Vec<(Slot, u32, u32)>,
}

impl Turn {
    /// Nobody yet.
    pub const fn new() -> Self {
        Self { running: Vec::new(), next: Vec::new(), limits: Vec::new(), on: Vec::new() }
    }

    /// Everybody in `order`, without limits.
    pub fn reset(&mut self, order: &[Slot]) {
        self.running.clear();
        self.running.extend_from_slice(order);
        self.next.clear();
        self.limits.clear();
        self.on.clear();
    }

    /// An application has at most this many processors in this turn, at least 1 (one that has none
    /// is not in `running`). Where the sum of all limits is what there is, a work-conserving share
    /// gives exactly these.
    pub fn limit(&mut self, slot: Slot, processors: u32) {
        self.limits.push((slot, processors));
    }

    /// Limits that have been set; of several for one application the last one holds.
    pub fn limits(&self) -> &[(Slot, u32)] {
        &self.limits
    }

    /// So many of an application's processors of this turn should be on this bus (index in
    /// `View::buses`).
    pub fn prefer(&mut self, slot: Slot, bus: u32, processors: u32) {
        self.on.push((slot, bus, processors));
    }

    /// Buses that have been preferred: (application, bus, processors).
    pub fn preferred(&self) -> &[(Slot, u32, u32)] {
        &self.on
    }
}
