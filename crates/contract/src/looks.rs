//! Decides when a shell looks at programs that do not say their phases, and at which ones.
//!
//! A look costs the shell time, and helps only while an application lacks processors that another
//! one could lend, or while one lends: not every program says that it works again. So there is a
//! next look only then, and soon only while phases are likely: in young programs, for a second
//! after a phase was found, and where one look more decides. Else the time between two looks
//! doubles up to [`INTERVAL_NS_MAX`], or [`INTERVAL_NS_LENT`].
//!
//! The shell gives values of its applications ([`Subject`]), and reads what a look needs. The
//! findings go to the [`Course`], which makes phases of them.

use crate::course::Course;
use crate::look::Look;
use crate::phase::Phase;
use numaestro_engine::{AppId, Nanos};

/// Time between two looks while phases are likely.
const INTERVAL_NS_MIN: Nanos = 2_000_000;
/// Time between two looks while they are not.
const INTERVAL_NS_MAX: Nanos = 64_000_000;
/// Longest time between two looks while an application lends.
const INTERVAL_NS_LENT: Nanos = 16_000_000;
/// Phases are likely so long after one was seen, and in a program that young.
const LIKELY_NS: Nanos = 1_000_000_000;

/// The processors that an application's target names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Holding {
    /// It has no target yet.
    Nothing,
    /// So many of its own.
    Own(usize),
    /// So many, on which other applications run too: on its processors, or it on theirs.
    Shared(usize),
}

/// An application, as far as looks at phases are concerned.
#[derive(Debug, Clone, Copy)]
pub struct Subject {
    /// The application.
    pub app: AppId,
    /// Time of its arrival, nanoseconds on the shell's clock.
    pub arrived_ns: Nanos,
    /// The shell can read how many regions it has opened, or knows that it opens none.
    pub readable: bool,
    /// It is neither a wrapper nor stopped.
    pub runs: bool,
    /// The processors of its target.
    pub holding: Holding,
    /// It waits in the queue, or has fewer processors of its own than it asked for.
    pub lacks: bool,
}

impl Subject {
    /// It could use more processors of its own than it has.
    pub fn wants_more(&self, course: &Course) -> bool {
        self.runs && self.lacks && !is_lender(course, self.app)
    }

    /// A look at it may find a phase in which it lends processors, or the end of one.
    pub fn could_lend(&self, course: &Course) -> bool {
        let owns = matches!(self.holding, Holding::Own(_));
        self.readable && self.runs && (owns || is_lender(course, self.app))
    }

    /// It lends already, or could lend what another one lacks.
    pub fn is_wanted(&self, course: &Course, lacking: Lacking) -> bool {
        self.could_lend(course) && (is_lender(course, self.app) || lacking.beside(self.app))
    }

    /// The findings of a look at it: it has opened so many regions, and is inside of one or not.
    pub fn look(&self, regions: u64, in_region: bool) -> Look {
        Look { regions, in_region, several: self.has_several(), ready: None, waits: false }
    }

    fn has_several(&self) -> bool {
        matches!(self.holding, Holding::Own(2..) | Holding::Shared(2..))
    }
}

/// The engine counts on this application as one that lends.
fn is_lender(course: &Course, app: AppId) -> bool {
    course.phase(app) != Phase::Parallel
}

/// A sequential or blocked phase of this application was found less than `ns` ago.
fn was_seen_within(course: &Course, app: AppId, now: Nanos, ns: Nanos) -> bool {
    course.seen_ns(app).is_some_and(|seen| now.saturating_sub(seen) < ns)
}

/// The applications that could use more processors than they have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lacking {
    first: Option<AppId>,
    several: bool,
}

impl Lacking {
    /// Those of these.
    pub fn of(course: &Course, subjects: impl Iterator<Item = Subject>) -> Self {
        let mut apps = subjects.filter(|subject| subject.wants_more(course)).map(|subject| subject.app);
        Self { first: apps.next(), several: apps.next().is_some() }
    }

    /// One beside this application.
    fn beside(self, app: AppId) -> bool {
        self.several || self.first.is_some_and(|first| first != app)
    }
}

/// An application lacks what another one could lend.
fn is_of_use(course: &Course, subjects: impl Iterator<Item = Subject> + Clone) -> bool {
    let mut lenders = subjects.clone().filter(|subject| subject.could_lend(course)).map(|subject| subject.app);
    let Some(first) = lenders.next() else { return false };
    let several = lenders.next().is_some();
    let lacking = Lacking::of(course, subjects);
    if several { lacking.first.is_some() } else { lacking.beside(first) }
}

fn are_likely(course: &Course, mut subjects: impl Iterator<Item = Subject>, now: Nanos) -> bool {
    let is_young = |subject: &Subject| now.saturating_sub(subject.arrived_ns) < LIKELY_NS;
    let seen = |app| was_seen_within(course, app, now, LIKELY_NS);
    let wavers = |subject: &Subject| course.wavers(subject.app, subject.has_several());
    let likely = |subject: &Subject| is_young(subject) || seen(subject.app) || wavers(subject);
    subjects.any(|subject| subject.could_lend(course) && likely(&subject))
}

