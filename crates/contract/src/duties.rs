//! The duties of a shell that can be seen from outside. A test gives [`Duties`] the events that a
//! shell told the engine and the actions that followed, live or from a journal.

use crate::look::READY_MOST;
use crate::observation::Observation;
use crate::phase::{Phase, PhaseTold};
use numaestro_engine::{Action, AppId, Event, Nanos};
use numaestro_topology::PuSet;
use std::collections::BTreeMap;

/// A shell did not do what it owes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Breach {
    /// Time of the breach, nanoseconds on the shell's clock.
    pub at: Nanos,
    /// About which application.
    pub app: Option<AppId>,
    /// The breach, one sentence.
    pub problem: String,
}

impl std::fmt::Display for Breach {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "at {} ns", self.at)?;
        if let Some(app) = self.app {
            write!(f, ", application {app}")?;
        }
        write!(f, ": {}", self.problem)
    }
}

/// The events and actions about one application, as far as duties need them.
#[derive(Debug, Clone, Default)]
struct Known {
    /// Epoch of its latest target; 0 before the first.
    told: u32,
    adopted: u32,
    phase: PhaseTold,
    /// Epoch and time of a `Force` that has not been answered.
    forced: Option<(u32, Nanos)>,
    /// Processors of its latest target.
    pus: PuSet,
    /// Processors of every target since the one that it adopted last: it may still be there.
    reach: PuSet,
    /// Looks in a row, up to the latest at which its threads were counted, that found several of
    /// them ready while it lends.
    crowded: u32,
}

/// Reads a run and collects what was not done.
#[derive(Debug, Clone, Default)]
pub struct Duties {
    known: BTreeMap<AppId, Known>,
    newest: Option<AppId>,
    now: Nanos,
    patience: Nanos,
    breaches: Vec<Breach>,
}

impl Duties {
    /// `patience`: a `Force` is answered within so many nanoseconds.
    pub fn new(patience: Nanos) -> Self {
        Self { patience, ..Self::default() }
    }

    /// One step of a run: what the engine was told at `at`, and what followed.
    pub fn step(&mut self, at: Nanos, event: &Event, actions: &[Action]) {
        if at < self.now {
            self.breach(None, format!("the clock has gone back from {} ns to {at} ns", self.now));
        }
        self.now = at;
        let refused = actions.iter().any(|action| matches!(action, Action::Refuse { .. }));
        self.hear(event, refused);
        for action in actions {
            self.see(action);
        }
        self.check_forced();
    }

    /// The shell has observed something at `at`. Whoever has several threads ready at two looks
    /// lends no more.
    pub fn saw(&mut self, at: Nanos, what: &Observation) {
        let Observation::Look { app, look, .. } = what else { return };
        let (Some(known), Some(ready)) = (self.known.get_mut(app), look.ready) else { return };
        let lends = known.phase.phase() != Phase::Parallel;
        let before = if lends { known.crowded } else { 0 };
        known.crowded = if lends && ready >= READY_MOST { before + 1 } else { 0 };
        let is_late = before == 2;
        if is_late {
            self.breaches.push(Breach {
                at,
                app: Some(*app),
                problem: "several of its threads were ready at two looks, and it still lends".to_owned(),
            });
        }
    }

    /// Everything that was not done.
    pub fn breaches(&self) -> &[Breach] {
        &self.breaches
    }

    fn breach(&mut self, app: Option<AppId>, problem: String) {
        self.breaches.push(Breach { at: self.now, app, problem });
    }

