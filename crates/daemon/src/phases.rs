//! Sequential phases of evolving programs: while somebody wants more processors, whoever has several and opens no parallel region for 3 ms
//! lends all but one. Nothing wakes up while nobody wants more.

use numaestro_engine::Event;
use numaestro_host::memory::Report;
use numaestro_host::monotonic_ns;
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
        self.page.is_some()
            && (self.phases.sequential || self.target.as_ref().is_some_and(|target| target.pus.len() >= 2))
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
    Parallel,
    Nothing,
}

impl Phases {
    /// Takes one look into account.
    fn look(&mut self, report: &Report, now: u64) -> Seen {
        let moved_on = report.in_region || self.regions != Some(report.regions);
        if moved_on {
            self.quiet_since_ns = now;
            // One look more is needed to know that no region begins and ends between looks.
            self.regions = (!report.in_region).then_some(report.regions);
        }
        match (moved_on, self.sequential) {
            (true, true) => {
                self.sequential = false;
                Seen::Parallel
            }
            (false, false) if now.saturating_sub(self.quiet_since_ns) >= QUIET_NS => {
                self.sequential = true;
                self.seen_ns = Some(now);
                Seen::Sequential
            }
            _ => Seen::Nothing,
        }
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
            match entry.phases.look(&report, now) {
                Seen::Sequential if of_use => events.push(Event::Sequential { app }),
                Seen::Sequential => entry.phases.sequential = false,
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
            entry.phases.sequential = false;
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

    const MS: u64 = 1_000_000;

    fn report(regions: u64, in_region: bool) -> Report {
        Report { regions, in_region, ..Report::default() }
    }

    #[test]
    fn three_quiet_milliseconds_are_a_sequential_phase() {
        let mut phases = Phases::default();
        assert_eq!(phases.look(&report(5, true), MS), Seen::Nothing);
        assert_eq!(phases.look(&report(5, false), 3 * MS), Seen::Nothing);
        assert_eq!(phases.look(&report(5, false), 5 * MS), Seen::Nothing);
        assert_eq!(phases.look(&report(5, false), 6 * MS), Seen::Sequential);
        assert_eq!(phases.look(&report(5, false), 60 * MS), Seen::Nothing);
        assert_eq!(phases.look(&report(6, false), 62 * MS), Seen::Parallel);
        assert_eq!(phases.look(&report(6, false), 64 * MS), Seen::Nothing);
        assert_eq!(phases.look(&report(6, false), 66 * MS), Seen::Sequential);
    }

    #[test]
    fn short_regions_between_looks_are_no_quiet() {
        let mut phases = Phases::default();
        for look in 0..100 {
            assert_eq!(phases.look(&report(look, false), look * 64 * MS), Seen::Nothing);
        }
    }

    #[test]
    fn a_long_region_is_no_quiet() {
        let mut phases = Phases::default();
        for look in 0..100 {
            assert_eq!(phases.look(&report(1, true), look * 64 * MS), Seen::Nothing);
        }
    }
}