/// An application lends processors. Not every one says that it works again: it may have no regions,
/// or have entered one before it was told that it lends.
fn somebody_lends(course: &Course, mut subjects: impl Iterator<Item = Subject>) -> bool {
    subjects.any(|subject| subject.readable && subject.runs && is_lender(course, subject.app))
}

/// The times of the looks of one shell.
#[derive(Debug, Clone, Copy, Default)]
pub struct Looks {
    /// Time between two looks, nanoseconds; 0 while there are none.
    interval_ns: Nanos,
    /// Time of the next look, nanoseconds.
    next: Option<Nanos>,
}

impl Looks {
    /// The time of the next look, nanoseconds; `None`: nothing is looked for.
    pub fn next(&self) -> Option<Nanos> {
        self.next
    }

    /// The latest decisions are carried out: looks begin or end, as they make it necessary.
    pub fn decided(&mut self, course: &Course, subjects: impl Iterator<Item = Subject> + Clone, now: Nanos) {
        if is_of_use(course, subjects.clone()) {
            if self.interval_ns == 0 || are_likely(course, subjects, now) {
                self.interval_ns = INTERVAL_NS_MIN;
            }
            self.next = self.next.or(Some(now + self.interval_ns));
        } else if !somebody_lends(course, subjects) {
            *self = Self::default();
        }
    }

    /// A program is told a target that lends some of its processors. One that entered a region just
    /// before has not said that it is parallel: it is looked at soon.
    pub fn lent(&mut self, course: &Course, app: AppId, now: Nanos) {
        if is_lender(course, app) {
            let soon = now + INTERVAL_NS_MIN;
            self.next = Some(self.next.map_or(soon, |next| next.min(soon)));
        }
    }

    /// The time has come: the shell looks at each subject that could lend, and calls [`Self::end`].
    /// Gives whether an application lacks what one of them could lend.
    pub fn begin(&mut self, course: &Course, subjects: impl Iterator<Item = Subject> + Clone) -> bool {
        self.next = None;
        is_of_use(course, subjects)
    }

