//! The life of decisions, told as short stories of events and actions.

mod story;

use numaestro_engine::{AppId, AppState, Class, Engine, Event, Settings, Wish};
use numaestro_topology::{PuId, synthetic};
use story::{Story, set, wish};

#[test]
fn a_processor_passes_on_when_its_owner_has_said_so() {
    let mut story = Story::new("core:4 pu:1", "");
    assert_eq!(story.arrive(1, wish(4)), ["start 1", "target 1 epoch 1: 4 on 0-3"]);
    assert_eq!(story.arrive(2, wish(4)), ["start 2", "target 1 epoch 2: 2 on 0-1"]);
    assert_eq!(story.adopted(1, 1), Vec::<String>::new());
    assert_eq!(story.adopted(1, 2), ["target 2 epoch 1: 2 on 2-3"]);
    assert_eq!(story.depart(1), ["target 2 epoch 2: 4 on 0-3"]);
}

#[test]
fn who_does_not_answer_is_forced_and_then_loses_it() {
    let mut story = Story::new("core:2 pu:1", "");
    story.arrive(1, wish(2));
    story.adopted(1, 1);
    assert_eq!(story.arrive(2, wish(2)), ["start 2", "target 1 epoch 2: 1 on 0"]);
    let grace = Settings::default().grace_ns;
    assert_eq!(story.engine.deadline(), Some(1000 + grace));
    assert_eq!(story.wait(grace - 1), Vec::<String>::new());
    assert_eq!(story.wait(1), ["force 1 epoch 2 on 0"]);
    assert_eq!(story.adopted(1, 2), ["target 2 epoch 1: 1 on 1"]);
    assert_eq!(story.engine.deadline(), None);

    story.depart(2);
    story.arrive(3, wish(2));
    story.wait(grace);
    assert_eq!(story.wait(grace), ["target 3 epoch 1: 1 on 1"], "the shell could not force it either");
}

#[test]
fn folding_takes_effect_at_once() {
    let mut story = Story::new("core:4 pu:1", "");
    story.arrive(1, Wish { class: Class::Fold, ..wish(4) });
    assert_eq!(story.arrive(2, wish(4)), ["start 2", "target 1 epoch 2: 2 on 0-1", "target 2 epoch 1: 2 on 2-3"]);
}

#[test]
fn lies_and_late_answers_change_nothing() {
    let mut story = Story::new("core:4 pu:1", "");
    story.arrive(1, wish(4));
    story.arrive(2, wish(4));
    for epoch in [0, 1, 3, u32::MAX] {
        assert_eq!(story.adopted(1, epoch), Vec::<String>::new(), "epoch {epoch}");
    }
    assert_eq!(story.adopted(7, 1), Vec::<String>::new(), "never seen");
    assert_eq!(story.adopted(1, 2), ["target 2 epoch 1: 2 on 2-3"]);
    assert_eq!(story.adopted(1, 2), Vec::<String>::new(), "again");
}

#[test]
fn decisions_before_an_answer_change_the_heir() {
    let mut story = Story::new("core:2 pu:1", "");
    story.arrive(1, wish(2));
    story.arrive(2, wish(2));
    assert_eq!(story.depart(2), ["target 1 epoch 3: 2 on 0-1"], "it keeps what it had not left");
    story.arrive(3, wish(2));
    assert_eq!(story.adopted(1, 2), Vec::<String>::new(), "about an older target");
    assert_eq!(story.adopted(1, 4), ["target 3 epoch 1: 1 on 1"]);
}

#[test]
fn a_dead_program_gives_everything_at_once() {
    let mut story = Story::new("core:4 pu:1", "");
    story.arrive(1, wish(4));
    story.arrive(2, wish(4));
    assert_eq!(story.depart(1), ["target 2 epoch 1: 4 on 0-3"]);
}

