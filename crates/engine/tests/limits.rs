//! A user changes the limits of an application while it runs, or while it waits.

mod story;

use numaestro_engine::{AppId, AppState, Event, Settings, Wish};
use numaestro_policy::Party;
use story::{Story, wish};

fn limits(app: u64, min: u32, max: u32) -> Event {
    Event::Limits { app: AppId(app), min, max, weight_milli: 1000 }
}

fn none() -> Vec<String> {
    Vec::new()
}

#[test]
fn a_lower_limit_takes_processors_at_once_and_others_get_them() {
    let mut story = Story::new("core:4 pu:1", "");
    story.arrive(1, wish(4));
    story.arrive(2, wish(4));
    story.settle();
    assert_eq!(story.tell(&limits(1, 1, 1)), ["target 1 epoch 3: 1 on 0"]);
    assert_eq!(story.adopted(1, 3), ["target 2 epoch 2: 3 on 1-3"]);
    assert_eq!(story.tell(&limits(1, 1, 1)), none(), "the same again is no change");
}

#[test]
fn the_limit_holds_whatever_the_program_asks_for() {
    let mut story = Story::new("core:4 pu:1", "");
    story.arrive(1, wish(4));
    story.settle();
    story.tell(&limits(1, 1, 2));
    story.settle();
    assert_eq!(story.pus(1), "0-1");
    assert_eq!(story.request(1, 3), none());
    assert_eq!(story.pus(1), "0-1");
    assert_eq!(story.tell(&limits(1, 1, u32::MAX)), ["target 1 epoch 3: 3 on 0-2"], "its request was kept");
}

#[test]
fn a_minimum_and_a_weight_count_at_once() {
    let mut story = Story::new("core:4 pu:1", "");
    story.arrive(1, wish(4));
    story.arrive(2, wish(4));
    story.settle();
    story.tell(&limits(2, 3, u32::MAX));
    story.settle();
    assert_eq!(story.pus(2).parse::<numaestro_topology::PuSet>().unwrap().len(), 3);
    story.tell(&limits(2, 1, u32::MAX));
    story.tell(&Event::Limits { app: AppId(1), min: 1, max: u32::MAX, weight_milli: 3000 });
    story.settle();
    assert_eq!(story.pus(1).parse::<numaestro_topology::PuSet>().unwrap().len(), 3);
}

#[test]
fn impossible_limits_are_refused_and_change_nothing() {
    let parties = vec![Party { most: 2, ..Party::default() }];
    let mut story = Story::with("core:4 pu:1", Settings { parties, ..Settings::default() });
    story.arrive(1, wish(4));
    story.settle();
    let before = story.engine.snapshot();
    for (min, max, said) in
        [(3, 2, "contradict"), (1, 0, "contradict"), (5, 9, "only 4"), (3, 4, "its party may have 2")]
    {
        let lines = story.tell(&limits(1, min, max));
        assert!(lines.len() == 1 && lines[0].starts_with("refuse: ") && lines[0].contains(said), "{lines:?}");
    }
    assert_eq!(story.engine.snapshot(), before);
    assert_eq!(story.tell(&limits(7, 1, 1)), none(), "nobody");
}

#[test]
fn an_application_that_waits_starts_when_it_needs_less() {
    let mut story = Story::new("core:4 pu:1", "");
    story.arrive(1, Wish { min: 3, max: 3, ..wish(3) });
    story.settle();
    assert_eq!(story.arrive(2, Wish { min: 2, wait: Some(true), ..wish(2) }), ["wait 2 at 1"]);
    let lines = story.tell(&limits(2, 1, 1));
    assert_eq!(lines, ["start 2", "target 2 epoch 1: 1 on 3"]);
}

#[test]
fn a_wrapper_keeps_its_new_limits_for_later() {
    let mut story = Story::new("core:4 pu:1", "");
    story.arrive(1, wish(4));
    story.settle();
    story.request(1, 0);
    story.settle();
    assert_eq!(story.tell(&limits(1, 1, 2)), none());
    story.request(1, 4);
    story.settle();
    let snapshot = story.engine.snapshot();
    assert_eq!((snapshot.apps[0].state, snapshot.apps[0].count), (AppState::Running, 2));
}
