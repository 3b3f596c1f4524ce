//! What is said to change an application's number of processors does, and what is not said does
//! not.

use super::World;
use super::advised::answer;
use numaestro_engine::explain::Change;
use numaestro_engine::{Action, AppId, AppSnapshot, AppState, Engine, Event};
use numaestro_topology::PuSet;

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
            let usual = self.has_after(app.app, &[], false);
            let mut changes = self.changes_of(app);
            changes.extend(found.iter().map(|found| found.change.clone()));
            // Another policy can stop applications, or draws by the number of decisions.
            changes.retain(|change| !matches!(change, Change::Policy { .. }));
            for change in changes {
                let waits = change == Change::LessLoad;
                let usual = if waits { &self.has_after(app.app, &[], true) } else { &usual };
                let has = self.has_after(app.app, &events_of(app, &change), waits);
                let told = found.iter().find(|found| found.change == change);
                match told {
                    Some(alternative) => {
                        assert_eq!(has.count, alternative.count as usize, "{alternative:?} of {app:?}");
                        assert!(!has.is_like(usual), "{alternative:?} of {app:?} changes nothing");
                    }
                    None => assert!(has.is_like(usual), "{change:?} of {app:?} was not told: {usual:?}, {has:?}"),
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
        // The shell asks for nothing on behalf of a wrapper.
        let asks = app.state != AppState::Wrapper;
        changes.extend((asks && app.max < usable).then_some(Change::Limit { max: usable }));
        changes.extend((asks && app.request < usable).then_some(Change::Use { processors: usable }));
        changes.extend((snapshot.unmanaged > 0).then_some(Change::LessLoad));
        let started = |other: &&AppSnapshot| other.app != app.app && other.state != AppState::Waiting;
        let others: Vec<&AppSnapshot> = snapshot.apps.iter().filter(started).collect();
        // Of many, the engine tries some.
        if others.len() <= 8 {
            changes.extend(others.iter().map(|other| Change::End { app: other.app }));
        }
        changes
    }

    /// What an application has after these events, once all have made room; the shell asks for no
    /// more when limits are refused. `waits`: and after the time for which less load outside has to
    /// last.
    fn has_after(&self, app: AppId, events: &[Event], waits: bool) -> Has {
        let mut engine: Engine = self.engine.clone();
        for event in events {
            let mut actions = Vec::new();
            engine.step(self.now, event, &mut actions);
            if actions.iter().any(|action| matches!(action, Action::Refuse { .. })) {
                break;
            }
        }
        answer(&mut engine, self.now);
        if waits {
            let later = self.now + engine.settings().cooldown_ns;
            engine.step(later, &Event::Timer, &mut Vec::new());
            answer(&mut engine, later);
        }
        let snapshot = engine.snapshot();
        // A program that has just become one of class fold may still have to leave some.
        let count = snapshot.pus.iter().filter(|pu| pu.next == Some(app)).count();
        let entry = snapshot.apps.iter().find(|entry| entry.app == app);
        let (pus, shared) = entry.map_or_else(Default::default, |entry| (entry.pus.clone(), entry.shared));
        Has { count, pus, shared }
    }
}

/// What an application has.
#[derive(Debug)]
struct Has {
    count: usize,
    pus: PuSet,
    shared: bool,
}

impl Has {
    /// The same for its user.
    fn is_like(&self, other: &Self) -> bool {
        self.shared == other.shared && (self.count == other.count || self.pus.len() == other.pus.len())
    }
}

fn events_of(app: &AppSnapshot, change: &Change) -> Vec<Event> {
    let limits = |max, weight_milli| Event::Limits { app: app.app, min: app.min, max, weight_milli };
    let request = |processors: u32| Event::Request { app: app.app, processors };
    match change {
        Change::Limit { max } => vec![limits(*max, app.weight_milli), request(*max)],
        Change::Weight { weight_milli } => vec![limits(app.max, *weight_milli)],
        Change::Use { processors } => vec![request(*processors)],
        Change::LessLoad => vec![Event::Unmanaged { processors: 0 }],
        Change::End { app } => vec![Event::Depart { app: *app }],
        Change::Policy { policy } => vec![Event::Policy { policy: policy.clone() }],
    }
}