#[test]
fn more_programs_than_processors_share_evenly_and_spread_again() {
    let mut story = Story::new("core:2 pu:1", "");
    story.arrive(1, wish(2));
    story.arrive(2, wish(2));
    story.settle();
    assert_eq!(
        story.arrive(3, wish(2)),
        ["start 3", "target 1 epoch 3: 1 on 0 shared", "target 3 epoch 1: 1 on 0 shared"]
    );
    assert_eq!(
        story.arrive(4, wish(2)),
        ["start 4", "target 2 epoch 2: 1 on 1 shared", "target 4 epoch 1: 1 on 1 shared"]
    );
    assert_eq!(story.depart(1), ["target 3 epoch 2: 1 on 0"], "the guest is the owner now");
    assert_eq!(
        story.depart(3),
        ["target 2 epoch 3: 1 on 1", "target 4 epoch 2: 1 on 0"],
        "with room nobody is a guest"
    );
}

#[test]
fn guests_are_balanced_by_weight() {
    let mut story = Story::new("core:2 pu:1", "");
    story.arrive(1, Wish { weight_milli: 3000, ..wish(2) });
    story.arrive(2, wish(2));
    for app in 3..=4 {
        story.arrive(app, wish(2));
    }
    let guests: Vec<_> = story.engine.snapshot().pus.iter().map(|pu| pu.guests.len()).collect();
    assert_eq!(guests, [0, 2], "the heavy one is alone");

    let mut story = Story::new("core:2 pu:1", "");
    story.arrive(1, wish(2));
    story.arrive(2, wish(2));
    story.settle();
    story.arrive(3, Wish { weight_milli: 3000, ..wish(2) });
    story.settle();
    assert_eq!([1, 2, 3].map(|app| story.pus(app)), ["0", "0", "1"], "also if it comes late");
}

#[test]
fn sequential_phases_lend_what_others_want_and_get_it_back() {
    let mut story = Story::new("core:4 pu:1", "");
    story.arrive(1, wish(4));
    assert_eq!(story.tell(&Event::Sequential { app: AppId(1) }), Vec::<String>::new(), "nobody wants it");
    story.tell(&Event::Parallel { app: AppId(1) });
    story.arrive(2, wish(4));
    story.settle();
    story.now += 1;
    assert_eq!(story.tell(&Event::Sequential { app: AppId(1) }), ["target 1 epoch 3: 1 on 0 lent"]);
    assert_eq!(story.adopted(1, 3), ["target 2 epoch 2: 3 on 1-3"]);
    let back = story.tell(&Event::Parallel { app: AppId(1) });
    assert_eq!(back, ["target 2 epoch 3: 2 on 2-3", "target 1 epoch 4: 1 on 0"]);
    story.settle();
    assert_eq!((story.pus(1), story.pus(2)), ("0-1".into(), "2-3".into()));
}

#[test]
fn a_blocked_application_lends_its_last_processor_too() {
    let mut story = Story::new("core:2 pu:1", "");
    story.arrive(1, wish(2));
    story.arrive(2, wish(2));
    story.settle();
    story.now += 1;
    assert_eq!(story.tell(&Event::Blocked { app: AppId(1) }), ["target 1 epoch 3: 1 on 0 shared lent"]);
    assert_eq!(story.adopted(1, 3), ["target 2 epoch 2: 2 on 0-1"]);
    let back = story.tell(&Event::Parallel { app: AppId(1) });
    // What it runs on is its own again as soon as the other has left.
    assert_eq!(back, ["target 2 epoch 3: 1 on 1", "target 1 epoch 4: 1 on 0 shared"]);
    story.settle();
    assert_eq!((story.pus(1), story.pus(2)), ("0".into(), "1".into()));
    let nobody_shares = story.engine.snapshot().apps.iter().all(|app| !app.shared && !app.lent);
    assert!(nobody_shares);
}

#[test]
fn a_wrapper_holds_nothing() {
    let mut story = Story::new("core:4 pu:1", "");
    story.arrive(1, wish(4));
    assert_eq!(story.request(1, 0), ["target 1 epoch 2: 4 on 0-3 shared"]);
    assert_eq!(story.arrive(2, wish(4)), ["start 2", "target 2 epoch 1: 4 on 0-3"]);
    assert_eq!(story.engine.snapshot().apps[0].state, AppState::Wrapper);
    story.depart(2);
    assert_eq!(story.request(1, 2), ["target 1 epoch 3: 2 on 0-1"]);
}

