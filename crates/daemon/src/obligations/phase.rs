//! When a program counts as sequential or blocked, from what its page says of regions and from the
//! processor time that it uses.
//!
//! A program is sequential when it has opened no parallel region for 3 ms and uses about one
//! processor. It is blocked when it uses none: then it waits for something outside.

/// A program that has been outside of any region for so long is in a sequential phase.
const QUIET_NS: u64 = 3_000_000;
/// A program that uses less than this of a processor between two looks, thousandths, is blocked.
const BLOCKED_PERMILLE: u64 = 100;
/// One that was blocked and uses more than this works again, though it opens no region.
const WORKS_PERMILLE: u64 = 500;
/// One that uses more than this is parallel by other means than regions (a library's own threads).
const PARALLEL_PERMILLE: u64 = 1500;

/// What a program says of its parallel regions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Regions {
    /// Regions that it has opened so far.
    pub(crate) opened: u64,
    /// It is inside of one.
    pub(crate) inside: bool,
}

/// What a look at a program has shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Seen {
    Sequential,
    Blocked,
    Parallel,
    Nothing,
}

/// The present phase of one program.
#[derive(Debug, Default)]
pub(crate) struct Phase {
    /// Regions at the latest look, if it was outside of one.
    regions: Option<u64>,
    /// Since when it has been seen outside of any region, nanoseconds.
    quiet_since_ns: u64,
    /// The engine was told that it is sequential.
    sequential: bool,
    /// The engine was told that it is blocked.
    blocked: bool,
    /// Time and processor time at the latest look of this quiet phase, nanoseconds.
    cpu: Option<(u64, u64)>,
    /// When the latest such phase was found, nanoseconds.
    seen_ns: Option<u64>,
}

impl Phase {
    /// The engine counts on it as one that lends.
    pub(crate) fn is_sequential(&self) -> bool {
        self.sequential
    }

    /// A sequential phase was found less than `ns` ago.
    pub(crate) fn was_seen_within(&self, now_ns: u64, ns: u64) -> bool {
        self.seen_ns.is_some_and(|seen| now_ns.saturating_sub(seen) < ns)
    }

    /// The engine does not count it as sequential any more, or was not told after all.
    pub(crate) fn take_back(&mut self) {
        (self.sequential, self.blocked) = (false, false);
    }

    /// The program says that it is parallel; true if the engine has to be told.
    pub(crate) fn end(&mut self) -> bool {
        self.regions = None;
        let was = self.sequential;
        self.take_back();
        was
    }

    /// Takes one look into account. `several`: it has several processors. `cpu_time`: nanoseconds,
    /// asked only when they matter.
    pub(crate) fn look(
        &mut self,
        said: Regions,
        now: u64,
        several: bool,
        cpu_time: impl FnOnce() -> Option<u64>,
    ) -> Seen {
        let moved_on = said.inside || self.regions != Some(said.opened);
        if moved_on {
            self.quiet_since_ns = now;
            self.cpu = None;
            // One look more is needed to know that no region begins and ends between looks.
            self.regions = (!said.inside).then_some(said.opened);
            let was = self.sequential;
            self.take_back();
            return if was { Seen::Parallel } else { Seen::Nothing };
        }
        // A program that never opened a region may be parallel without any.
        if said.opened == 0 || now.saturating_sub(self.quiet_since_ns) < QUIET_NS {
            return Seen::Nothing;
        }
        let Some(permille) = self.rate(now, cpu_time()) else { return Seen::Nothing };
        if self.blocked && permille > WORKS_PERMILLE {
            self.take_back();
            Seen::Parallel
        } else if !self.blocked && permille < BLOCKED_PERMILLE {
            (self.sequential, self.blocked, self.seen_ns) = (true, true, Some(now));
            Seen::Blocked
        } else if !self.sequential && several && permille < PARALLEL_PERMILLE {
            (self.sequential, self.seen_ns) = (true, Some(now));
            Seen::Sequential
        } else {
            Seen::Nothing
        }
    }

