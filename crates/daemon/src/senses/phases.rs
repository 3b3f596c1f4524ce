//! The sensor of sequential and blocked phases. While an application lacks processors or lends
//! some, it reads the pages of applications that could lend theirs; otherwise nothing wakes up. The
//! contract ([`Looks`]) decides about the times and the applications.

use std::collections::BTreeMap;

use numaestro_contract::{Course, Lacking, Looks, Observation, Phase, READY_MOST, Subject};
use numaestro_host::memory::SharedPage;
use numaestro_host::procfs::{self, ReadyThreads};
use numaestro_host::{monotonic_ns, thread_time_ns};
use numaestro_policy::AppId;

use crate::wakeups::{ShellDue, Wakeups};

/// An application, and what the sensor reads of it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Candidate<'a> {
    pub(crate) subject: Subject,
    pub(crate) pid: u32,
    pub(crate) page: Option<&'a SharedPage>,
}

/// See the file's header.
#[derive(Debug, Default)]
pub(crate) struct Phases {
    looks: Looks,
    /// The counts of ready threads of applications.
    ready: BTreeMap<AppId, ReadyThreads>,
    /// The sleeps of applications at the latest look, as their pages say.
    sleeps: BTreeMap<AppId, u32>,
}

/// Looks may use this part of one processor at most: the states of many threads are expensive.
const SHARE: u64 = 33;

fn subjects(candidates: &[Candidate<'_>]) -> impl Iterator<Item = Subject> + Clone {
    candidates.iter().map(|candidate| candidate.subject)
}

impl Phases {
    /// Begins or ends looking, as the latest decisions make it necessary.
    pub(crate) fn watch(&mut self, course: &Course, candidates: &[Candidate<'_>], wakeups: &mut Wakeups) {
        let before = self.looks.next();
        self.looks.decided(course, subjects(candidates), monotonic_ns());
        self.wake_if_other(before, 0, wakeups);
    }

    /// Looks at `now` at every application that could lend, and gives `seen` what it observes.
    pub(crate) fn look(
        &mut self,
        course: &mut Course,
        (now, candidates): (u64, &[Candidate<'_>]),
        mut seen: impl FnMut(&mut Course, Observation),
        wakeups: &mut Wakeups,
    ) {
        let began = thread_time_ns();
        let of_use = self.looks.begin(course, subjects(candidates));
        for Candidate { subject, pid, page } in candidates {
            if !subject.could_lend(course) {
                continue;
            }
            let (app, report) = (subject.app, page.map(SharedPage::report));
            let (regions, in_region) = report.map_or((0, false), |report| (report.regions, report.in_region));
            let mut look = subject.look(regions, in_region);
            if let Some(report) = report {
                let before = self.sleeps.insert(app, report.sleeps);
                look.waits = regions != 0 && before.is_some_and(|before| before != report.sleeps);
            }
            let cpu_ns = look.needs_cpu_time().then(|| procfs::cpu_time_ns(*pid).ok()).flatten();
            if cpu_ns.is_some_and(|cpu_ns| course.counts_ready(app, look, (now, of_use), cpu_ns)) {
                look.ready = Some(self.count(course.phase(app), app, *pid, regions));
            }
            seen(course, Observation::Look { app, look, cpu_ns, of_use });
        }
        self.looks.end(course, subjects(candidates), (now, of_use));
        let earliest = now + (thread_time_ns() - began) * SHARE;
        self.wake_if_other(None, earliest, wakeups);
        if let Some(next) = self.looks.next() {
            let lacking = Lacking::of(course, subjects(candidates));
            let wanted = |candidate: &&Candidate<'_>| candidate.subject.is_wanted(course, lacking);
            let pages = candidates.iter().filter(wanted).filter_map(|candidate| candidate.page);
            pages.for_each(|page| page.say_wanted(next.max(earliest)));
        }
    }

    /// An application has gone.
    pub(crate) fn forget(&mut self, app: u64) {
        self.ready.remove(&AppId(app));
        self.sleeps.remove(&AppId(app));
    }

    /// The threads of an application that are ready, as far as it matters.
    fn count(&mut self, told: Phase, app: AppId, pid: u32, regions: u64) -> u32 {
        // On the one processor of a sequential program, all that were woken are ready for long.
        let all = told != Phase::Sequential;
        let threads = self.ready.entry(app).or_default();
        let ready = threads.count(pid, READY_MOST as usize, all);
        // A program without regions may leave its work to processes of its own; one with regions
        // does that seldom.
        if ready < READY_MOST && regions == 0 && threads.has_children(pid) { READY_MOST } else { ready }
    }

    /// The page of an application has a new target that lends some of its processors.
    pub(crate) fn lent(&mut self, course: &Course, app: u64, wakeups: &mut Wakeups) {
        let before = self.looks.next();
        self.looks.lent(course, AppId(app), monotonic_ns());
        self.wake_if_other(before, 0, wakeups);
    }

    /// The next look wakes the manager, at another time than before, but not earlier than this one.
    fn wake_if_other(&self, before: Option<u64>, earliest: u64, wakeups: &mut Wakeups) {
        match self.looks.next() {
            next if next == before => {}
            Some(next) => wakeups.set(ShellDue::Phases, next.max(earliest)),
            None => wakeups.clear(ShellDue::Phases),
        }
    }
}
