//! The life of decisions, told as short stories of events and actions.

use numaestro_engine::{Action, AppId, AppState, Class, Engine, Event, Settings, Wish};
use numaestro_topology::{PuId, PuSet, synthetic};

/// An engine with a clock that the story moves.
struct Story {
    engine: Engine,
    now: u64,
}

impl Story {
    fn new(machine: &str, policy: &str) -> Self {
        let settings = Settings { policy: policy.into(), ..Settings::default() };
        Self::with(machine, settings)
    }

    fn with(machine: &str, settings: Settings) -> Self {
        let engine = Engine::new(synthetic::parse(machine).unwrap(), settings, 1).unwrap();
        Self { engine, now: 1000 }
    }

    /// One event, told as lines.
    fn tell(&mut self, event: &Event) -> Vec<String> {
        let mut actions = Vec::new();
        self.engine.step(self.now, event, &mut actions);
        actions.iter().map(line).collect()
    }

    fn arrive(&mut self, app: u64, wish: Wish) -> Vec<String> {
        self.tell(&Event::Arrive { app: AppId(app), wish })
    }

    fn depart(&mut self, app: u64) -> Vec<String> {
        self.tell(&Event::Depart { app: AppId(app) })
    }

    fn adopted(&mut self, app: u64, epoch: u32) -> Vec<String> {
        self.tell(&Event::Adopted { app: AppId(app), epoch })
    }

    fn request(&mut self, app: u64, processors: u32) -> Vec<String> {
        self.tell(&Event::Request { app: AppId(app), processors })
    }

    fn wait(&mut self, ns: u64) -> Vec<String> {
        self.now += ns;
        self.tell(&Event::Timer)
    }

    /// Every target is carried out until nothing is left to do.
    fn settle(&mut self) {
        for _ in 0..1000 {
            let late = self.engine.snapshot().apps.into_iter().find(|app| app.adopted < app.epoch);
            let Some(app) = late else { return };
            self.adopted(app.app.0, app.epoch);
        }
        panic!("does not settle");
    }

    fn pus(&self, app: u64) -> String {
        let snapshot = self.engine.snapshot();
        snapshot.apps.iter().find(|found| found.app.0 == app).unwrap().pus.to_string()
    }
}

fn line(action: &Action) -> String {
    match action {
        Action::Start { app } => format!("start {app}"),
        Action::Wait { app, position } => format!("wait {app} at {position}"),
        Action::Target { app, epoch, count, pus, shared, lent } => {
            let (shared, lent) = (if *shared { " shared" } else { "" }, if *lent { " lent" } else { "" });
            format!("target {app} epoch {epoch}: {count} on {pus}{shared}{lent}")
        }
        Action::Force { app, epoch, pus } => format!("force {app} epoch {epoch} on {pus}"),
        Action::Refuse { reason, .. } => format!("refuse: {reason}"),
    }
}

fn wish(request: u32) -> Wish {
    Wish { request, min: 1, max: u32::MAX, weight_milli: 1000, class: Class::Malleable, wait: None, claim: None }
}

fn set(list: &str) -> Option<PuSet> {
    Some(list.parse().unwrap())
}

#[test]
fn a_processor_passes_on_when_its_owner_has_said_so() {
    let mut story = Story::new("core:4 pu:1", "");
    assert_eq!(story.arrive(1, wish(4)), ["start 1", "target 1 epoch 1: 4 on 0-3"]);
    assert_eq!(story.arrive(2, wish(4)), ["start 2", "target 1 epoch 2: 2 on 0-1"]);
    assert_eq!(story.adopted(1, 1), Vec::<String>::new());
    assert_eq!(story.adopted(1, 2), ["target 2 epoch 1: 2 on 2-3"]);
    assert_eq!(story.depart(1), ["target 2 epoch 2: 4 on 0-3"]);
}
