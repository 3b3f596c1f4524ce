//! Users, or groups of them, share the machine before their programs do: by weight, within limits,
//! and nobody takes what is kept for others.

use numaestro_engine::{Action, AppId, AppState, Engine, Event, Settings, Wish};
use numaestro_policy::Party;
use numaestro_topology::synthetic;
use proptest::prelude::*;

const ANY: Party = Party { weight_milli: 1000, most: u32::MAX, reserved: 0 };

fn weighs(weight_milli: u32) -> Party {
    Party { weight_milli, ..ANY }
}

struct World {
    engine: Engine,
    actions: Vec<Action>,
    now: u64,
    newest: u64,
}

impl World {
    fn new(pus: u32, policy: &str, parties: &[Party]) -> Self {
        let machine = synthetic::parse(&format!("core:{pus} pu:1")).unwrap();
        let settings = Settings { policy: policy.into(), parties: parties.to_vec(), ..Settings::default() };
        Self { engine: Engine::new(machine, settings, 1).unwrap(), actions: Vec::new(), now: 0, newest: 0 }
    }

    /// One event; everybody does at once what it is told.
    fn step(&mut self, event: &Event) {
        self.now += 1_000_000;
        self.engine.step(self.now, event, &mut self.actions);
        loop {
            let late = self.engine.snapshot().apps.into_iter().find(|app| app.adopted < app.epoch);
            let Some(app) = late else { return };
            let adopted = Event::Adopted { app: app.app, epoch: app.epoch };
            self.engine.step(self.now, &adopted, &mut self.actions);
        }
    }

    fn arrives(&mut self, party: u32, wish: Wish) -> AppId {
        self.newest += 1;
        let app = AppId(self.newest);
        self.step(&Event::Arrive { app, wish: Wish { party, ..wish } });
        app
    }

    /// Processors of its own of everybody, in order of arrival.
    fn counts(&self) -> Vec<u32> {
        let snapshot = self.engine.snapshot();
        let own = |app| snapshot.pus.iter().filter(|pu| pu.owner == Some(app)).count() as u32;
        snapshot.apps.iter().map(|app| own(app.app)).collect()
    }
}

#[test]
fn three_users_by_weight() {
    let mut world = World::new(8, "equi", &[weighs(1000), weighs(2000), weighs(1000)]);
    for party in 0..3 {
        world.arrives(party, Wish::new(8));
    }
    assert_eq!(world.counts(), [2, 4, 2]);
    // However many programs they run, and whatever weights they give them.
    world.arrives(0, Wish { weight_milli: 1_000_000, ..Wish::new(8) });
    let counts = world.counts();
    assert_eq!((counts[0] + counts[3], counts[1], counts[2]), (2, 4, 2));
    for _ in 0..20 {
        world.arrives(2, Wish::new(8));
    }
    let counts = world.counts();
    assert_eq!((counts[0] + counts[3], counts[1], counts[2] + counts[4..].iter().sum::<u32>()), (2, 4, 2));
    // The guests among them are on processors of their own user.
    let snapshot = world.engine.snapshot();
    let theirs = |app: AppId| app.0 == 3 || app.0 > 4;
    for pu in &snapshot.pus {
        assert!(pu.guests.iter().all(|&guest| theirs(guest)) && (pu.guests.is_empty() || theirs(pu.owner.unwrap())));
    }
}

#[test]
fn what_one_user_does_not_use_the_others_have() {
    let mut world = World::new(8, "equi", &[weighs(1000), weighs(3000)]);
    world.arrives(0, Wish::new(8));
    assert_eq!(world.counts(), [8]);
    let modest = world.arrives(1, Wish::new(2));
    assert_eq!(world.counts(), [6, 2]);
    world.step(&Event::Request { app: modest, processors: 8 });
    assert_eq!(world.counts(), [2, 6]);
}

#[test]
fn nobody_has_more_than_its_most_and_nobody_takes_what_is_reserved() {
    let limited = Party { most: 3, ..ANY };
    let keeps = Party { reserved: 2, ..ANY };
    let mut world = World::new(8, "equi", &[limited, keeps, ANY]);
    world.arrives(0, Wish::new(8));
    assert_eq!(world.counts(), [3]);
    world.arrives(2, Wish::new(8));
    assert_eq!(world.counts(), [3, 3]);
    world.arrives(1, Wish::new(1));
    assert_eq!(world.counts(), [3, 3, 1]);
}

