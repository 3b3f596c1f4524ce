//! The sensor of sequential and blocked phases. While an application lacks processors, it looks at
//! the pages of applications that could lend theirs; while none does, nothing wakes up.

use std::collections::BTreeMap;

use numaestro_contract::{Look, Phase, PhaseWatch};
use numaestro_engine::Event;
use numaestro_host::memory::SharedPage;
use numaestro_host::{monotonic_ns, procfs};
use numaestro_policy::AppId;

use crate::wakeups::{Due, Wakeups};

/// Time between two looks while phases are likely.
const INTERVAL_NS_MIN: u64 = 2_000_000;
/// Time between two looks while they are not.
const INTERVAL_NS_MAX: u64 = 64_000_000;
/// Phases are likely so long after one was seen, and in a program that young.
const LIKELY_NS: u64 = 1_000_000_000;
/// So long after lending is looked whether the program noticed.
const JUST_NOW_NS: u64 = 20_000_000;

/// An application, as far as phases are concerned.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Subject<'a> {
    pub(crate) app: u64,
    pub(crate) pid: u32,
    pub(crate) arrived_ns: u64,
    pub(crate) page: Option<&'a SharedPage>,
    /// It is neither a wrapper nor stopped.
    pub(crate) runs: bool,
    /// Processors of its target; `None` before the first.
    pub(crate) processors: Option<usize>,
    /// Other applications run on its processors, or it runs on theirs.
    pub(crate) shared: bool,
    /// It waits in the queue, or has fewer processors of its own than it asked for.
    pub(crate) lacks: bool,
}

/// The engine counts on it as one that lends.
fn is_told(watch: &PhaseWatch) -> bool {
    watch.told() != Phase::Parallel
}

/// A sequential or blocked phase was found less than `ns` ago.
fn was_seen_within(watch: &PhaseWatch, now_ns: u64, ns: u64) -> bool {
    watch.seen_ns().is_some_and(|seen| now_ns.saturating_sub(seen) < ns)
}

/// See the file's header.
#[derive(Debug, Default)]
pub(crate) struct Phases {
    by_app: BTreeMap<u64, PhaseWatch>,
    /// Time between two looks, nanoseconds; 0 while there are none.
    interval_ns: u64,
}

impl Phases {
    /// The engine counts on this application as one that lends.
    pub(crate) fn is_sequential(&self, app: u64) -> bool {
        self.by_app.get(&app).is_some_and(is_told)
    }

    /// It could use more processors of its own than it has.
    pub(crate) fn wants_more(&self, subject: &Subject<'_>) -> bool {
        subject.runs && subject.lacks && !self.is_sequential(subject.app)
    }

    fn could_lend(&self, subject: &Subject<'_>) -> bool {
        let owns = subject.processors.is_some() && !subject.shared;
        subject.page.is_some() && subject.runs && (owns || self.is_sequential(subject.app))
    }

