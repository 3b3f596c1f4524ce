//! Measures with one thread how full a bus is: for some tenths of a millisecond the thread reads
//! from memory as fast as it can, and for as long it computes in registers. If reading is slower
//! than it was on an idle machine and computing is not, the way to memory is full. Both together
//! cost a thousandth of one processor at most ([`Probe::pause_ns`]).
//!
//! A measurement during which the thread lost its processor says nothing and is dropped.

use rustix::time::{ClockId, clock_gettime};

use super::kernel::{self, Buffer};
use crate::monotonic_ns;

/// Length of each half.
const HALF_NS: u64 = 600_000;
/// A half in which the thread ran less than this part of the time is dropped, thousandths.
const RAN_PERMILLE: u64 = 950;
/// The part of one processor that probing may take: one of so many.
const COST_DIVISOR: u64 = 1000;

/// The rates that a probe measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Probe {
    /// Lines read per millisecond.
    pub stream: u32,
    /// Rounds of arithmetic per second.
    pub arithmetic: u32,
    /// Processor time that it took, nanoseconds.
    pub cost_ns: u64,
}

impl Probe {
    /// So long nothing more is to be probed.
    pub fn pause_ns(&self) -> u64 {
        self.cost_ns.saturating_mul(COST_DIVISOR)
    }

    /// The factor by which streaming is slower than in `base`, thousandths, at least 1000. A
    /// processor that has become slower by itself (its clock, a sibling) shows in the arithmetic
    /// and is taken out.
    pub fn stretch_milli(&self, base: &Self) -> u32 {
        let (stream, arithmetic) = (u64::from(self.stream.max(1)), u64::from(self.arithmetic));
        let stretch = u64::from(base.stream) * 1000 / stream;
        // A faster clock does not make memory faster.
        let clock = (arithmetic * 1000 / u64::from(base.arithmetic.max(1))).min(1000);
        u32::try_from(stretch * clock / 1000).unwrap_or(u32::MAX).max(1000)
    }
}

/// Processor time of the calling thread, nanoseconds.
pub(super) fn own_time_ns() -> u64 {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    now.tv_sec.cast_unsigned() * 1_000_000_000 + now.tv_nsec.cast_unsigned()
}

/// Runs `step` again and again until `end_ns`. Returns the rounds and the nanoseconds; `None` if
/// the thread lost its processor meanwhile.
pub(super) fn rounds_until(end_ns: u64, mut step: impl FnMut()) -> Option<(u64, u64)> {
    let (begun_ns, begun_cpu_ns) = (monotonic_ns(), own_time_ns());
    let mut rounds = 0;
    let now_ns = loop {
        step();
        rounds += 1;
        let now_ns = monotonic_ns();
        if now_ns >= end_ns {
            break now_ns;
        }
    };
    let (wall_ns, cpu_ns) = (now_ns - begun_ns, own_time_ns() - begun_cpu_ns);
    (wall_ns > 0 && cpu_ns * 1000 >= wall_ns * RAN_PERMILLE).then_some((rounds, wall_ns))
}

/// Lines per millisecond of so many rounds of [`kernel::LINES`].
pub(super) fn lines_per_ms((rounds, wall_ns): (u64, u64)) -> u32 {
    u32::try_from(rounds * kernel::LINES as u64 * 1_000_000 / wall_ns.max(1)).unwrap_or(u32::MAX)
}

/// Rounds per second.
pub(super) fn per_second((rounds, wall_ns): (u64, u64)) -> u32 {
    u32::try_from(rounds * 1_000_000_000 / wall_ns.max(1)).unwrap_or(u32::MAX)
}

/// Measures once, on the calling thread. Returns the rates, if it was not disturbed, and the
/// processor time that it took in either case, nanoseconds.
pub(super) fn feel(buffer: &mut Buffer) -> (Option<Probe>, u64) {
    let begun_cpu_ns = own_time_ns();
    // The first round warms up the caches that other threads have used since.
    buffer.read();
    kernel::compute();
    let stream = rounds_until(monotonic_ns() + HALF_NS, || buffer.read()).map(lines_per_ms);
    let arithmetic = rounds_until(monotonic_ns() + HALF_NS, kernel::compute);
    let cost_ns = own_time_ns() - begun_cpu_ns;
    let probe = stream.zip(arithmetic.map(per_second));
    (probe.map(|(stream, arithmetic)| Probe { stream, arithmetic, cost_ns }), cost_ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slower_streams_are_a_full_bus_and_a_slower_clock_is_not() {
        let base = Probe { stream: 200_000, arithmetic: 100_000, cost_ns: 0 };
        let stretch = |stream, arithmetic| Probe { stream, arithmetic, cost_ns: 0 }.stretch_milli(&base);
        assert_eq!(stretch(200_000, 100_000), 1000);
        assert_eq!(stretch(100_000, 100_000), 2000);
        assert_eq!(stretch(100_000, 50_000), 1000, "everything is slower");
        assert_eq!(stretch(100_000, 200_000), 2000);
        assert_eq!(stretch(400_000, 100_000), 1000, "never below");
        assert!(stretch(0, 100_000) > 1_000_000);
    }

    #[test]
    fn this_machine_can_be_felt_and_feels_about_the_same_again() {
        let mut buffer = Buffer::new();
        // A machine where no half of 0.6 ms is ever undisturbed is not one that tests can run on.
        let mut probes: Vec<Probe> = (0..400).filter_map(|_| feel(&mut buffer).0).take(9).collect();
        probes.sort_unstable_by_key(|probe| probe.stream);
        let (median, best) = (probes[probes.len() / 2], probes[probes.len() - 1]);
        assert!(median.stream > 0 && median.arithmetic > 0, "{median:?}");
        assert!(median.stretch_milli(&best) < 4000, "{probes:?}");
        assert!(median.pause_ns() >= median.cost_ns * COST_DIVISOR);
    }
}
