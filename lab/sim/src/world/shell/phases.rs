//! The phases of one application, as its program's [`PhaseSource`] makes them known.
//!
//! A program that says its phases says each one when it begins. Of one that is looked for, a shell
//! can read how many regions it has opened; the program itself says only that it is parallel again,
//! at its next region, if it was told that processors of it are lent (as the client does, see
//! `docs/ABI.md`). One that is looked for by its threads shows no regions, and says nothing.

use super::outbox::Outbox;
use crate::Nanos;
use crate::program::PhaseSource;
use numaestro_contract::{Phase, SAID_MIN_NS};
use numaestro_engine::AppId;

/// See the file's header.
#[derive(Debug, Clone, Copy)]
pub struct Phases {
    id: AppId,
    source: PhaseSource,
    /// Parallel regions that it has opened.
    regions: u64,
    /// Its latest target lends some of its processors, and it has opened no region since.
    lent: bool,
}

impl Phases {
    /// The phases of an application that arrives.
    pub fn new(id: AppId, source: PhaseSource) -> Self {
        Self { id, source, regions: 0, lent: false }
    }

    /// Whether the shell looks for them.
    pub fn are_looked_for(&self) -> bool {
        matches!(self.source, PhaseSource::Manager | PhaseSource::Threads)
    }

    /// Parallel regions that it has opened, as a shell can read them.
    pub fn regions(&self) -> u64 {
        if self.shows_regions() { self.regions } else { 0 }
    }

    /// Whether a shell can read that it is in a region.
    pub fn shows_regions(&self) -> bool {
        self.source == PhaseSource::Manager
    }

    /// It is told a target, which lends processors of it or does not.
    pub fn target(&mut self, lent: bool) {
        self.lent = lent;
    }

    /// A phase of so many nanoseconds begins in which it is not parallel.
    pub fn leave_parallel(&self, phase: Phase, length: Nanos, out: &mut Outbox) {
        if self.source == PhaseSource::Program && length > SAID_MIN_NS {
            out.say_phase(self.id, phase);
        }
    }

    /// The event that it waited for has come.
    pub fn resume(&self, out: &mut Outbox) {
        if self.source == PhaseSource::Program && out.phase(self.id) == Phase::Blocked {
            out.say_phase(self.id, Phase::Parallel);
        }
    }

    /// It opens a region. True if it waits for the answer of the engine, which has heard something.
    pub fn open_region(&mut self, out: &mut Outbox) -> bool {
        self.regions += 1;
        match self.source {
            PhaseSource::Program => out.say_phase(self.id, Phase::Parallel),
            PhaseSource::Manager => {
                if std::mem::take(&mut self.lent) {
                    out.say_phase(self.id, Phase::Parallel);
                }
                // It goes on with the processors that it has.
                false
            }
            PhaseSource::Threads | PhaseSource::Nobody => false,
        }
    }
}