#[test]
fn the_queue_is_visible_and_in_order() {
    let mut story = Story::new("core:2 pu:1", "fifo");
    story.arrive(1, wish(2));
    story.arrive(2, wish(2));
    story.settle();
    assert_eq!(story.arrive(3, wish(2)), ["wait 3 at 1"]);
    assert_eq!(story.arrive(4, wish(2)), ["wait 4 at 2"]);
    assert_eq!(story.arrive(5, Wish { wait: Some(false), ..wish(2) })[0], "start 5");
    assert_eq!(story.engine.snapshot().queue, [AppId(3), AppId(4)]);
    story.depart(5);
    assert_eq!(story.depart(1), ["start 3", "wait 4 at 1", "target 3 epoch 1: 1 on 0"]);
    assert_eq!(story.depart(4), Vec::<String>::new());
}

#[test]
fn a_wish_to_wait_is_kept_under_share() {
    let mut story = Story::new("core:1 pu:1", "");
    story.arrive(1, wish(1));
    assert_eq!(story.arrive(2, Wish { wait: Some(true), ..wish(1) }), ["wait 2 at 1"]);
    assert_eq!(story.arrive(3, wish(1))[0], "start 3");
    story.depart(3);
    assert_eq!(story.depart(1), ["start 2", "target 2 epoch 1: 1 on 0"]);
}

#[test]
fn unmanaged_load_takes_at_once_and_gives_back_when_it_has_lasted() {
    let mut story = Story::new("core:4 pu:1", "");
    story.arrive(1, wish(4));
    assert_eq!(story.tell(&Event::Unmanaged { processors: 1 }), ["target 1 epoch 2: 3 on 0-2"]);
    story.settle();
    let state = |story: &Story| story.engine.snapshot().pus[3].state_name();
    assert_eq!(state(&story), "unmanaged");
    assert_eq!(story.tell(&Event::Unmanaged { processors: 0 }), Vec::<String>::new());
    assert_eq!(story.wait(Settings::default().cooldown_ns), ["target 1 epoch 3: 4 on 0-3"]);
    story.tell(&Event::Unmanaged { processors: 99 });
    story.settle();
    assert_eq!(story.pus(1), "0", "one always remains");
}

#[test]
fn processors_come_and_go() {
    let mut story = Story::new("core:2 pu:1", "");
    story.arrive(1, wish(2));
    assert_eq!(story.tell(&Event::Offline { pu: PuId(0) }), ["target 1 epoch 2: 1 on 1"]);
    assert!(story.tell(&Event::Offline { pu: PuId(1) })[0].starts_with("refuse"));
    assert_eq!(story.tell(&Event::Online { pu: PuId(0) }), ["target 1 epoch 3: 2 on 0-1"]);
}

#[test]
fn claims_are_kept_while_others_may_still_come() {
    let mut story = Story::new("core:8 pu:1", "");
    assert_eq!(story.arrive(4, Wish { claim: Some(set("4-7")), ..wish(8) }), ["start 4", "target 4 epoch 1: 4 on 4-7"]);
    assert_eq!(story.arrive(7, Wish { claim: Some(set("2-5")), ..wish(8) }), ["start 7", "target 7 epoch 1: 2 on 2-3"]);
    assert_eq!(story.arrive(9, wish(8)), ["start 9", "target 9 epoch 1: 2 on 0-1"], "nothing is taken from a claimant");
    assert_eq!(story.engine.deadline(), Some(1000 + Settings::default().recovery_ns));
    story.wait(Settings::default().recovery_ns);
    story.settle();
    assert_eq!([4, 7, 9].map(|app| story.pus(app)), ["4-6", "2-3,7", "0-1"], "three, three, two");
}

#[test]
fn wishes_that_cannot_be_are_refused() {
    let mut story = Story::new("core:2 pu:1", "");
    assert!(story.arrive(1, Wish { min: 3, max: 3, ..wish(2) })[0].contains("only 2"));
    assert!(story.arrive(1, Wish { min: 2, max: 1, ..wish(2) })[0].contains("contradict"));
    story.arrive(5, wish(2));
    assert!(story.arrive(5, wish(2))[0].contains("already"));
    assert!(story.tell(&Event::Policy { policy: "nonsense".into() })[0].contains("there are"));
    assert_eq!(story.engine.snapshot().apps.len(), 1);
}

