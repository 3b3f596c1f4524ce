//! The course of a run: observations go in, and the events come out that the engine is to hear. All
//! rules of the contract that need a memory are applied here, and both shells use it.
//!
//! Of each application it keeps the phase that the engine was told, the results of looks at it, its
//! latest target, and the one that was adopted last.

use crate::feed::{Feed, Next};
use crate::look::Look;
use crate::observation::Observation;
use crate::phase::Phase;
use crate::table::AppTable;
use crate::watch::PhaseWatch;
use numaestro_engine::{Action, AppId, Engine, Event, Nanos};

/// The state of one application.
#[derive(Debug, Clone, Default)]
struct Progress {
    phases: PhaseWatch,
    /// The shell looks for its phases, because the program does not say all of them.
    is_watched: bool,
    /// Epoch of the latest target; `None` before the first.
    target: Option<u32>,
    adopted: u32,
}

/// See the file's header.
#[derive(Debug, Clone, Default)]
pub struct Course {
    feed: Feed,
    apps: AppTable<Progress>,
}

/// The time at which the present turn ends, if the policy uses its rates; nanoseconds.
pub fn measures_until(engine: &Engine) -> Option<Nanos> {
    if engine.policy().needs().bandwidth { engine.turn_ends() } else { None }
}

impl Course {
    /// The shell has observed something at `at`. True: the engine is going to hear of it.
    pub fn observe(&mut self, at: Nanos, what: Observation) -> bool {
        match what {
            Observation::Fact(event) => self.fact(event),
            Observation::Rates(events) => self.feed.measured(events),
            Observation::Look { app, look, cpu_ns, of_use } => {
                let progress = self.apps.enter(app);
                progress.is_watched = true;
                let Some(phase) = progress.phases.look(look, at, || cpu_ns) else { return false };
                if phase > progress.phases.told() && !of_use {
                    return false;
                }
                let event = progress.phases.tell(app, phase);
                return self.tell(event);
            }
            Observation::Phase { app, phase } => return self.says(app, phase),
            Observation::Page { app } => return self.look_anew(app),
            Observation::Adopted { app, epoch } | Observation::Placed { app, epoch } => return self.adopts(app, epoch),
        }
        true
    }

    /// The engine hears of this as it is.
    pub fn fact(&mut self, event: Event) {
        if let Event::Depart { app } = event {
            self.apps.remove(app);
        }
        self.feed.push(event);
    }

    /// The same, before everything that waits.
    pub fn fact_first(&mut self, event: Event) {
        self.feed.push_first(event);
    }

    /// A program says its phase. True if the engine does not know.
    pub fn says(&mut self, app: AppId, phase: Phase) -> bool {
        let event = self.apps.enter(app).phases.says(app, phase);
        self.tell(event)
    }

    /// A program is in its target of this epoch. True if that is believed: an epoch that was never
    /// given is not, and epochs do not go back.
    pub fn adopts(&mut self, app: AppId, epoch: u32) -> bool {
        let Some(progress) = self.apps.get_mut(app) else { return false };
        let given = progress.target.is_some_and(|target| epoch <= target) && epoch >= progress.adopted;
        if given {
            progress.adopted = epoch;
            self.feed.push(Event::Adopted { app, epoch });
        }
        given
    }

    /// The shell is about to do this. A watched program that lends nothing will not say that it is
    /// parallel, and a stopped program shows nothing of its phase. So the engine hears that neither
    /// is a lender any more.
    pub fn decided(&mut self, actions: &[Action]) {
        for action in actions {
            self.decided_one(action);
        }
    }

    fn decided_one(&mut self, action: &Action) {
        match action {
            Action::Target { app, epoch, lent, .. } => {
                let progress = self.apps.enter(*app);
                progress.target = Some(*epoch);
                if progress.is_watched && !lent {
                    let event = progress.phases.tell(*app, Phase::Parallel);
                    self.tell(event);
                }
            }
            Action::Continue { app } => _ = self.look_anew(*app),
            Action::Start { .. }
            | Action::Wait { .. }
            | Action::Stop { .. }
            | Action::Pages { .. }
            | Action::Force { .. }
            | Action::Refuse { .. } => {}
        }
    }

    /// Begins anew with a fresh engine, which will hear of every application: events that wait are
    /// forgotten, the engine counts on no lender, and it has given no target.
    pub fn begin_anew(&mut self) {
        self.feed = Feed::default();
        for (app, progress) in self.apps.iter_mut() {
            progress.phases.tell(app, Phase::Parallel);
            progress.target = progress.target.map(|_| 0);
            progress.adopted = 0;
        }
    }

    /// Whether it matters at this look how many threads of an application are ready, which by `now`
    /// has used so much processor time (nanoseconds). `of_use`: as of [`Observation::Look`].
    pub fn counts_ready(&self, app: AppId, look: Look, (now, of_use): (Nanos, bool), cpu_ns: Nanos) -> bool {
        let of_use = of_use || self.phase(app) != Phase::Parallel;
        of_use && self.apps.get(app).is_some_and(|progress| progress.phases.counts_ready(look, now, cpu_ns))
    }

