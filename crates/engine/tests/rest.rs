//! Decisions come to rest: whatever policies have left behind for each other, when everybody has
//! done what it was told, a decision about the same situation changes nothing, at the latest after
//! a few of them.

mod story;

use numaestro_engine::{AppId, Class, Event, Needs, Settings, Wish};
use numaestro_policy::{Random, catalogue};
use numaestro_topology::{PuId, PuSet};
use story::{Story, wish};

const MACHINES: [&str; 4] = ["numa:4 core:3 pu:1", "numa:2 core:4 pu:1", "pack:3 core:5 pu:1", "numa:3 core:2 pu:2"];
/// Targets that one application may be given until all is at rest, for each application there is:
/// what one leaves may let the next one move.
const TARGETS_EACH: u32 = 4;

/// Decisions until the next one changes nothing: a policy that is switched to itself has forgotten
/// what it knew.
const DECISIONS_TO_REST: u32 = 4;
/// The same for placements that give only free processors: the engine wants to be called at once
/// where a decision has freed some.
const DECISIONS_OF_SELECTIVE_TO_REST: u32 = 2;

/// Every way to share with every way to place.
fn policies() -> Vec<String> {
    let names = |part: &'static str| -> Vec<&str> {
        catalogue().iter().filter(|entry| entry.part == part).map(|entry| entry.info.name).collect()
    };
    let mut shares = names("share");
    shares.extend(["demand(idle=slide)", "demand(idle=home)", "demand(idle=keep)", "demand(idle=lazy)"]);
    let placements = names("placement");
    let each = |share: &&str| -> Vec<String> {
        placements.iter().map(|placement| format!("share={share} placement={placement} admission=share")).collect()
    };
    shares.iter().flat_map(each).collect()
}

/// What programs and the machine may say.
fn something(random: &mut Random, newest: &mut u64, pus: u32) -> Event {
    let app = AppId(1 + u64::from(random.below(*newest as u32 + 1)));
    match random.below(9) {
        0..3 => {
            *newest += 1;
            let class = if random.below(2) == 0 { Class::Fold } else { Class::Malleable };
            let wish = Wish { wait: Some(false), class, ..wish(1 + random.below(2 * pus)) };
            Event::Arrive { app: AppId(*newest), wish }
        }
        3 => Event::Depart { app },
        4 | 5 => {
            let idle: PuSet = (0..pus).map(PuId).filter(|_| random.below(4) == 0).collect();
            Event::Demand { app, processors: 1 + random.below(pus), idle }
        }
        6 => Event::Blocked { app },
        7 => Event::Sequential { app },
        _ => Event::Parallel { app },
    }
}

/// Everybody does what it is told, as long as anything is told.
fn settle(story: &mut Story, before: &str) {
    let apps = story.engine.snapshot().apps;
    let bound = 10 + TARGETS_EACH * (apps.len() * apps.len()) as u32;
    for _ in 0..bound {
        if story.is_due() {
            story.wait(0);
        }
        let late = story.engine.snapshot().apps.into_iter().find(|app| app.adopted < app.epoch);
        let Some(app) = late else { return };
        story.adopted(app.app.0, app.epoch);
    }
    panic!("{before}, then {}: {} programs do not settle", story.engine.policy(), apps.len());
}

/// Decides again and again, with nothing said in between.
fn rest(story: &mut Story, policy: &str, context: &str) {
    let mut told = Vec::new();
    let selects = ["placement=home", "placement=limited"].iter().any(|placement| policy.contains(placement));
    for _ in 0..if selects { DECISIONS_OF_SELECTIVE_TO_REST } else { DECISIONS_TO_REST } {
        told = story.tell(&Event::Policy { policy: policy.to_owned() });
        if told.is_empty() {
            return;
        }
        settle(story, policy);
    }
    panic!("{context}: {told:?}");
}

#[test]
fn decisions_about_the_same_situation_come_to_change_nothing() {
    let (policies, mut random, mut switches) = (policies(), Random::new(11), 0);
    for round in 0..3000 {
        let machine = MACHINES[round % MACHINES.len()];
        let host = Needs { requests: true, preemption: true, page_control: true, ..Needs::NONE };
        let mut story = Story::with(machine, Settings { host, ..Settings::default() });
        let (mut newest, pus) = (0, story.engine.machine().pu_count() as u32);
        let mut before = String::new();
        for _ in 0..3 {
            let policy = policies[random.below(policies.len() as u32) as usize].clone();
            story.tell(&Event::Policy { policy });
            for _ in 0..random.below(12) {
                story.now += 1;
                let event = something(&mut random, &mut newest, pus);
                story.tell(&event);
            }
            settle(&mut story, &before);
            before = story.engine.policy().to_string();
            rest(&mut story, &before, &format!("{before} on {machine}, round {round}"));
            switches += 1;
        }
    }
    assert!(switches == 9000 && policies.len() > 50, "{} policies", policies.len());
}
