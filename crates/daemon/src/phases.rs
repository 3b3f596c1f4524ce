//! Sequential phases of evolving programs: while somebody wants more processors, whoever has several and opens no parallel region for 3 ms
//! lends all but one. Nothing wakes up while nobody wants more.

use numaestro_engine::Event;
use numaestro_host::monotonic_ns;
use numaestro_policy::AppId;

use crate::app::App;
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

    /// Looks at the page once.
    fn phase_event(&mut self, now: u64) -> Option<Event> {
        let report = self.report();
        let app = AppId(self.number);
        let moved_on = report.in_region || self.phases.regions != Some(report.regions);
        if moved_on {
            self.phases.quiet_since_ns = now;
            // One look more is needed to know that a region that is not seen now does not begin and end between looks.
            self.phases.regions = (!report.in_region).then_some(report.regions);
        }
        match (moved_on, self.phases.sequential) {
            (true, true) => {
                self.phases.sequential = false;
                Some(Event::Parallel { app })
            }
            (false, false) if now.saturating_sub(self.phases.quiet_since_ns) >= QUIET_NS => {
                self.phases.sequential = true;
                self.phases.seen_ns = Some(now);
                Some(Event::Sequential { app })
            }
            _ => None,
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
            match entry.phase_event(now) {
                Some(Event::Sequential { .. }) if !of_use => entry.phases.sequential = false,
                other => events.extend(other),
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