    /// One look more at an application, with several processors or one, may show another phase
    /// than the engine knows.
    pub fn wavers(&self, app: AppId, several: bool) -> bool {
        self.apps.get(app).is_some_and(|progress| progress.phases.wavers(several))
    }

    /// The phase of an application that the engine knows.
    pub fn phase(&self, app: AppId) -> Phase {
        self.apps.get(app).map_or(Phase::Parallel, |progress| progress.phases.told())
    }

    /// The time at which the shell last saw a phase other than a parallel one begin, nanoseconds.
    pub fn seen_ns(&self, app: AppId) -> Option<Nanos> {
        self.apps.get(app)?.phases.seen_ns()
    }

    /// No event waits.
    pub fn is_empty(&self) -> bool {
        self.feed.is_empty()
    }

    /// As [`Feed::next`]; `turn_ends`: as of [`measures_until`].
    pub fn next(&mut self, now: Nanos, turn_ends: Option<Nanos>) -> Option<Next> {
        let next = self.feed.next(now, turn_ends);
        if let Some(Next::Step { event: Event::Depart { app }, .. }) = &next {
            // Decisions between its end and this event were about it too.
            self.apps.remove(*app);
        }
        next
    }

    /// Forgets the looks at a watched program.
    fn look_anew(&mut self, app: AppId) -> bool {
        let Some(progress) = self.apps.get_mut(app).filter(|progress| progress.is_watched) else { return false };
        progress.is_watched = false;
        let event = std::mem::take(&mut progress.phases).tell(app, Phase::Parallel);
        self.tell(event)
    }

    fn tell(&mut self, event: Option<Event>) -> bool {
        event.map(|event| self.feed.push(event)).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use numaestro_topology::PuSet;

    const MS: Nanos = 1_000_000;
    const APP: AppId = AppId(1);

    fn look(of_use: bool, regions: u64) -> Observation {
        let look = Look { regions, in_region: false, several: true, ready: Some(0), waits: false };
        Observation::Look { app: APP, look, cpu_ns: Some(0), of_use }
    }

    fn target(epoch: u32, lent: bool) -> Action {
        Action::Target { app: APP, epoch, count: 1, pus: PuSet::new(), shared: false, lent }
    }

    /// The engine counts on it as on one that waits.
    fn lender() -> Course {
        let mut course = Course::default();
        course.decided(&[target(1, true)]);
        let told: Vec<_> = [5, 7].map(|at| course.observe(at * MS, look(true, 5))).into();
        assert_eq!(told, [false, true]);
        assert_eq!(course.next(7 * MS, None), Some(Next::Step { at: 7 * MS, event: Event::Blocked { app: APP } }));
        course
    }

    fn parallel_follows(mut course: Course) -> bool {
        course.next(9 * MS, None) == Some(Next::Step { at: 9 * MS, event: Event::Parallel { app: APP } })
    }

    #[test]
    fn the_engine_hears_whenever_it_is_to_count_on_a_lender_no_more() {
        for (expected, action) in
            [(true, target(2, false)), (false, target(2, true)), (true, Action::Continue { app: APP })]
        {
            let mut course = lender();
            course.decided(std::slice::from_ref(&action));
            assert_eq!(parallel_follows(course), expected, "{action:?}");
        }
        let says = Observation::Phase { app: APP, phase: Phase::Parallel };
        for seen in [Observation::Page { app: APP }, says, look(false, 6)] {
            let mut course = lender();
            assert!(course.observe(8 * MS, seen.clone()), "{seen:?}");
            assert!(parallel_follows(course), "{seen:?}");
        }
    }

    #[test]
    fn a_program_that_says_its_phases_is_believed_whatever_it_is_given() {
        let mut course = Course::default();
        assert!(course.says(APP, Phase::Sequential));
        assert!(!course.says(APP, Phase::Sequential));
        course.decided(&[target(1, false)]);
        course.decided(&[Action::Continue { app: APP }]);
        assert_eq!(course.phase(APP), Phase::Sequential);
    }

    #[test]
    fn a_phase_that_helps_nobody_is_not_told() {
        let mut course = Course::default();
        for at in [1, 5, 7, 9] {
            assert!(!course.observe(at * MS, look(false, 5)));
        }
        assert!(course.observe(11 * MS, look(true, 5)));
    }

    #[test]
    fn only_an_epoch_that_was_given_is_adopted() {
        let mut course = Course::default();
        assert!(!course.adopts(APP, 0), "there is no target yet");
        course.decided(&[target(2, false)]);
        let believed = [3, u32::MAX, 1, 2, 2, 1].map(|epoch| course.adopts(APP, epoch));
        assert_eq!(believed, [false, false, true, true, true, false]);
        course.begin_anew();
        course.decided(&[target(1, false)]);
        assert!(course.adopts(APP, 1), "the fresh engine's numbers begin anew");
    }

    #[test]
    fn nothing_is_said_of_one_that_has_gone() {
        let mut course = lender();
        course.fact(Event::Depart { app: APP });
        course.decided(&[target(2, false)]);
        assert!(!course.adopts(APP, 3));
        let event = Event::Depart { app: APP };
        assert_eq!(course.next(8 * MS, None), Some(Next::Step { at: 8 * MS, event }));
        assert!(course.is_empty() && course.apps.get(APP).is_none());
    }
}