    /// An application lacks processors that another one could lend.
    fn lending_is_of_use(&self, subjects: &[Subject<'_>]) -> bool {
        let mut lenders = subjects.iter().filter(|subject| self.could_lend(subject)).map(|subject| subject.app);
        let Some(first) = lenders.next() else { return false };
        let only = lenders.next().is_none();
        subjects.iter().any(|subject| !(only && subject.app == first) && self.wants_more(subject))
    }

    fn are_likely(&self, subjects: &[Subject<'_>], now_ns: u64) -> bool {
        let is_young = |subject: &Subject<'_>| now_ns.saturating_sub(subject.arrived_ns) < LIKELY_NS;
        let seen = |app| self.by_app.get(&app).is_some_and(|watch| was_seen_within(watch, now_ns, LIKELY_NS));
        subjects.iter().any(|subject| self.could_lend(subject) && (is_young(subject) || seen(subject.app)))
    }

    /// A program that was parallel again before it could be told may not have said so: it is looked
    /// at some times more.
    fn lent_just_now(&self, now_ns: u64) -> bool {
        self.by_app.values().any(|watch| is_told(watch) && was_seen_within(watch, now_ns, JUST_NOW_NS))
    }

    /// Begins or ends looking, as the latest decisions make it necessary.
    pub(crate) fn watch(&mut self, subjects: &[Subject<'_>], wakeups: &mut Wakeups) {
        let now = monotonic_ns();
        if self.lending_is_of_use(subjects) {
            if self.interval_ns == 0 || self.are_likely(subjects, now) {
                self.interval_ns = INTERVAL_NS_MIN;
            }
            wakeups.set_if_unset(Due::Phases, now + self.interval_ns);
        } else if !self.lent_just_now(now) {
            self.interval_ns = 0;
            wakeups.clear(Due::Phases);
        }
    }

    /// Looks at every application that could lend.
    pub(crate) fn look(&mut self, subjects: &[Subject<'_>], wakeups: &mut Wakeups) -> Vec<Event> {
        let now = monotonic_ns();
        let of_use = self.lending_is_of_use(subjects);
        let mut events = Vec::new();
        for subject in subjects {
            let Some(page) = subject.page.filter(|_| self.could_lend(subject)) else { continue };
            let report = page.report();
            let several = subject.processors.is_some_and(|count| count >= 2);
            let look = Look { regions: report.regions, in_region: report.in_region, several };
            let watch = self.by_app.entry(subject.app).or_default();
            match watch.look(look, now, || procfs::cpu_time_ns(subject.pid).ok()) {
                Some(Phase::Sequential | Phase::Blocked) if !of_use => {}
                Some(phase) => events.extend(watch.tell(AppId(subject.app), phase)),
                None => {}
            }
        }
        let doubled = (self.interval_ns * 2).clamp(INTERVAL_NS_MIN, INTERVAL_NS_MAX);
        self.interval_ns = if self.are_likely(subjects, now) { INTERVAL_NS_MIN } else { doubled };
        if of_use || self.lent_just_now(now) {
            wakeups.set(Due::Phases, now + self.interval_ns);
        }
        events
    }

    /// The program says that it is parallel again.
    pub(crate) fn parallel_again(&mut self, app: u64) -> Option<Event> {
        self.by_app.get_mut(&app)?.says_parallel(AppId(app))
    }

    /// Its page has a new target. A program that entered a region just before has not said that it
    /// is parallel: it is looked at soon. One that lends nothing will not say so, so the engine is
    /// told to count on it no more.
    pub(crate) fn targeted(&mut self, app: u64, lent: bool, wakeups: &mut Wakeups) -> Option<Event> {
        let watch = self.by_app.get_mut(&app)?;
        if !lent {
            return watch.tell(AppId(app), Phase::Parallel);
        }
        if is_told(watch) {
            wakeups.set_earlier(Due::Phases, monotonic_ns() + INTERVAL_NS_MIN);
        }
        None
    }

    /// The engine begins anew and counts on no lender.
    pub(crate) fn begin_anew(&mut self) {
        for (app, watch) in &mut self.by_app {
            watch.tell(AppId(*app), Phase::Parallel);
        }
    }

    /// Earlier observations of the application hold no more: it was stopped, or has a new page. The
    /// event tells the engine to count on them no more.
    pub(crate) fn renew(&mut self, app: u64) -> Option<Event> {
        self.by_app.remove(&app)?.says_parallel(AppId(app))
    }

    /// It has gone.
    pub(crate) fn forget(&mut self, app: u64) {
        self.by_app.remove(&app);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An application that the engine was told to be sequential.
    fn sequential() -> Phases {
        let mut phases = Phases::default();
        let told = phases.by_app.entry(1).or_default().tell(AppId(1), Phase::Sequential);
        assert_eq!(told, Some(Event::Sequential { app: AppId(1) }));
        phases
    }

    #[test]
    fn the_engine_hears_whenever_it_is_to_count_on_a_lender_no_more() {
        let parallel = Some(Event::Parallel { app: AppId(1) });
        let mut wakeups = Wakeups::new().unwrap();
        let mut phases = sequential();
        assert_eq!(phases.targeted(1, true, &mut wakeups), None, "it lends still");
        assert_eq!(phases.targeted(1, false, &mut wakeups), parallel);
        assert_eq!(phases.targeted(1, false, &mut wakeups), None);
        assert_eq!(sequential().renew(1), parallel);
        assert_eq!(sequential().parallel_again(1), parallel);
    }
}
