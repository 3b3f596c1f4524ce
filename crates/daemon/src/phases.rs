//! The sensor of sequential and blocked phases. While an application lacks processors or lends
//! some, it reads the pages of applications that could lend theirs; otherwise nothing wakes up. The
//! contract ([`Looks`]) decides about the times and the applications.

use numaestro_contract::{Course, Looks, Observation, Subject};
use numaestro_host::memory::SharedPage;
use numaestro_host::{monotonic_ns, procfs};
use numaestro_policy::AppId;

use crate::wakeups::{Due, Wakeups};

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
}

fn subjects(candidates: &[Candidate<'_>]) -> impl Iterator<Item = Subject> + Clone {
    candidates.iter().map(|candidate| candidate.subject)
}

impl Phases {
    /// Begins or ends looking, as the latest decisions make it necessary.
    pub(crate) fn watch(&mut self, course: &Course, candidates: &[Candidate<'_>], wakeups: &mut Wakeups) {
        let before = self.looks.next();
        self.looks.decided(course, subjects(candidates), monotonic_ns());
        self.wake_if_other(before, wakeups);
    }

    /// Looks at `now` at every application that could lend, and gives `seen` what it observes.
    pub(crate) fn look(
        &mut self,
        course: &mut Course,
        (now, candidates): (u64, &[Candidate<'_>]),
        mut seen: impl FnMut(&mut Course, Observation),
        wakeups: &mut Wakeups,
    ) {
        let of_use = self.looks.begin(course, subjects(candidates));
        for Candidate { subject, pid, page } in candidates {
            if !subject.could_lend(course) {
                continue;
            }
            let (app, report) = (subject.app, page.map(SharedPage::report));
            let (regions, in_region) = report.map_or((0, false), |report| (report.regions, report.in_region));
            let mut look = subject.look(regions, in_region);
            let asks = course.needs_cpu_time(app, look, now);
            let cpu_ns = asks.then(|| procfs::cpu_time_ns(*pid).ok()).flatten();
            let is_idle = cpu_ns.is_some_and(|cpu_ns| course.is_idle(app, now, cpu_ns));
            // A program without regions may leave its work to processes of its own; one with
            // regions does that seldom.
            look.ready = is_idle && ((regions == 0 && procfs::has_children(*pid)) || procfs::is_ready(*pid));
            seen(course, Observation::Look { app, look, cpu_ns, of_use });
        }
        self.looks.end(course, subjects(candidates), (now, of_use));
        self.wake_if_other(None, wakeups);
    }

    /// The page of an application has a new target that lends some of its processors.
    pub(crate) fn lent(&mut self, course: &Course, app: u64, wakeups: &mut Wakeups) {
        let before = self.looks.next();
        self.looks.lent(course, AppId(app), monotonic_ns());
        self.wake_if_other(before, wakeups);
    }

    /// The next look wakes the manager, at another time than before.
    fn wake_if_other(&self, before: Option<u64>, wakeups: &mut Wakeups) {
        match self.looks.next() {
            next if next == before => {}
            Some(next) => wakeups.set(Due::Phases, next),
            None => wakeups.clear(Due::Phases),
        }
    }
}
