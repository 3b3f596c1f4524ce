//! Advice is kept: who comes at once, while nothing else happens, gets what was advised.

use super::World;
use numaestro_engine::{Action, AppId, AppState, Engine, Event, Wish};

impl World {
    /// Asks for what the first arrivals of the story have wanted, lets one come, and compares.
    /// Leaves the world as it was.
    pub fn check_advice(&self) {
        let wishes = self.story.events.iter().filter_map(|(_, event)| match event {
            Event::Arrive { wish, .. } => Some(wish.clone()),
            _ => None,
        });
        for wish in wishes.take(3) {
            let wish = Wish { claim: None, home: None, ..wish };
            let before = self.engine.snapshot();
            let advice = self.engine.advise(self.now, &wish, &[]);
            assert_eq!(self.engine.snapshot(), before, "asking has changed something");

            let mut engine = self.engine.clone();
            let app = AppId(self.next);
            let mut actions = Vec::new();
            engine.step(self.now, &Event::Arrive { app, wish }, &mut actions);
            let refused =
                actions.iter().any(|action| matches!(action, Action::Refuse { app: Some(who), .. } if *who == app));
            let Ok(advice) = advice else {
                assert!(refused, "advised against, and yet it comes: {advice:?}");
                continue;
            };
            assert!(!refused, "{advice:?}");
            let mut now = self.now;
            answer(&mut engine, now);
            while advice.turn_in > now - self.now {
                now = engine.deadline().expect("turns end");
                engine.step(now, &Event::Timer, &mut Vec::new());
                answer(&mut engine, now);
            }
            let snapshot = engine.snapshot();
            let seen = snapshot.apps.iter().find(|seen| seen.app == app).expect("it has come");
            assert_eq!(advice.pus, seen.pus, "{advice:?} {seen:?}");
            assert_eq!(advice.threads, seen.count);
            assert_eq!(advice.position.unwrap_or(0), seen.position);
            assert_eq!(advice.position.is_some(), seen.state == AppState::Waiting);
            let own = snapshot.pus.iter().filter(|pu| pu.owner == Some(app)).count();
            assert_eq!(advice.count as usize, own, "{advice:?} {seen:?}");
            assert!(advice.free.is_subset(&advice.pus) && !advice.why.is_empty());
        }
    }
}

/// Calls the engine where it is due, and lets everybody carry out their targets in an order of
/// their own: the latest arrival first. A selective placement decides again at every answer, and a
/// turn begins with the processors that the order has left free: under these two the order is that
/// of the advice, the earliest first.
pub fn answer(engine: &mut Engine, now: u64) {
    for _ in 0..10_000 {
        if engine.is_due(now) {
            engine.step(now, &Event::Timer, &mut Vec::new());
            continue;
        }
        let snapshot = engine.snapshot();
        let late = |app: &&numaestro_engine::AppSnapshot| app.adopted < app.epoch && app.state != AppState::Stopped;
        let mut apps = snapshot.apps.iter();
        let policy = engine.policy();
        let in_order = policy.placement.selective() || policy.turns.stops();
        let next = if in_order { apps.find(late) } else { apps.rfind(late) };
        let Some(app) = next else { return };
        engine.step(now, &Event::Adopted { app: app.app, epoch: app.epoch }, &mut Vec::new());
    }
    panic!("does not settle");
}
