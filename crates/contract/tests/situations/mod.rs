//! The situations between a shell and its programs that the contract's stories have to come to.

use numaestro_contract::{Next, Observation, Shell};
use numaestro_engine::{Action, AppId, Event, Nanos};
use numaestro_marks::Marks;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

numaestro_marks::marks! {
    /// A situation between a shell and its programs.
    pub enum Seen {
        AnsweredByProgram = "a program says that it has adopted a target",
        PlacedFromOutside = "the shell has carried a target out from outside",
        PlacedAfterForce = "the shell has forced a program, and says so",
        AnsweredOldTarget = "an answer comes to a target that is not the latest one",
        SequentialByLook = "looks show that a program with regions is sequential",
        PoolAlone = "looks show that one thread of a pool works alone",
        BlockedByLook = "looks show that a program waits for something outside",
        ParallelByRegion = "a look shows a new region after a sequential phase",
        ParallelByThreads = "looks show that several threads of a pool are ready again",
        SequentialBySaying = "a program says that it is sequential",
        BlockedBySaying = "a program says that it waits",
        ParallelBySaying = "a program says that it is parallel again",
        SaysKnownPhase = "a program says the phase that the engine knows",
        LookWithoutNews = "a look shows nothing new",
        NewPage = "a program has another page while it is known",
        RatesBeforeTurn = "the rates of a turn come before the turn ends",
        RateUnknown = "the rate of a thread is not known",
        EndsUnanswered = "a program ends before it has answered",
        CannotStop = "a program cannot be stopped",
        NamesIdle = "a program names processors that it does not use",
        AsksForMore = "a program asks for another number of processors",
        Refused = "the engine refuses something",
    }
}

/// The counts that all stories of a test share.
pub type Shared = Rc<RefCell<Marks<Seen>>>;

/// No situation has been reached.
pub fn none() -> Shared {
    Shared::default()
}

/// A shell, and the situations that it comes to.
pub struct Watched<S> {
    shell: S,
    marks: Shared,
    /// The latest observation.
    saw: Option<Observation>,
    /// The latest epoch that each program was told, and the one that it answered.
    told: BTreeMap<AppId, (u32, u32)>,
    forced: BTreeSet<AppId>,
    pages: BTreeSet<AppId>,
    /// The look at this program is not used yet.
    looked: bool,
}

impl<S: Shell> Watched<S> {
    /// Around a shell that has seen nothing.
    pub fn new(shell: S, marks: Shared) -> Self {
        let (told, forced, pages) = (BTreeMap::new(), BTreeSet::new(), BTreeSet::new());
        Self { shell, marks, saw: None, told, forced, pages, looked: false }
    }

    fn reach_if(&self, mark: Seen, holds: bool) {
        self.marks.borrow_mut().reach_if(mark, holds);
    }

    fn answer(&mut self, app: AppId, epoch: u32) {
        let (latest, answered) = self.told.entry(app).or_default();
        *answered = epoch.max(*answered);
        let old = epoch < *latest;
        self.reach_if(Seen::AnsweredOldTarget, old);
    }

    /// An event after a look or a word of its program.
    fn phase(&self, event: &Event) {
        let (sequential, blocked, parallel) = match event {
            Event::Sequential { .. } => (true, false, false),
            Event::Blocked { .. } => (false, true, false),
            Event::Parallel { .. } => (false, false, true),
            _ => return,
        };
        match &self.saw {
            Some(Observation::Look { look, .. }) => {
                self.reach_if(Seen::SequentialByLook, sequential && look.regions > 0);
                self.reach_if(Seen::PoolAlone, sequential && look.regions == 0);
                self.reach_if(Seen::BlockedByLook, blocked);
                self.reach_if(Seen::ParallelByRegion, parallel && look.regions > 0);
                self.reach_if(Seen::ParallelByThreads, parallel && look.regions == 0);
            }
            Some(Observation::Phase { .. }) => {
                self.reach_if(Seen::SequentialBySaying, sequential);
                self.reach_if(Seen::BlockedBySaying, blocked);
                self.reach_if(Seen::ParallelBySaying, parallel);
            }
            _ => {}
        }
    }
}

impl<S: Shell> Shell for Watched<S> {
    fn observe(&mut self, at: Nanos, what: &Observation) {
        // A word or a look that no event followed told the engine nothing.
        self.reach_if(Seen::LookWithoutNews, self.looked && matches!(self.saw, Some(Observation::Look { .. })));
        self.reach_if(Seen::SaysKnownPhase, self.looked && matches!(self.saw, Some(Observation::Phase { .. })));
        self.looked = matches!(what, Observation::Look { .. } | Observation::Phase { .. });
        match what {
            Observation::Adopted { app, epoch } => {
                self.reach_if(Seen::AnsweredByProgram, true);
                self.answer(*app, *epoch);
            }
            Observation::Placed { app, epoch } => {
                let forced = self.forced.remove(app);
                self.reach_if(Seen::PlacedAfterForce, forced);
                self.reach_if(Seen::PlacedFromOutside, !forced);
                self.answer(*app, *epoch);
            }
            Observation::Page { app } => {
                let known = !self.pages.insert(*app);
                self.reach_if(Seen::NewPage, known);
            }
            Observation::Rates(rates) => {
                let unknown = |event: &Event| matches!(event, Event::Bandwidth { rates, .. } if rates.contains(&None));
                self.reach_if(Seen::RatesBeforeTurn, !rates.is_empty());
                self.reach_if(Seen::RateUnknown, rates.iter().any(unknown));
            }
            Observation::Fact(_) | Observation::Look { .. } | Observation::Phase { .. } => {}
        }
        self.saw = Some(what.clone());
        self.shell.observe(at, what);
    }

    fn next(&mut self, now: Nanos) -> Option<Next> {
        self.shell.next(now)
    }

    fn decide(&mut self, at: Nanos, event: &Event) -> Vec<Action> {
        self.looked = false;
        self.phase(event);
        match event {
            Event::Depart { app } => {
                let (told, answered) = self.told.remove(app).unwrap_or_default();
                self.reach_if(Seen::EndsUnanswered, told > answered);
            }
            Event::Unstoppable { .. } => self.reach_if(Seen::CannotStop, true),
            Event::Demand { idle, .. } => self.reach_if(Seen::NamesIdle, !idle.is_empty()),
            Event::Request { .. } => self.reach_if(Seen::AsksForMore, true),
            _ => {}
        }
        let actions = self.shell.decide(at, event);
        for action in &actions {
            match action {
                Action::Target { app, epoch, .. } => self.told.entry(*app).or_default().0 = *epoch,
                Action::Force { app, .. } => _ = self.forced.insert(*app),
                Action::Refuse { .. } => self.reach_if(Seen::Refused, true),
                _ => {}
            }
        }
        actions
    }

    fn unexpected(&mut self) -> Option<Observation> {
        self.shell.unexpected()
    }
}
