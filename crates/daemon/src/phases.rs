//! Sequential phases of evolving programs: while somebody wants more processors, whoever opens no parallel region for 3 ms lends all but
//! one, and the last one too if it uses no processor time, because then it waits for something outside. Nothing wakes up while nobody
//! wants more.

use numaestro_engine::Event;
use numaestro_host::memory::Report;
use numaestro_host::{monotonic_ns, procfs};
use numaestro_policy::AppId;

use crate::app::{App, Phases};
use crate::manager::Manager;
use crate::timers::Due;

/// A program that has been outside of any region for so long is in a sequential phase.
const QUIET_NS: u64 = 3_000_000;
/// How often is looked while such phases are likely.
const INTERVAL_NS_MIN: u64 = 2_000_000;
/// How often is looked while they are not.
const INTERVAL_NS_MAX: u64 = 64_000_000;
/// Phases are likely so long after one was seen, and in a program that young.
const LIKELY_NS: u64 = 1_000_000_000;
/// So long after lending is looked whether the program noticed.
const JUST_NOW_NS: u64 = 20_000_000;

impl App {
    fn can_lend(&self) -> bool {
        let has_some = self.target.as_ref().is_some_and(|target| !target.shared);
        self.page.is_some() && !self.is_stopped() && !self.is_wrapper() && (self.phases.sequential || has_some)
    }

    fn has_several(&self) -> bool {
        self.target.as_ref().is_some_and(|target| target.pus.len() >= 2)
    }

    fn phases_are_likely(&self, now: u64) -> bool {
        now.saturating_sub(self.arrived_ns) < LIKELY_NS
            || self.phases.seen_ns.is_some_and(|seen| now.saturating_sub(seen) < LIKELY_NS)
    }
}

/// What a look at a page has shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Seen {
    Sequential,
    Blocked,
    Parallel,
    Nothing,
}

/// A program that uses less than this of a processor between two looks, thousandths, waits for something outside.
const BLOCKED_PERMILLE: u64 = 100;
/// One that waited and uses more than this works again, though it opens no region.
const WORKS_PERMILLE: u64 = 500;
/// One that uses more than this is parallel by other means than regions (a library's own threads).
const PARALLEL_PERMILLE: u64 = 1500;