#[test]
fn a_new_policy_moves_no_more_than_it_must() {
    let mut story = Story::new("numa:2 core:4 pu:1", "");
    story.arrive(1, wish(8));
    story.arrive(2, wish(4));
    story.settle();
    assert_eq!(
        story.tell(&Event::Policy { policy: "placement=worst-fit admission=fifo".into() }),
        Vec::<String>::new()
    );
    assert_eq!(story.tell(&Event::Policy { policy: "dss".into() }), ["target 2 epoch 2: 3 on 4-6"]);
    assert_eq!(story.adopted(2, 2), ["target 1 epoch 3: 5 on 0-3,7"]);
}

#[test]
fn rounding_alone_moves_nothing() {
    let mut story = Story::new("core:7 pu:1", "share=dss");
    for (app, request) in [(1, 7), (2, 7), (3, 6)] {
        story.arrive(app, wish(request));
        story.settle();
    }
    let before = [1, 2].map(|app| story.pus(app));
    story.arrive(4, wish(1));
    story.depart(4);
    story.settle();
    assert_eq!([1, 2].map(|app| story.pus(app)), before);
}

#[test]
fn no_processor_left_is_an_error() {
    let machine = || synthetic::parse("core:2 pu:1").unwrap();
    let settings = Settings { reserved: set("0-1"), ..Settings::default() };
    assert!(Engine::new(machine(), settings, 1).unwrap_err().reason.contains("2 are reserved"));
    let settings = Settings { host: numaestro_engine::Needs::NONE, ..Settings::default() };
    assert!(Engine::new(machine(), settings, 1).unwrap_err().reason.contains("requests"));
}

#[test]
fn time_goes_on_where_the_clock_goes_back() {
    let mut story = Story::new("core:4 pu:1", "equi");
    story.now = 20_000_000_000_000;
    story.arrive(1, wish(4));
    story.settle();
    // Five hours back: whoever does not answer is still forced when its grace time is over.
    story.now = 2_000_000_000_000;
    story.arrive(2, wish(4));
    let deadline = story.engine.deadline().unwrap();
    assert_eq!(deadline, story.now + Settings::default().grace_ns);
    assert_eq!(story.wait(Settings::default().grace_ns), ["force 1 epoch 2 on 0-1"]);
}

#[test]
fn counts_of_threads_without_sense_are_harmless() {
    for policy in ["linux24", "sgi-mp"] {
        let mut story = Story::new("core:4 pu:1", policy);
        story.arrive(1, wish(u32::MAX));
        story.arrive(2, wish(u32::MAX));
        assert!(story.request(1, u32::MAX - 1).len() <= 2, "{policy}");
        assert_eq!(story.pus(1), "0-3", "{policy}");
    }
}

#[test]
fn a_minimum_that_the_policy_never_gives_holds_nobody_up_for_ever() {
    let mut story = Story::new("numa:2 core:4 pu:1", "share=batch placement=limited admission=easy");
    // Inside one node of four there are never six.
    let told = story.arrive(1, Wish { min: 6, ..wish(8) });
    assert!(told.contains(&"start 1".to_owned()), "{told:?}");
    story.arrive(2, wish(2));
    story.settle();
    assert!(story.depart(1).contains(&"start 2".to_owned()) || !story.pus(2).is_empty());
}

#[test]
fn homes_that_another_policy_let_be_shared_are_no_homes() {
    let mut story = Story::new("numa:2 core:4 pu:1", "share=equi placement=limited admission=share");
    let homes = |story: &Story| -> Vec<_> { story.engine.view().apps.iter().map(|app| app.home).collect() };
    for app in 1..=3 {
        story.arrive(app, wish(2));
        story.settle();
    }
    let before = homes(&story);
    assert!(before.iter().all(Option::is_some) && before.len() == 3, "three at home in two nodes: {before:?}");
    story.tell(&Event::Policy { policy: "share=equi placement=home admission=share".into() });
    // Who has to leave somebody else's home is not given it again, or this would never end.
    story.settle();
    let after = homes(&story);
    assert!(after.iter().flatten().count() == 2, "one has none: {after:?}");
    assert!(after[0] != after[1] && after[1] != after[2] && after[0] != after[2], "{after:?}");
}
