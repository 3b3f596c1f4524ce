//! A journal for tests of its readers.

use super::numbered;
use super::part::{Cut, Numbered, Origin, Part};
use numaestro_engine::{AppId, Engine, Event, Settings, Wish, journal};

/// Programs come, borrow and go, the policy changes: an event each millisecond from the first on.
/// Gives the engine at the end, too.
pub fn journal() -> (Vec<String>, Engine) {
    let machine = numaestro_topology::synthetic::parse("numa:2 core:4 pu:1").unwrap();
    let settings = Settings::default();
    let mut engine = Engine::new(machine.clone(), settings.clone(), 1).unwrap();
    let mut lines = vec![journal::encode_head(&machine, &settings, 1)];
    let arrive = |app, request| Event::Arrive { app: AppId(app), wish: Wish::new(request) };
    let events = [
        (arrive(1, 8), Some("cg")),
        (Event::Adopted { app: AppId(1), epoch: 1 }, None),
        (arrive(2, 6), Some("<b>ft</b>")),
        (Event::Adopted { app: AppId(1), epoch: 2 }, None),
        (Event::Adopted { app: AppId(2), epoch: 1 }, None),
        (Event::Request { app: AppId(2), processors: 2 }, None),
        (Event::Policy { policy: "dss".to_owned() }, None),
        (Event::Unmanaged { processors: 1 }, None),
        (arrive(3, 2), None),
        (Event::Depart { app: AppId(1) }, None),
        (Event::Depart { app: AppId(2) }, None),
    ];
    for (at, (event, name)) in (1..).map(|number| number * 1_000_000).zip(events) {
        let mut actions = Vec::new();
        engine.step(at, &event, &mut actions);
        lines.push(journal::encode_named(at, name, &event, &actions));
    }
    (lines, engine)
}

/// The lines of a part, numbered.
pub fn part(lines: &[String], part: Part) -> anyhow::Result<impl Iterator<Item = Numbered> + 'static> {
    let lines = lines.to_vec();
    let read = || numbered(lines.clone().into_iter().map(Ok));
    Cut::new(read(), part, Origin::of(read())?)
}