#[test]
fn a_minimum_counts_within_the_part_only() {
    let mut world = World::new(8, "equi", &[weighs(1000), weighs(3000)]);
    world.arrives(0, Wish { min: 6, ..Wish::new(8) });
    world.arrives(1, Wish::new(8));
    assert_eq!(world.counts(), [2, 6]);
    // It comes into force again.
    world.step(&Event::Depart { app: AppId(2) });
    world.arrives(0, Wish { min: 3, ..Wish::new(8) });
    assert_eq!(world.counts(), [8, 0]);
    let limited = Party { most: 3, ..ANY };
    let mut world = World::new(8, "equi", &[limited, ANY]);
    world.actions.clear();
    world.arrives(0, Wish { min: 4, ..Wish::new(8) });
    assert!(matches!(&world.actions[..], [Action::Refuse { reason, .. }] if reason.contains("3 at most")));
}

#[test]
fn a_newcomer_of_a_full_party_shares_or_waits() {
    let one = Party { most: 1, ..ANY };
    let mut world = World::new(4, "equi", &[one, ANY]);
    world.arrives(0, Wish::new(4));
    world.arrives(0, Wish::new(4));
    assert_eq!(world.counts(), [1, 0]);
    assert_eq!(world.engine.snapshot().apps[1].state, AppState::Running);
    let mut world = World::new(4, "share=equi admission=fifo", &[one, ANY]);
    world.arrives(0, Wish::new(4));
    world.arrives(0, Wish::new(4));
    assert_eq!(world.counts(), [1, 0]);
    assert_eq!(world.engine.snapshot().apps[1].state, AppState::Waiting);
}

#[test]
fn other_parties_take_effect_at_once_and_keep_what_is_allowed() {
    let mut world = World::new(8, "equi", &[ANY, ANY]);
    world.arrives(0, Wish::new(8));
    world.arrives(1, Wish::new(8));
    assert_eq!(world.counts(), [4, 4]);
    let first = world.engine.snapshot().apps[0].pus.clone();
    world.step(&Event::Parties { parties: vec![weighs(3000), weighs(1000)] });
    assert_eq!(world.counts(), [6, 2]);
    assert!(first.is_subset(&world.engine.snapshot().apps[0].pus), "nothing was taken without need");
    world.step(&Event::Parties { parties: vec![Party { most: 1, ..ANY }, weighs(1000)] });
    assert_eq!(world.counts(), [1, 7]);
    world.step(&Event::Parties { parties: Vec::new() });
    assert_eq!(world.counts(), [4, 4]);
}

#[test]
fn what_a_share_part_leaves_unused_others_have() {
    // The batch job fits into its user's part or not at all; equipartition would leave some over.
    for policy in ["share=equip", "share=batch admission=fcfs", "share=equi(by=max)", "share=demand"] {
        let mut world = World::new(8, policy, &[ANY, ANY]);
        world.arrives(0, Wish::new(1));
        world.arrives(1, Wish::new(8));
        let counts = world.counts();
        assert!(counts[0] == 1 && counts.iter().sum::<u32>() <= 8, "{policy}: {counts:?}");
    }
}

#[test]
fn alone_nobody_is_bounded() {
    let mut with = World::new(8, "dss", &[weighs(700)]);
    let mut without = World::new(8, "dss", &[]);
    for request in [3, 8, 5, 1, 8] {
        with.arrives(0, Wish::new(request));
        without.arrives(0, Wish::new(request));
        assert_eq!(with.actions, without.actions);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    /// Users that all want the whole machine have within one processor of what their weights say,
    /// however many programs they run.
    #[test]
    fn within_one_processor_of_the_ideal(
        pus in 1u32..64,
        users in proptest::collection::vec((100u32..4000, 1usize..4), 1..8),
        policy in 0usize..3,
    ) {
        let parties: Vec<Party> = users.iter().map(|&(weight, _)| weighs(weight)).collect();
        let mut world = World::new(pus, ["equi", "dss", "share=dynamic"][policy], &parties);
        let mut party_of = Vec::new();
        for (party, &(_, programs)) in users.iter().enumerate() {
            for _ in 0..programs {
                world.arrives(party as u32, Wish::new(pus));
                party_of.push(party);
            }
        }
        let counts = world.counts();
        let total: u32 = users.iter().map(|&(weight, _)| weight).sum();
        prop_assert_eq!(counts.iter().sum::<u32>(), pus);
        if users.len() > 1 {
            for (party, &(weight, _)) in users.iter().enumerate() {
                let has: u32 = counts.iter().zip(&party_of).filter(|(_, of)| **of == party).map(|(count, _)| *count).sum();
                let ideal = f64::from(pus) * f64::from(weight) / f64::from(total);
                prop_assert!((f64::from(has) - ideal).abs() < 1.0, "{has} of {ideal}: {counts:?}");
            }
        }
    }
}
