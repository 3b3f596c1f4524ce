//! What is said to change an application's number of processors does, and what is not said does
//! not.

use super::World;
use super::advised::answer;
use numaestro_engine::explain::Change;
use numaestro_engine::{AppId, AppSnapshot, AppState, Engine, Event};

impl World {
    /// Asks what would change the numbers of some applications, lets each of it happen, and
    /// compares. Leaves the world as it was.
    pub fn check_alternatives(&self) {
        let apps = self.engine.snapshot().apps;
        let policy = self.engine.policy();
        if policy.turns.stops() || policy.turns.holds_counts() || !policy.share.space_shares() {
            let none = |app: &AppSnapshot| self.engine.alternatives(self.now, app.app, &|_| true).is_empty();
            assert!(apps.iter().all(none), "a number of a moment");
            return;
        }
        for app in apps.iter().take(3) {
            let before = self.engine.snapshot();
            let found = self.engine.alternatives(self.now, app.app, &|_| true);
            assert_eq!(self.engine.snapshot(), before, "asking has changed something");
            let usual = self.number_after(app.app, &[]);
            let mut changes = self.changes_of(app);
            changes.extend(found.iter().map(|found| found.change.clone()));
            // Another policy can stop applications, or draws by the number of decisions.
            changes.retain(|change| !matches!(change, Change::Policy { .. }));
            for change in changes {
                let number = self.number_after(app.app, &events_of(app, &change));
                let told = found.iter().find(|found| found.change == change);
                match told {
                    Some(alternative) => {
                        assert_eq!(number, alternative.count as usize, "{alternative:?} of {app:?}");
                        assert_ne!(number, usual, "{alternative:?} of {app:?} changes nothing");
                    }
                    None => assert_eq!(number, usual, "{change:?} of {app:?} was not told"),
                }
            }
        }
        assert_eq!(self.engine.alternatives(self.now, AppId(u64::MAX), &|_| true), [], "nobody");
    }

    /// Everything that can be said of an application, but other policies.
    fn changes_of(&self, app: &AppSnapshot) -> Vec<Change> {
        let snapshot = self.engine.snapshot();
        let usable = snapshot.usable.len() as u32;
        let mut changes = vec![Change::Weight { weight_milli: app.weight_milli.saturating_mul(2) }];
        changes.extend((app.max < usable).then_some(Change::Limit { max: usable }));
        changes.extend((app.request < usable).then_some(Change::Use { processors: usable }));
        let started = |other: &&AppSnapshot| other.app != app.app && other.state != AppState::Waiting;
        let others: Vec<&AppSnapshot> = snapshot.apps.iter().filter(started).collect();
        // Of many, the engine tries some.
        if others.len() <= 8 {
            changes.extend(others.iter().map(|other| Change::End { app: other.app }));
        }
        changes
    }

    /// Processors that an application has after these events, once all have made room.
    fn number_after(&self, app: AppId, events: &[Event]) -> usize {
        let mut engine: Engine = self.engine.clone();
        for event in events {
            engine.step(self.now, event, &mut Vec::new());
        }
        answer(&mut engine, self.now);
        // A program that has just become one of class fold may still have to leave some.
        engine.snapshot().pus.iter().filter(|pu| pu.next == Some(app)).count()
    }
}

fn events_of(app: &AppSnapshot, change: &Change) -> Vec<Event> {
    let limits = |max, weight_milli| Event::Limits { app: app.app, min: app.min, max, weight_milli };
    let request = |processors: u32| Event::Request { app: app.app, processors };
    match change {
        Change::Limit { max } => vec![limits(*max, app.weight_milli), request(*max)],
        Change::Weight { weight_milli } => vec![limits(app.max, *weight_milli)],
        Change::Use { processors } => vec![request(*processors)],
        Change::End { app } => vec![Event::Depart { app: *app }],
        Change::Policy { policy } => vec![Event::Policy { policy: policy.clone() }],
    }
}
