//! The one clock: `CLOCK_MONOTONIC`, as the pages and the engine use it; the time since boot, in
//! which the kernel tells when a thread was born; and the processor time of the calling thread, for
//! work that is to stay cheap.

use rustix::time::{ClockId, clock_gettime};

/// Nanoseconds of `CLOCK_MONOTONIC`.
pub fn monotonic_ns() -> u64 {
    nanos(ClockId::Monotonic)
}

/// Nanoseconds of `CLOCK_BOOTTIME`, as a thread's start time in `/proc`.
pub fn boot_ns() -> u64 {
    nanos(ClockId::Boottime)
}

/// Processor time of the calling thread, nanoseconds.
pub fn thread_time_ns() -> u64 {
    nanos(ClockId::ThreadCPUTime)
}

fn nanos(clock: ClockId) -> u64 {
    let now = clock_gettime(clock);
    // These clocks start at boot, or with the thread, so neither part is ever negative.
    now.tv_sec.cast_unsigned() * 1_000_000_000 + now.tv_nsec.cast_unsigned()
}