impl Phases {
    /// Takes one look into account. `cpu_time` is asked only when it matters.
    fn look(&mut self, report: &Report, now: u64, several: bool, cpu_time: impl FnOnce() -> Option<u64>) -> Seen {
        let moved_on = report.in_region || self.regions != Some(report.regions);
        if moved_on {
            self.quiet_since_ns = now;
            self.cpu = None;
            // One look more is needed to know that no region begins and ends between looks.
            self.regions = (!report.in_region).then_some(report.regions);
            let was = std::mem::take(&mut self.sequential);
            self.blocked = false;
            return if was { Seen::Parallel } else { Seen::Nothing };
        }
        // Who never opened a region may be parallel without any.
        if report.regions == 0 || now.saturating_sub(self.quiet_since_ns) < QUIET_NS {
            return Seen::Nothing;
        }
        let Some(permille) = self.rate(now, cpu_time()) else { return Seen::Nothing };
        if self.blocked && permille > WORKS_PERMILLE {
            (self.sequential, self.blocked) = (false, false);
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

impl Manager {
    /// Somebody lacks what somebody else could lend.
    fn lending_is_of_use(&self) -> bool {
        let lenders: Vec<u64> = self.apps.values().filter(|entry| entry.can_lend()).map(|entry| entry.number).collect();
        match lenders.as_slice() {
            [] => false,
            [only] => self.apps.values().any(|entry| entry.number != *only && entry.wants_more()),
            _ => self.apps.values().any(App::wants_more),
        }
    }

    /// Begins or ends looking, as the latest decisions make it necessary.
    pub(crate) fn consider_phases(&mut self) {
        if self.lending_is_of_use() {
            let now = monotonic_ns();
            let likely = self.apps.values().any(|entry| entry.can_lend() && entry.phases_are_likely(now));
            if likely || self.phases_interval_ns == 0 {
                self.phases_interval_ns = INTERVAL_NS_MIN;
            }
            self.timers.set_if_unset(Due::Phases, now + self.phases_interval_ns);
        } else if !self.lent_just_now(monotonic_ns()) {
            self.phases_interval_ns = 0;
            self.timers.clear(Due::Phases);
        }
    }

    /// A program that was parallel again before it could be told may not have said so: some looks more.
    fn lent_just_now(&self, now: u64) -> bool {
        let just_now = |seen: u64| now.saturating_sub(seen) < JUST_NOW_NS;
        self.apps.values().any(|entry| entry.phases.sequential && entry.phases.seen_ns.is_some_and(just_now))
    }

    pub(crate) fn look_at_phases(&mut self) {
        let now = monotonic_ns();
        let of_use = self.lending_is_of_use();
        let mut events = Vec::new();
        for entry in self.apps.values_mut().filter(|entry| entry.can_lend()) {
            let report = entry.report();
            let app = AppId(entry.number);
            let (several, cpu_time) = (entry.has_several(), || procfs::cpu_time_ns(entry.process.pid()).ok());
            match entry.phases.look(&report, now, several, cpu_time) {
                Seen::Sequential if of_use => events.push(Event::Sequential { app }),
                Seen::Blocked if of_use => events.push(Event::Blocked { app }),
                Seen::Sequential | Seen::Blocked => (entry.phases.sequential, entry.phases.blocked) = (false, false),
                Seen::Parallel => events.push(Event::Parallel { app }),
                Seen::Nothing => {}
            }
        }
        let likely = self.apps.values().any(|entry| entry.can_lend() && entry.phases_are_likely(now));
        let doubled = (self.phases_interval_ns * 2).clamp(INTERVAL_NS_MIN, INTERVAL_NS_MAX);
        self.phases_interval_ns = if likely { INTERVAL_NS_MIN } else { doubled };
        if of_use || self.lent_just_now(now) {
            self.timers.set(Due::Phases, now + self.phases_interval_ns);
        }
        for event in events {
            self.feed(event);
        }
    }

    /// The program says that it is parallel again.
    pub(crate) fn parallel_again(&mut self, app: u64) {
        let Some(entry) = self.apps.get_mut(&app) else { return };
        entry.phases.regions = None;
        if entry.phases.sequential {
            (entry.phases.sequential, entry.phases.blocked) = (false, false);
            self.feed(Event::Parallel { app: AppId(app) });
        }
    }

    /// A program that entered a region just before it was told that its processors are lent has not said so: look soon.
    pub(crate) fn look_again_after_lending(&mut self, app: u64) {
        if self.apps.get(&app).is_some_and(|entry| entry.phases.sequential) {
            self.timers.set_earlier(Due::Phases, monotonic_ns() + INTERVAL_NS_MIN);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A program with several processors that works all the time.
    fn look(phases: &mut Phases, report: &Report, now: u64) -> Seen {
        phases.look(report, now, true, || Some(now))
    }

    const MS: u64 = 1_000_000;

    fn report(regions: u64, in_region: bool) -> Report {
        Report { regions, in_region, ..Report::default() }
    }

    #[test]
    fn three_quiet_milliseconds_are_a_sequential_phase() {
        let mut phases = Phases::default();
        assert_eq!(look(&mut phases, &report(5, true), MS), Seen::Nothing);
        assert_eq!(look(&mut phases, &report(5, false), 3 * MS), Seen::Nothing);
        assert_eq!(look(&mut phases, &report(5, false), 6 * MS), Seen::Nothing, "one look more shows what it does");
        assert_eq!(look(&mut phases, &report(5, false), 8 * MS), Seen::Sequential);
        assert_eq!(look(&mut phases, &report(5, false), 60 * MS), Seen::Nothing);
        assert_eq!(look(&mut phases, &report(6, false), 62 * MS), Seen::Parallel);
        assert_eq!(look(&mut phases, &report(6, false), 66 * MS), Seen::Nothing);
        assert_eq!(look(&mut phases, &report(6, false), 68 * MS), Seen::Sequential);
    }

    #[test]
    fn short_regions_between_looks_are_no_quiet() {
        let mut phases = Phases::default();
        for at in 0..100 {
            assert_eq!(look(&mut phases, &report(at, false), at * 64 * MS), Seen::Nothing);
        }
    }

    #[test]
    fn a_long_region_is_no_quiet() {
        let mut phases = Phases::default();
        for at in 0..100 {
            assert_eq!(look(&mut phases, &report(1, true), at * 64 * MS), Seen::Nothing);
        }
    }

    #[test]
    fn who_uses_no_time_lends_the_last_processor_too() {
        let mut phases = Phases::default();
        let idle = |phases: &mut Phases, now| phases.look(&report(5, false), now, false, || Some(7));
        assert_eq!(idle(&mut phases, MS), Seen::Nothing);
        assert_eq!(idle(&mut phases, 4 * MS), Seen::Nothing, "one look more tells whether time passes");
        assert_eq!(idle(&mut phases, 6 * MS), Seen::Blocked);
        assert_eq!(idle(&mut phases, 8 * MS), Seen::Nothing);
        let works = phases.look(&report(5, false), 10 * MS, false, || Some(2 * MS));
        assert_eq!(works, Seen::Parallel, "it works again, without regions");
        assert_eq!(phases.look(&report(5, false), 12 * MS, false, || Some(4 * MS)), Seen::Nothing);
        assert_eq!(phases.look(&report(5, false), 14 * MS, false, || Some(4 * MS)), Seen::Blocked);
        assert_eq!(phases.look(&report(6, false), 16 * MS, false, || None), Seen::Parallel);
    }

    #[test]
    fn who_has_no_regions_is_not_judged_by_them() {
        let mut phases = Phases::default();
        for at in 0..50 {
            assert_eq!(phases.look(&report(0, false), at * 2 * MS, true, || Some(0)), Seen::Nothing);
        }
    }

    #[test]
    fn a_librarys_own_threads_are_parallel_too() {
        let mut phases = Phases::default();
        for at in 0..50 {
            let seen = phases.look(&report(5, false), at * 2 * MS, true, || Some(at * 4 * MS));
            assert_eq!(seen, Seen::Nothing);
        }
    }

    #[test]
    fn who_works_alone_on_its_only_processor_lends_nothing() {
        let mut phases = Phases::default();
        for at in 0..50 {
            let seen = phases.look(&report(5, false), at * 2 * MS, false, || Some(at * 2 * MS));
            assert_eq!(seen, Seen::Nothing);
        }
    }
}
