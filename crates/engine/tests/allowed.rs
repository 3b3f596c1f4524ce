//! Who may have some processors only has these and no others, and the rest is divided around it.

mod story;

use numaestro_engine::{AppId, Event, Settings, Wish};
use story::{Story, set, wish};

fn bound(list: &str, request: u32) -> Wish {
    Wish { allowed: set(list), ..wish(request) }
}

fn allowed(app: u64, list: &str) -> Event {
    Event::Allowed { app: AppId(app), pus: set(list) }
}

fn settled(story: &mut Story, apps: &[u64]) -> Vec<String> {
    story.settle();
    apps.iter().map(|&app| story.pus(app)).collect()
}

#[test]
fn others_leave_what_is_the_only_place_for_it() {
    let mut story = Story::new("core:2 pu:1", "");
    assert_eq!(story.arrive(1, wish(2)), ["start 1", "target 1 epoch 1: 2 on 0-1"]);
    story.arrive(2, bound("0", 2));
    assert_eq!(settled(&mut story, &[1, 2]), ["1", "0"]);
    story.depart(1);
    assert_eq!(settled(&mut story, &[2]), ["0"], "it never gets what it may not have");
    story.arrive(3, wish(2));
    assert_eq!(settled(&mut story, &[2, 3]), ["0", "1"]);
}

#[test]
fn it_asks_for_more_and_gets_what_it_may_have() {
    let mut story = Story::new("core:8 pu:1", "");
    story.arrive(1, bound("2-3,9", 8));
    story.arrive(2, wish(8));
    assert_eq!(settled(&mut story, &[1, 2]), ["2-3", "0-1,4-7"], "and the others get all the rest");
    story.request(1, 9);
    assert_eq!(settled(&mut story, &[1, 2]), ["2-3", "0-1,4-7"]);
}

#[test]
fn several_on_the_same_processors_share_them() {
    let mut story = Story::new("core:4 pu:1", "");
    story.arrive(1, bound("0", 4));
    story.arrive(2, bound("0", 4));
    story.arrive(3, wish(4));
    assert_eq!(settled(&mut story, &[1, 2, 3]), ["0", "0", "1-3"]);
    let shared = |story: &Story| -> Vec<bool> { story.engine.snapshot().apps.iter().map(|app| app.shared).collect() };
    assert_eq!(shared(&story), [true, true, false]);
    story.depart(1);
    assert_eq!(settled(&mut story, &[2, 3]), ["0", "1-3"]);
    assert_eq!(shared(&story), [false, false]);
}

#[test]
fn one_that_has_a_choice_makes_room_for_one_that_has_none() {
    let mut story = Story::new("core:4 pu:1", "");
    story.arrive(1, bound("0-1", 1));
    assert_eq!(settled(&mut story, &[1]), ["0"]);
    story.arrive(2, bound("0,2", 1));
    assert_eq!(settled(&mut story, &[1, 2]), ["0", "2"]);
    story.arrive(3, bound("0", 1));
    assert_eq!(settled(&mut story, &[1, 2, 3]), ["1", "2", "0"]);
    story.arrive(4, bound("2", 1));
    story.arrive(5, wish(4));
    assert_eq!(settled(&mut story, &[1, 2, 3, 4, 5]), ["1", "2", "0", "2", "3"], "the first keeps it");
}

#[test]
fn it_is_bound_and_let_loose_while_it_runs() {
    let mut story = Story::new("core:4 pu:1", "");
    story.arrive(1, wish(4));
    story.arrive(2, wish(4));
    story.settle();
    story.tell(&allowed(2, "1"));
    assert_eq!(settled(&mut story, &[1, 2]), ["0,2-3", "1"]);
    assert!(story.tell(&allowed(2, "1")).is_empty(), "the same again is no change");
    story.tell(&allowed(2, ""));
    assert_eq!(settled(&mut story, &[1, 2]), ["0,2", "1,3"]);
    story.tell(&allowed(1, "7"));
    assert_eq!(settled(&mut story, &[1, 2]), ["0,2", "1,3"], "a set without a processor bounds nothing");
}

#[test]
fn a_processor_that_goes_and_comes_back() {
    let mut story = Story::new("core:3 pu:1", "");
    let pu = numaestro_topology::PuId(1);
    story.arrive(1, bound("1", 3));
    story.arrive(2, wish(3));
    assert_eq!(settled(&mut story, &[1, 2]), ["1", "0,2"]);
    story.tell(&Event::Offline { pu });
    let both = settled(&mut story, &[1, 2]);
    assert!(!both.contains(&String::new()), "where the kernel lets it run it is not stopped: {both:?}");
    story.tell(&Event::Online { pu });
    assert_eq!(settled(&mut story, &[1, 2]), ["1", "0,2"]);
}

#[test]
fn load_outside_is_left_the_processors_of_others() {
    let mut story = Story::new("core:3 pu:1", "");
    story.tell(&Event::Unmanaged { processors: 1 });
    story.arrive(1, bound("2", 3));
    story.arrive(2, wish(3));
    assert_eq!(settled(&mut story, &[1, 2]), ["2", "0"]);
}

#[test]
fn claims_and_minimums_are_within_it() {
    let mut story = Story::new("core:4 pu:1", "");
    story.arrive(1, Wish { claim: Some(set("0-1")), ..bound("1-2", 4) });
    assert_eq!(story.pus(1), "1");
    story.arrive(2, Wish { min: 3, ..bound("3", 4) });
    assert_eq!(story.pus(2), "3");
}

#[test]
fn every_policy_keeps_to_it() {
    for policy in ["equi", "nanos-dss", "pdpa", "linux24", "sgi-mp", "placement=fixed(at=1234)", "placement=home"] {
        let host = numaestro_policy::Needs {
            requests: true,
            speedup: true,
            bandwidth: true,
            page_control: true,
            preemption: true,
        };
        let mut story = Story::with("core:4 pu:1", Settings { policy: policy.to_owned(), host, ..Settings::default() });
        story.arrive(1, wish(4));
        story.arrive(2, bound("2", 4));
        story.settle();
        story.wait(1_000_000_000);
        story.settle();
        assert_eq!(story.pus(2), "2", "{policy}");
    }
}
