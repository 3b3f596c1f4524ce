//! The answer of a turns part: the applications that run in the turn that begins or goes on, and
//! their limits.

use crate::view::Slot;

/// The applications that run now, written by a turns part. The engine begins it with all started
/// applications, in order of arrival.
#[derive(Debug, Clone, Default)]
pub struct Turn {
    /// The applications that run now, in order of arrival. A turns part removes the others.
    pub running: Vec<Slot>,
    /// Applications that do not run now but may be given processors that are released before the
    /// turn ends, in that order (the next window).
    pub next: Vec<Slot>,
    /// Limits that were set, processors; of several for one application the last one holds.
    limits: Vec<(Slot, u32)>,
    /// Processors wanted on one bus, if the turns part chooses buses.
    on: Vec<(Slot, u32, u32)>,
}

impl Turn {
    /// A turn of no applications.
    pub const fn new() -> Self {
        Self { running: Vec::new(), next: Vec::new(), limits: Vec::new(), on: Vec::new() }
    }

    /// Begins with all applications in `order`, without limits.
    pub fn reset(&mut self, order: &[Slot]) {
        self.running.clear();
        self.running.extend_from_slice(order);
        self.next.clear();
        self.limits.clear();
        self.on.clear();
    }

    /// Limits an application to this many processors in this turn, at least 1 (one that has none is
    /// not in `running`). Where the limits sum up to all processors, a work-conserving share gives
    /// exactly these.
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