    /// Thousandths of a processor used since the former look, if there was one in this quiet phase.
    fn rate(&mut self, now: u64, cpu_time: Option<u64>) -> Option<u64> {
        let before = std::mem::replace(&mut self.cpu, cpu_time.map(|time| (now, time)));
        let ((then, before), time) = (before?, cpu_time?);
        Some(time.saturating_sub(before) * 1000 / (now - then).max(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A program with several processors that works all the time.
    fn look(phase: &mut Phase, said: Regions, now: u64) -> Seen {
        phase.look(said, now, true, || Some(now))
    }

    const MS: u64 = 1_000_000;

    fn said(opened: u64, inside: bool) -> Regions {
        Regions { opened, inside }
    }

    #[test]
    fn three_quiet_milliseconds_are_a_sequential_phase() {
        let mut phase = Phase::default();
        assert_eq!(look(&mut phase, said(5, true), MS), Seen::Nothing);
        assert_eq!(look(&mut phase, said(5, false), 3 * MS), Seen::Nothing);
        assert_eq!(look(&mut phase, said(5, false), 6 * MS), Seen::Nothing, "one look more shows what it does");
        assert_eq!(look(&mut phase, said(5, false), 8 * MS), Seen::Sequential);
        assert_eq!(look(&mut phase, said(5, false), 60 * MS), Seen::Nothing);
        assert_eq!(look(&mut phase, said(6, false), 62 * MS), Seen::Parallel);
        assert_eq!(look(&mut phase, said(6, false), 66 * MS), Seen::Nothing);
        assert_eq!(look(&mut phase, said(6, false), 68 * MS), Seen::Sequential);
    }

    #[test]
    fn short_regions_between_looks_are_no_quiet() {
        let mut phase = Phase::default();
        for at in 0..100 {
            assert_eq!(look(&mut phase, said(at, false), at * 64 * MS), Seen::Nothing);
        }
    }

    #[test]
    fn a_long_region_is_no_quiet() {
        let mut phase = Phase::default();
        for at in 0..100 {
            assert_eq!(look(&mut phase, said(1, true), at * 64 * MS), Seen::Nothing);
        }
    }

    #[test]
    fn who_uses_no_time_lends_the_last_processor_too() {
        let mut phase = Phase::default();
        let idle = |phase: &mut Phase, now| phase.look(said(5, false), now, false, || Some(7));
        assert_eq!(idle(&mut phase, MS), Seen::Nothing);
        assert_eq!(idle(&mut phase, 4 * MS), Seen::Nothing, "one look more tells whether time passes");
        assert_eq!(idle(&mut phase, 6 * MS), Seen::Blocked);
        assert_eq!(idle(&mut phase, 8 * MS), Seen::Nothing);
        let works = phase.look(said(5, false), 10 * MS, false, || Some(2 * MS));
        assert_eq!(works, Seen::Parallel, "it works again, without regions");
        assert_eq!(phase.look(said(5, false), 12 * MS, false, || Some(4 * MS)), Seen::Nothing);
        assert_eq!(phase.look(said(5, false), 14 * MS, false, || Some(4 * MS)), Seen::Blocked);
        assert_eq!(phase.look(said(6, false), 16 * MS, false, || None), Seen::Parallel);
    }

    #[test]
    fn who_has_no_regions_is_not_judged_by_them() {
        let mut phase = Phase::default();
        for at in 0..50 {
            assert_eq!(phase.look(said(0, false), at * 2 * MS, true, || Some(0)), Seen::Nothing);
        }
    }

    #[test]
    fn a_librarys_own_threads_are_parallel_too() {
        let mut phase = Phase::default();
        for at in 0..50 {
            let seen = phase.look(said(5, false), at * 2 * MS, true, || Some(at * 4 * MS));
            assert_eq!(seen, Seen::Nothing);
        }
    }

    #[test]
    fn who_works_alone_on_its_only_processor_lends_nothing() {
        let mut phase = Phase::default();
        for at in 0..50 {
            let seen = phase.look(said(5, false), at * 2 * MS, false, || Some(at * 2 * MS));
            assert_eq!(seen, Seen::Nothing);
        }
    }
}
