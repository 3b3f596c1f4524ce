//! What the stories are told with: an engine, a clock, and actions as lines.
#![allow(dead_code)] // Each test crate uses a part of it.

use numaestro_engine::{Action, AppId, Engine, Event, Settings, Wish};
use numaestro_topology::{PuSet, synthetic};

/// An engine with a clock that the story moves.
pub struct Story {
    pub engine: Engine,
    pub now: u64,
}

impl Story {
    pub fn new(machine: &str, policy: &str) -> Self {
        let settings = Settings { policy: policy.into(), ..Settings::default() };
        Self::with(machine, settings)
    }

    pub fn with(machine: &str, settings: Settings) -> Self {
        let engine = Engine::new(synthetic::parse(machine).unwrap(), settings, 1).unwrap();
        Self { engine, now: 1000 }
    }

    /// One event, told as lines.
    pub fn tell(&mut self, event: &Event) -> Vec<String> {
        let mut actions = Vec::new();
        self.engine.step(self.now, event, &mut actions);
        actions.iter().map(line).collect()
    }

    pub fn arrive(&mut self, app: u64, wish: Wish) -> Vec<String> {
        self.tell(&Event::Arrive { app: AppId(app), wish })
    }

    pub fn depart(&mut self, app: u64) -> Vec<String> {
        self.tell(&Event::Depart { app: AppId(app) })
    }

    pub fn adopted(&mut self, app: u64, epoch: u32) -> Vec<String> {
        self.tell(&Event::Adopted { app: AppId(app), epoch })
    }

    pub fn request(&mut self, app: u64, processors: u32) -> Vec<String> {
        self.tell(&Event::Request { app: AppId(app), processors })
    }

    pub fn wait(&mut self, ns: u64) -> Vec<String> {
        self.now += ns;
        self.tell(&Event::Timer)
    }

    /// Every target is carried out, and the engine is called where it is due, until nothing is left
    /// to do.
    pub fn settle(&mut self) {
        for _ in 0..1000 {
            if self.is_due() {
                self.wait(0);
            }
            let late = self.engine.snapshot().apps.into_iter().find(|app| app.adopted < app.epoch);
            let Some(app) = late else { return };
            self.adopted(app.app.0, app.epoch);
        }
        panic!("does not settle");
    }

    /// The engine wants to be called now.
    pub fn is_due(&self) -> bool {
        self.engine.is_due(self.now)
    }

    pub fn pus(&self, app: u64) -> String {
        let snapshot = self.engine.snapshot();
        snapshot.apps.iter().find(|found| found.app.0 == app).unwrap().pus.to_string()
    }
}

pub fn line(action: &Action) -> String {
    match action {
        Action::Start { app } => format!("start {app}"),
        Action::Wait { app, position } => format!("wait {app} at {position}"),
        Action::Target { app, epoch, count, pus, shared, lent } => {
            let (shared, lent) = (if *shared { " shared" } else { "" }, if *lent { " lent" } else { "" });
            format!("target {app} epoch {epoch}: {count} on {pus}{shared}{lent}")
        }
        Action::Stop { app } => format!("stop {app}"),
        Action::Continue { app } => format!("continue {app}"),
        Action::Pages { app, home } => format!("pages {app} to {home:?}"),
        Action::Force { app, epoch, pus } => format!("force {app} epoch {epoch} on {pus}"),
        Action::Refuse { reason, .. } => format!("refuse: {reason}"),
    }
}

pub fn wish(request: u32) -> Wish {
    Wish::new(request)
}

pub fn set(list: &str) -> PuSet {
    list.parse().unwrap()
}
