//! Closed workloads with one common list: so many of its applications run at a time, and the end of
//! any of them lets the next one arrive.
//!
//! Source: Martorell et al. 2000, §6.4 (a multiprogramming level held by hand, against one that the
//! manager controls).

use super::arrival::{Arrival, Source};
use crate::Nanos;
use crate::program::Program;
use std::sync::Arc;

/// A list of applications that is worked off.
#[derive(Debug, Clone)]
pub struct Closed {
    programs: Vec<Arc<Program>>,
    /// The number of applications that still arrive by themselves; `next` is the index of the next
    /// of the list.
    first: usize,
    next: usize,
}

impl Closed {
    /// These programs in their order, at most `level` at a time. Without a level all of them arrive
    /// at the start, and the policy's admission says which may run.
    pub fn new(programs: Vec<Arc<Program>>, level: Option<u32>) -> Self {
        let first = level.map_or(programs.len(), |level| level.max(1) as usize);
        Self { programs, first, next: 0 }
    }

    fn arrival(&mut self, at: Nanos) -> Option<Arrival> {
        let program = self.programs.get(self.next)?.clone();
        let job = self.next as u64;
        self.next += 1;
        Some(Arrival { at, job, stream: 0, program, estimate_ns: None, until: None })
    }
}

impl Source for Closed {
    fn next(&mut self) -> Option<Arrival> {
        self.first = self.first.checked_sub(1)?;
        self.arrival(0)
    }

    fn ended(&mut self, _stream: u32, now: Nanos) -> Option<Arrival> {
        self.arrival(now)
    }

    fn total(&self) -> Option<u64> {
        Some(self.programs.len() as u64)
    }
}
