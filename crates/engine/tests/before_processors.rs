//! Before-processors as Koita et al. §2.2 count them: those that an application had at its latest
//! deallocation.

use numaestro_engine::{Action, AppId, Engine, Event, Settings, Wish};
use numaestro_topology::{PuSet, synthetic};

const APP: AppId = AppId(1);

/// An engine on two nodes of four processors, and the time.
struct Host(Engine, u64);

impl Host {
    fn new() -> Self {
        let settings = Settings { policy: "FR-Dist".into(), ..Settings::default() };
        Self(Engine::new(synthetic::parse("numa:2 core:4 pu:1").unwrap(), settings, 1).unwrap(), 0)
    }

    fn step(&mut self, event: &Event) -> Vec<Action> {
        self.1 += 1;
        let mut actions = Vec::new();
        self.0.step(self.1, event, &mut actions);
        actions
    }

    /// It could use so many processors, and has nothing to run on `idle`.
    fn demand(&mut self, processors: u32, idle: PuSet) -> PuSet {
        self.step(&Event::Demand { app: APP, processors, idle });
        self.of(|app| app.own.clone())
    }

    fn of<T>(&self, what: impl Fn(&numaestro_policy::App) -> T) -> T {
        what(self.0.view().apps.iter().find(|app| app.id == APP).unwrap())
    }
}

#[test]
fn they_are_those_of_the_latest_deallocation() {
    let mut host = Host::new();
    host.step(&Event::Arrive { app: APP, wish: Wish::new(1) });
    let four = host.demand(4, PuSet::new());
    assert_eq!(four.len(), 4);
    let first = PuSet::from_iter(four.first());
    let one = host.demand(1, four.difference(&first));
    assert_eq!((one, host.of(|app| app.held.clone())), (first.clone(), four.clone()), "three at the same time");
    // It gets one of them back, and loses it: the other two were not its own at that time.
    let two = host.demand(2, PuSet::new());
    assert!(two.len() == 2 && two.is_subset(&four), "a before-processor");
    host.demand(1, two.difference(&first));
    assert_eq!(host.of(|app| app.held.clone()), two);
}