    fn hear(&mut self, event: &Event, refused: bool) {
        match event {
            Event::Arrive { app, .. } => {
                if self.newest.is_some_and(|newest| *app <= newest) {
                    self.breach(Some(*app), "it arrives after one with a number as large".to_owned());
                }
                self.newest = self.newest.max(Some(*app));
                if !refused {
                    self.known.insert(*app, Known::default());
                }
            }
            Event::Depart { app } => {
                if self.known.remove(app).is_none() {
                    self.breach(Some(*app), "it departs and is not there".to_owned());
                }
            }
            Event::Adopted { app, epoch } => self.with(*app, |known| known.adopt(*epoch)),
            Event::Sequential { app } => self.with(*app, |known| known.enter(*app, Phase::Sequential)),
            Event::Blocked { app } => self.with(*app, |known| known.enter(*app, Phase::Blocked)),
            Event::Parallel { app } => self.with(*app, |known| known.enter(*app, Phase::Parallel)),
            Event::Demand { app, idle, .. } => self.with(*app, |known| known.idle(idle)),
            Event::Request { app, .. }
            | Event::Limits { app, .. }
            | Event::Allowed { app, .. }
            | Event::Class { app, .. }
            | Event::Speedup { app, .. }
            | Event::Bandwidth { app, .. }
            | Event::Memory { app, .. }
            | Event::Unstoppable { app }
            | Event::Stoppable { app } => self.with(*app, |_| None),
            Event::Saturation { .. }
            | Event::FreeMemory { .. }
            | Event::Parties { .. }
            | Event::Offline { .. }
            | Event::Online { .. }
            | Event::Unmanaged { .. }
            | Event::Timer
            | Event::Policy { .. } => {}
        }
    }

    /// Something is said of an application that must be there. `then` says what is wrong with it.
    fn with(&mut self, app: AppId, then: impl FnOnce(&mut Known) -> Option<String>) {
        let problem = match self.known.get_mut(&app) {
            Some(known) => then(known),
            None => Some("something is said of it and it is not there".to_owned()),
        };
        if let Some(problem) = problem {
            self.breach(Some(app), problem);
        }
    }

    fn see(&mut self, action: &Action) {
        let now = self.now;
        match action {
            Action::Target { app, epoch, pus, .. } => {
                if let Some(known) = self.known.get_mut(app) {
                    known.told = *epoch;
                    known.pus.clone_from(pus);
                    known.reach.or_with(pus);
                }
            }
            Action::Force { app, epoch, .. } => {
                if let Some(known) = self.known.get_mut(app) {
                    known.forced = Some((*epoch, now));
                }
            }
            Action::Stop { app } => {
                if let Some(known) = self.known.get_mut(app) {
                    known.forced = None;
                }
            }
            Action::Start { .. }
            | Action::Wait { .. }
            | Action::Continue { .. }
            | Action::Pages { .. }
            | Action::Refuse { .. } => {}
        }
    }

    fn check_forced(&mut self) {
        let (now, patience) = (self.now, self.patience);
        let mut late = Vec::new();
        for (app, known) in &mut self.known {
            if let Some((epoch, since)) = known.forced
                && now > since.saturating_add(patience)
            {
                known.forced = None;
                late.push((*app, epoch, since));
            }
        }
        for (app, epoch, since) in late {
            self.breach(
                Some(app),
                format!("it was forced to epoch {epoch} at {since} ns, and never said to have adopted it"),
            );
        }
    }
}

impl Known {
    fn adopt(&mut self, epoch: u32) -> Option<String> {
        let (told, adopted) = (self.told, self.adopted);
        if epoch > told || epoch < adopted {
            return Some(format!("it has adopted epoch {epoch}, after {adopted}, and was told {told}"));
        }
        self.adopted = epoch;
        if epoch == told {
            self.reach.clone_from(&self.pus);
        }
        self.forced = self.forced.filter(|(forced, _)| *forced > epoch);
        None
    }

    fn enter(&mut self, app: AppId, phase: Phase) -> Option<String> {
        let before = self.phase.phase();
        match self.phase.change(app, phase) {
            Some(_) => None,
            None => Some(format!("it is said to be {before:?} again")),
        }
    }

