//! The findings of a look at a program that does not say its phases, and the processor time between
//! two looks.

use numaestro_engine::Nanos;
use serde::{Deserialize, Serialize};

/// A program that uses more than this is parallel by other means than regions: by a library's own
/// threads.
pub const PARALLEL_PERMILLE: u64 = 1500;
/// The kernel counts the time of a running thread up to its latest tick, so a look may find this
/// much more than was used since the former one, nanoseconds.
const TICK_NS: Nanos = 10_000_000;

/// The findings of one look at a running program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Look {
    /// Parallel regions it has opened since it began.
    pub regions: u64,
    /// It is inside of one.
    pub in_region: bool,
    /// It has two processors or more.
    pub several: bool,
    /// Threads of it that run or are ready to, as far as the shell counted ([`READY_MOST`] is
    /// enough); as many of a program that leaves its work to processes of its own. `None`: they
    /// were not counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ready: Option<u32>,
    /// It has slept between two polls for messages since the latest look, and opens regions: it
    /// is a rank of MPI that waits.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub waits: bool,
}

impl Look {
    /// Whether the program's processor time matters at this look.
    pub const fn needs_cpu_time(self) -> bool {
        !self.in_region
    }
}

/// A shell that has found so many ready threads need not count on.
pub const READY_MOST: u32 = 2;

/// Processor time between two looks.
#[derive(Debug, Clone, Copy)]
pub struct Used {
    /// Time, nanoseconds.
    pub ns: Nanos,
    /// Processor time, nanoseconds.
    pub cpu_ns: Nanos,
}

impl Used {
    /// Of each look, the time and the processor time, nanoseconds.
    pub fn between((then, before): (Nanos, Nanos), (now, time): (Nanos, Nanos)) -> Self {
        Self { ns: now.saturating_sub(then).max(1), cpu_ns: time.saturating_sub(before) }
    }

    /// Thousandths of a processor.
    pub fn permille(self) -> u64 {
        self.cpu_ns * 1000 / self.ns
    }

    /// More than one thread must have run at a time.
    pub fn is_parallel(self) -> bool {
        self.cpu_ns > self.ns * PARALLEL_PERMILLE / 1000 + TICK_NS
    }
}
