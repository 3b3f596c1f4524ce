//! Stories of time sharing: who is stopped, who goes on, what is released before a turn ends.

mod story;

use numaestro_engine::{AppId, AppState, Class, Event, Wish};
use numaestro_topology::PuId;
use story::{Story, set, wish};

const QUANTUM: u64 = 100_000_000;

fn state(story: &Story, app: u64) -> AppState {
    story.engine.snapshot().apps.iter().find(|found| found.app == AppId(app)).unwrap().state
}

/// Three that want both processors, under a policy of the NANOS family.
fn crowd() -> Story {
    let mut story = Story::new("core:2 pu:1", "nanos-dss");
    assert_eq!(story.arrive(1, wish(2)), ["start 1", "target 1 epoch 1: 2 on 0-1"]);
    story.arrive(2, wish(2));
    story.arrive(3, wish(2));
    story
}

#[test]
fn an_arrival_waits_stopped_until_the_tick() {
    let mut story = Story::new("core:4 pu:1", "nanos-dss");
    story.arrive(1, wish(4));
    assert_eq!(story.engine.deadline(), Some(1000 + QUANTUM));
    assert_eq!(story.arrive(2, wish(4)), ["start 2", "stop 2"]);
    assert_eq!(state(&story, 2), AppState::Stopped);
    assert_eq!(story.wait(QUANTUM - 1), [] as [&str; 0]);
    assert_eq!(story.wait(1), ["target 1 epoch 2: 2 on 0-1"]);
    // What it gets is being vacated.
    assert_eq!(state(&story, 2), AppState::Stopped);
    assert_eq!(story.adopted(1, 2), ["target 2 epoch 1: 2 on 2-3", "continue 2"]);
    assert_eq!(state(&story, 2), AppState::Running);
}

#[test]
fn what_is_released_goes_to_the_work_list() {
    let mut story = crowd();
    assert_eq!((state(&story, 2), state(&story, 3)), (AppState::Stopped, AppState::Stopped));
    // The first in the list wants two, and one is released.
    assert_eq!(story.request(1, 1), ["target 1 epoch 2: 1 on 0"]);
    assert_eq!(story.adopted(1, 2), ["target 2 epoch 1: 1 on 1", "continue 2"]);
    assert_eq!(state(&story, 3), AppState::Stopped);
    // The next one goes to it too, until it has what it wants.
    assert_eq!(story.depart(1), ["target 2 epoch 2: 2 on 0-1"]);
    // At the tick the division is made anew, and nobody has lost anything before.
    story.wait(QUANTUM);
    story.settle();
    assert_eq!((story.pus(2), story.pus(3)), ("0".to_owned(), "1".to_owned()));
}

#[test]
fn an_increase_waits_and_leftovers_stay_free_until_the_tick() {
    let mut story = Story::new("core:8 pu:1", "nanos-dss");
    story.arrive(1, wish(2));
    assert_eq!(story.request(1, 8), [] as [&str; 0]);
    assert_eq!(story.wait(QUANTUM), ["target 1 epoch 2: 8 on 0-7"]);
}

#[test]
fn the_stopped_one_goes_first_and_its_heirs_have_it_at_once() {
    // Equip gives one each to the first two; a departure and a new minimum move who is first.
    let mut story = Story::new("core:2 pu:1", "share=equip turns=tick");
    for app in 1..=3 {
        story.arrive(app, wish(1));
    }
    story.wait(QUANTUM);
    story.settle();
    assert_eq!(state(&story, 3), AppState::Stopped);
    // A processor goes: the second has none any more.
    let said = story.tell(&Event::Offline { pu: PuId(0) });
    assert_eq!(said.last().map(String::as_str), Some("stop 1"), "{said:?}");
    let said = story.wait(QUANTUM);
    assert_eq!(said, ["stop 2", "target 1 epoch 2: 1 on 1", "continue 1"]);
}

#[test]
fn one_that_cannot_be_stopped_is_a_guest() {
    let mut story = crowd();
    let said = story.tell(&Event::Unstoppable { app: AppId(2) });
    assert_eq!(said, ["target 1 epoch 2: 2 on 0-1 shared", "target 2 epoch 1: 1 on 0 shared"]);
    assert_eq!(state(&story, 2), AppState::Running);
    let said = story.tell(&Event::Stoppable { app: AppId(2) });
    assert_eq!(said, ["stop 2", "target 1 epoch 3: 2 on 0-1"]);
}

#[test]
fn under_a_policy_that_does_not_stop_everybody_goes_on() {
    let mut story = crowd();
    let said = story.tell(&Event::Policy { policy: "equi".to_owned() });
    // The third is a guest from now on; the second waits for what the first vacates.
    assert_eq!(said, ["target 1 epoch 2: 1 on 0 shared", "target 3 epoch 1: 1 on 0 shared", "continue 3"]);
    assert_eq!(story.adopted(1, 2), ["target 2 epoch 1: 1 on 1", "continue 2"]);
    // And back.
    let said = story.tell(&Event::Policy { policy: "nanos-dss".to_owned() });
    assert_eq!(said[0], "stop 3");
}

#[test]
fn late_messages_of_a_stopped_one_do_no_harm() {
    let mut story = crowd();
    for event in [
        Event::Sequential { app: AppId(2) },
        Event::Parallel { app: AppId(2) },
        Event::Adopted { app: AppId(2), epoch: 1 },
        Event::Request { app: AppId(2), processors: 1 },
        Event::Demand { app: AppId(2), processors: 2, idle: set("0-1") },
        Event::Class { app: AppId(2), class: Class::Fold },
    ] {
        assert_eq!(story.tell(&event), [] as [&str; 0], "{event:?}");
    }
    // It waits for something outside, and has said so before it was stopped: it is let go, and uses
    // nothing.
    let said = story.tell(&Event::Blocked { app: AppId(2) });
    assert_eq!(said, ["target 2 epoch 1: 1 on 0 shared", "continue 2"]);
    let said = story.tell(&Event::Parallel { app: AppId(2) });
    assert_eq!(said, ["stop 2"]);
    // Its children run: it runs with them.
    let said = story.request(2, 0);
    assert_eq!(said, ["target 2 epoch 2: 2 on 0-1 shared", "continue 2"]);
    assert_eq!(story.depart(3), [] as [&str; 0]);
}

#[test]
fn a_claim_is_kept_and_a_restarted_manager_has_stopped_nobody() {
    let mut story = Story::new("core:2 pu:1", "nanos-dss");
    let claim = |list: &str| Wish { claim: Some(set(list)), ..wish(2) };
    story.arrive(1, claim("0"));
    story.arrive(2, claim("1"));
    // It ran when the manager died; now there is nothing for it.
    assert_eq!(story.arrive(3, claim("1")), ["start 3", "stop 3"]);
    assert_eq!((story.pus(1), story.pus(2)), ("0".to_owned(), "1".to_owned()));
}