    /// The shell has looked; `of_use`: the answer of [`Self::begin`].
    pub fn end(
        &mut self,
        course: &Course,
        subjects: impl Iterator<Item = Subject> + Clone,
        (now, of_use): (Nanos, bool),
    ) {
        let lent = somebody_lends(course, subjects.clone());
        let most = if lent { INTERVAL_NS_LENT } else { INTERVAL_NS_MAX };
        let doubled = (self.interval_ns * 2).clamp(INTERVAL_NS_MIN, most);
        self.interval_ns = if are_likely(course, subjects, now) { INTERVAL_NS_MIN } else { doubled };
        if of_use || lent {
            self.next = Some(now + self.interval_ns);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observation::Observation;

    const MS: Nanos = 1_000_000;
    /// Long after the arrival of both: they are not young.
    const LATE: Nanos = 10_000 * MS;

    /// The first has three processors and a page, the second lacks one.
    fn two() -> [Subject; 2] {
        let has = |app, processors, lacks| Subject {
            app: AppId(app),
            arrived_ns: 0,
            readable: true,
            runs: true,
            holding: Holding::Own(processors),
            lacks,
        };
        [has(1, 3, false), has(2, 1, true)]
    }

    fn decided(subjects: &[Subject], now: Nanos) -> Option<Nanos> {
        let mut looks = Looks::default();
        looks.decided(&Course::default(), subjects.iter().copied(), now);
        looks.next()
    }

    /// Looks until the one after `until`, without findings. Gives their times.
    fn times(looks: &mut Looks, subjects: &[Subject], until: Nanos) -> Vec<Nanos> {
        let (course, mut times) = (Course::default(), Vec::new());
        while let Some(now) = looks.next().filter(|_| times.last().is_none_or(|&last| last <= until)) {
            let of_use = looks.begin(&course, subjects.iter().copied());
            looks.end(&course, subjects.iter().copied(), (now, of_use));
            times.push(now);
        }
        times
    }

    #[test]
    fn looks_begin_only_where_one_lacks_what_another_could_lend() {
        assert_eq!(decided(&two(), LATE), Some(LATE + 2 * MS));
        let [first, second] = two();
        let without = [
            ("nobody lacks", vec![first, Subject { lacks: false, ..second }]),
            ("nobody can be read", [first, second].map(|subject| Subject { readable: false, ..subject }).into()),
            ("the lender is stopped", vec![Subject { runs: false, ..first }, Subject { readable: false, ..second }]),
            ("who lacks is stopped", vec![first, Subject { runs: false, ..second }]),
            (
                "the lender has no target",
                vec![Subject { holding: Holding::Nothing, ..first }, Subject { holding: Holding::Shared(1), ..second }],
            ),
            ("who lacks would lend to itself", vec![Subject { readable: false, ..first }, second]),
        ];
        for (why, subjects) in without {
            assert_eq!(decided(&subjects, LATE), None, "{why}");
        }
    }

    #[test]
    fn looks_become_rare_where_no_phase_is_likely() {
        let mut looks = Looks::default();
        looks.decided(&Course::default(), two().into_iter(), LATE);
        let at: Vec<_> = times(&mut looks, &two(), LATE + 200 * MS).iter().map(|at| (at - LATE) / MS).collect();
        assert_eq!(at, [2, 6, 14, 30, 62, 126, 190, 254]);
    }

    #[test]
    fn a_young_program_is_looked_at_often() {
        let mut looks = Looks::default();
        looks.decided(&Course::default(), two().into_iter(), 0);
        let at = times(&mut looks, &two(), 1010 * MS);
        assert!(at.windows(2).take(499).all(|pair| pair[1] - pair[0] == 2 * MS), "{at:?}");
        assert_eq!(at[500..].iter().map(|at| at / MS).collect::<Vec<_>>(), [1004, 1012]);
    }

    #[test]
    fn looks_end_with_their_reason_and_begin_anew() {
        let (course, [first, second]) = (Course::default(), two());
        let mut looks = Looks::default();
        looks.decided(&course, two().into_iter(), LATE);
        looks.decided(&course, two().into_iter(), LATE + MS);
        assert_eq!(looks.next(), Some(LATE + 2 * MS), "another decision puts no look off");
        looks.decided(&course, [first, Subject { lacks: false, ..second }].into_iter(), LATE + MS);
        assert_eq!(looks.next(), None);
        looks.decided(&course, two().into_iter(), LATE + 3 * MS);
        assert_eq!(looks.next(), Some(LATE + 5 * MS));
    }

    #[test]
    fn a_lender_is_looked_at_soon_and_as_long_as_it_lends() {
        let ([first, second], mut course) = (two(), Course::default());
        for at in [4, 6] {
            let look = Look { ready: Some(0), ..first.look(5, false) };
            course.observe(LATE + at * MS, Observation::Look { app: AppId(1), look, cpu_ns: Some(0), of_use: true });
        }
        assert_eq!(course.phase(AppId(1)), Phase::Blocked);
        let nobody = Lacking { first: None, several: false };
        assert!(first.is_wanted(&course, nobody), "its processors are in use");
        let (enough, seen) = ([first, Subject { lacks: false, ..second }], LATE + 6 * MS);
        let mut looks = Looks::default();
        looks.lent(&course, AppId(2), seen);
        assert_eq!(looks.next(), None, "it lends nothing");
        looks.lent(&course, AppId(1), seen);
        looks.decided(&course, enough.into_iter(), seen);
        assert_eq!(looks.next(), Some(seen + 2 * MS), "it may be parallel already");
        let mut at = Vec::new();
        while let Some(now) = looks.next().filter(|&now| now < seen + 1080 * MS) {
            assert!(!looks.begin(&course, enough.into_iter()), "nobody lacks anything");
            looks.end(&course, enough.into_iter(), (now, false));
            at.push((now - seen) / MS);
        }
        assert!(at[..500].windows(2).all(|pair| pair[1] - pair[0] == 2), "{at:?}");
        assert_eq!(at[500..], [1004, 1012, 1028, 1044, 1060, 1076], "it may never say that it works again");
        let stopped = enough.map(|subject| Subject { runs: false, ..subject });
        looks.decided(&course, stopped.into_iter(), seen + 1080 * MS);
        assert_eq!(looks.next(), None, "a stopped program does not begin to work");
    }

    #[test]
    fn an_application_is_wanted_if_another_one_lacks() {
        let ([first, second], course) = (two(), Course::default());
        let wanted = |all: &[Subject]| {
            let lacking = Lacking::of(&course, all.iter().copied());
            all.iter().map(|subject| subject.is_wanted(&course, lacking)).collect::<Vec<_>>()
        };
        assert_eq!(wanted(&[first, second]), [true, false], "nobody lacks what the second one has");
        assert_eq!(wanted(&[first, Subject { lacks: false, ..second }]), [false, false]);
        let third = Subject { app: AppId(3), ..second };
        assert_eq!(wanted(&[first, second, third]), [true; 3]);
        assert_eq!(wanted(&[Subject { runs: false, ..first }, second, third]), [false, true, true]);
    }

    #[test]
    fn only_two_processors_are_several() {
        let [first, second] = two();
        let guest = Subject { holding: Holding::Shared(2), ..first };
        let without = Subject { holding: Holding::Nothing, ..first };
        let several = [first, guest, second, without].map(|subject| subject.look(1, true).several);
        assert_eq!(several, [true, true, false, false]);
    }
}