    fn idle(&self, idle: &PuSet) -> Option<String> {
        let foreign = idle.difference(&self.reach);
        (!foreign.is_empty()).then(|| format!("{foreign} are said to be idle, and it has left them or never had them"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use numaestro_engine::{Engine, Settings, Wish};
    use numaestro_topology::PuId;

    const MS: Nanos = 1_000_000;

    /// Two applications on four processors; the second has come, and the first has to vacate two.
    fn story() -> (Engine, Duties) {
        let machine = numaestro_topology::synthetic::parse("core:4 pu:1").unwrap();
        let (mut engine, mut duties) = (Engine::new(machine, Settings::default(), 1).unwrap(), Duties::new(20 * MS));
        for app in [1, 2] {
            play(&mut engine, &mut duties, app, &Event::Arrive { app: AppId(app), wish: Wish::new(4) });
        }
        (engine, duties)
    }

    fn play(engine: &mut Engine, duties: &mut Duties, at: Nanos, event: &Event) {
        let mut actions = Vec::new();
        engine.step(at, event, &mut actions);
        duties.step(at, event, &actions);
    }

    fn broken(event: &Event) -> String {
        let (mut engine, mut duties) = story();
        assert_eq!(duties.breaches(), []);
        play(&mut engine, &mut duties, 5, event);
        duties.breaches().iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_shell_that_does_all_it_owes() {
        let (app, idle) = (AppId(1), PuSet::new());
        for event in [
            Event::Adopted { app, epoch: 1 },
            Event::Adopted { app, epoch: 2 },
            Event::Sequential { app },
            Event::Depart { app },
            Event::Timer,
            Event::Demand { app, processors: 2, idle },
            // It may say so while it vacates them.
            Event::Demand { app, processors: 2, idle: PuSet::from_iter([PuId(0), PuId(3)]) },
        ] {
            assert_eq!(broken(&event), "");
        }
    }

    #[test]
    fn each_breach_is_named() {
        let app = AppId(1);
        for (event, expected) in [
            (Event::Adopted { app, epoch: 3 }, "epoch 3"),
            (Event::Parallel { app }, "Parallel again"),
            (Event::Depart { app: AppId(7) }, "not there"),
            (Event::Memory { app: AppId(7), bytes: vec![1] }, "not there"),
            (Event::Arrive { app: AppId(2), wish: Wish::new(1) }, "number as large"),
            (Event::Demand { app: AppId(2), processors: 1, idle: PuSet::from_iter([PuId(0)]) }, "never had them"),
        ] {
            let said = broken(&event);
            assert!(said.contains(expected), "{said:?} instead of {expected}");
        }
    }

    #[test]
    fn a_processor_that_was_left_is_not_idle() {
        let (mut engine, mut duties) = story();
        play(&mut engine, &mut duties, 5, &Event::Adopted { app: AppId(1), epoch: 2 });
        let idle = (0..4).map(PuId).collect();
        play(&mut engine, &mut duties, 6, &Event::Demand { app: AppId(1), processors: 2, idle });
        let said: String = duties.breaches().iter().map(ToString::to_string).collect();
        assert!(said.contains("it has left them"), "{said:?}");
    }

    #[test]
    fn a_lender_with_ready_threads_has_its_processors_back() {
        use crate::look::Look;
        for (told, breaches) in [(true, 0), (false, 1)] {
            let (mut engine, mut duties) = story();
            let app = AppId(1);
            play(&mut engine, &mut duties, 5, &Event::Sequential { app });
            for (number, ready) in [Some(2), Some(1), Some(2), None, Some(2), Some(2), Some(2)].into_iter().enumerate()
            {
                let look = Look { regions: 0, in_region: false, several: false, ready, waits: false };
                duties.saw(6 + number as Nanos, &Observation::Look { app, look, cpu_ns: Some(0), of_use: true });
                if told && number == 4 {
                    play(&mut engine, &mut duties, 10, &Event::Parallel { app });
                }
            }
            let said: String = duties.breaches().iter().map(ToString::to_string).collect();
            assert_eq!((duties.breaches().len(), said.contains("still lends")), (breaches, breaches == 1), "{said}");
        }
    }

    #[test]
    fn a_force_is_answered_and_epochs_do_not_go_back() {
        for (answer, breaches) in [(true, 0), (false, 1)] {
            let (mut engine, mut duties) = story();
            play(&mut engine, &mut duties, 11 * MS, &Event::Timer);
            if answer {
                play(&mut engine, &mut duties, 12 * MS, &Event::Adopted { app: AppId(1), epoch: 2 });
            }
            play(&mut engine, &mut duties, 40 * MS, &Event::Timer);
            assert_eq!(duties.breaches().len(), breaches, "{:?}", duties.breaches());
        }
        let (mut engine, mut duties) = story();
        for epoch in [2, 1] {
            play(&mut engine, &mut duties, 5, &Event::Adopted { app: AppId(1), epoch });
        }
        play(&mut engine, &mut duties, 4, &Event::Timer);
        let said: Vec<_> = duties.breaches().iter().map(ToString::to_string).collect();
        assert!(said[0].contains("after 2") && said[1].contains("gone back"), "{said:?}");
    }
}
