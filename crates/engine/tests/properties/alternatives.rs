//! What is said to change an application's number of processors does, and what is not said does
//! not.

use super::World;
use super::advised::answer;
use numaestro_engine::explain::Change;
use numaestro_engine::{AppId, Engine, Event};

impl World {
    /// Asks what would change the numbers of some applications, lets each of it happen, and
    /// compares. Leaves the world as it was.
    pub fn check_alternatives(&self) {
        let apps = self.engine.snapshot().apps;
        let policy = self.engine.policy();
        if policy.turns.stops() || policy.turns.holds_counts() || !policy.share.space_shares() {
            let none = |app: &numaestro_engine::AppSnapshot| self.engine.alternatives(self.now, app.app).is_empty();
            assert!(apps.iter().all(none), "a number of a moment");
            return;
        }
        for app in apps.iter().take(3) {
            let before = self.engine.snapshot();
            let found = self.engine.alternatives(self.now, app.app);
            assert_eq!(self.engine.snapshot(), before, "asking has changed something");
            let usual = self.number_after(app.app, None);
            for alternative in &found {
                let event = event_of(app, &alternative.change);
                // Another policy can stop applications, or draws by the number of decisions.
                if matches!(event, Event::Policy { .. }) {
                    continue;
                }
                let number = self.number_after(app.app, Some(&event));
                assert_eq!(number, alternative.count as usize, "{alternative:?} of {app:?}");
                assert_ne!(number, usual, "{alternative:?} of {app:?} changes nothing");
            }
            let heavier = Change::Weight { weight_milli: app.weight_milli.saturating_mul(2) };
            if !found.iter().any(|found| found.change == heavier) {
                assert_eq!(self.number_after(app.app, Some(&event_of(app, &heavier))), usual, "{app:?} was not told");
            }
        }
        assert_eq!(self.engine.alternatives(self.now, AppId(u64::MAX)), [], "nobody");
    }

    /// Processors that an application has after an event, once all have made room.
    fn number_after(&self, app: AppId, event: Option<&Event>) -> usize {
        let mut engine: Engine = self.engine.clone();
        if let Some(event) = event {
            engine.step(self.now, event, &mut Vec::new());
        }
        answer(&mut engine, self.now);
        engine.snapshot().pus.iter().filter(|pu| pu.owner == Some(app)).count()
    }
}

fn event_of(app: &numaestro_engine::AppSnapshot, change: &Change) -> Event {
    let limits = |max, weight_milli| Event::Limits { app: app.app, min: app.min, max, weight_milli };
    match change {
        Change::Limit { max } => limits(*max, app.weight_milli),
        Change::Weight { weight_milli } => limits(app.max, *weight_milli),
        Change::Use { processors } => Event::Request { app: app.app, processors: *processors },
        Change::End { app } => Event::Depart { app: *app },
        Change::Policy { policy } => Event::Policy { policy: policy.clone() },
    }
}
