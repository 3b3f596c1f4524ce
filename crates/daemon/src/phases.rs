//! The sensor of sequential and blocked phases. While an application lacks processors, it looks at
//! the pages of applications that could lend theirs; while none does, nothing wakes up.

use numaestro_contract::{Course, Look, Observation, Phase};
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

/// See the file's header.
#[derive(Debug, Default)]
pub(crate) struct Phases {
    /// Time between two looks, nanoseconds; 0 while there are none.
    interval_ns: u64,
}

/// The engine counts on this application as one that lends.
fn is_sequential(course: &Course, app: u64) -> bool {
    course.phase(AppId(app)) != Phase::Parallel
}

/// A sequential or blocked phase of this application was found less than `ns` ago.
fn was_seen_within(course: &Course, app: u64, now_ns: u64, ns: u64) -> bool {
    course.seen_ns(AppId(app)).is_some_and(|seen| now_ns.saturating_sub(seen) < ns)
}

/// It could use more processors of its own than it has.
pub(crate) fn wants_more(course: &Course, subject: &Subject<'_>) -> bool {
    subject.runs && subject.lacks && !is_sequential(course, subject.app)
}

fn could_lend(course: &Course, subject: &Subject<'_>) -> bool {
    let owns = subject.processors.is_some() && !subject.shared;
    subject.page.is_some() && subject.runs && (owns || is_sequential(course, subject.app))
}

/// An application lacks what another one could lend.
fn lending_is_of_use(course: &Course, subjects: &[Subject<'_>]) -> bool {
    let mut lenders = subjects.iter().filter(|subject| could_lend(course, subject)).map(|subject| subject.app);
    let Some(first) = lenders.next() else { return false };
    let only = lenders.next().is_none();
    subjects.iter().any(|subject| !(only && subject.app == first) && wants_more(course, subject))
}

fn are_likely(course: &Course, subjects: &[Subject<'_>], now_ns: u64) -> bool {
    let is_young = |subject: &Subject<'_>| now_ns.saturating_sub(subject.arrived_ns) < LIKELY_NS;
    let seen = |app| was_seen_within(course, app, now_ns, LIKELY_NS);
    subjects.iter().any(|subject| could_lend(course, subject) && (is_young(subject) || seen(subject.app)))
}

/// A program that was parallel again before it could be told may not have said so: it is looked at
/// some times more.
fn lent_just_now(course: &Course, subjects: &[Subject<'_>], now_ns: u64) -> bool {
    let mut apps = subjects.iter().map(|subject| subject.app);
    apps.any(|app| is_sequential(course, app) && was_seen_within(course, app, now_ns, JUST_NOW_NS))
}

impl Phases {
    /// Begins or ends looking, as the latest decisions make it necessary.
    pub(crate) fn watch(&mut self, course: &Course, subjects: &[Subject<'_>], wakeups: &mut Wakeups) {
        let now = monotonic_ns();
        if lending_is_of_use(course, subjects) {
            if self.interval_ns == 0 || are_likely(course, subjects, now) {
                self.interval_ns = INTERVAL_NS_MIN;
            }
            wakeups.set_if_unset(Due::Phases, now + self.interval_ns);
        } else if !lent_just_now(course, subjects, now) {
            self.interval_ns = 0;
            wakeups.clear(Due::Phases);
        }
    }

    /// Looks at `now` at every application that could lend, and gives `seen` what it observes.
    pub(crate) fn look(
        &mut self,
        course: &mut Course,
        (now, subjects): (u64, &[Subject<'_>]),
        mut seen: impl FnMut(&mut Course, Observation),
        wakeups: &mut Wakeups,
    ) {
        let of_use = lending_is_of_use(course, subjects);
        for subject in subjects {
            let Some(page) = subject.page.filter(|_| could_lend(course, subject)) else { continue };
            let (app, report) = (AppId(subject.app), page.report());
            let several = subject.processors.is_some_and(|count| count >= 2);
            let look = Look { regions: report.regions, in_region: report.in_region, several };
            let asks = course.needs_cpu_time(app, look, now);
            let cpu_ns = asks.then(|| procfs::cpu_time_ns(subject.pid).ok()).flatten();
            seen(course, Observation::Look { app, look, cpu_ns, of_use });
        }
        let doubled = (self.interval_ns * 2).clamp(INTERVAL_NS_MIN, INTERVAL_NS_MAX);
        self.interval_ns = if are_likely(course, subjects, now) { INTERVAL_NS_MIN } else { doubled };
        if of_use || lent_just_now(course, subjects, now) {
            wakeups.set(Due::Phases, now + self.interval_ns);
        }
    }
}

/// The page of an application has a new target that lends some of its processors. A program that
/// entered a region just before has not said that it is parallel: it is looked at soon.
pub(crate) fn lent(course: &Course, app: u64, wakeups: &mut Wakeups) {
    if is_sequential(course, app) {
        wakeups.set_earlier(Due::Phases, monotonic_ns() + INTERVAL_NS_MIN);
    }
}
