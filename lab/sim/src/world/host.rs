//! The surroundings of a program: the clock, the operating system, the log, and the way to the
//! engine. It is a plain record of rooms, so that the steps of a program are functions of one
//! application and its host.

use super::clock::Clock;
use super::log::{Line, Log};
use super::os::Os;
use super::shell::Outbox;
use crate::machine::Costs;

/// See the file's header.
#[derive(Debug)]
pub struct Host {
    pub clock: Clock,
    pub os: Os,
    pub log: Log,
    pub outbox: Outbox,
    pub costs: Costs,
    /// Number of processors that the manager may give out.
    pub usable: usize,
}

impl Host {
    /// Notes a line of the log.
    pub fn note(&mut self, line: Line, job: u64, thread: u32, value: u32) {
        self.log.note(self.clock.now(), line, job, thread, value);
    }

    /// The time slice of a job's thread on a processor is over.
    pub fn slice_ended(&mut self, job: u64, thread: u32, pu: u32) {
        self.log.count(1);
        self.note(Line::Slice, job, thread, pu);
        self.os.slice_ended(pu);
    }
}
