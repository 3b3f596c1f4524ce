//! Pages go where they should, and none is lost or made.

use numaestro_policy::PageHome;
use numaestro_sim::machine::{self, Model};
use numaestro_sim::memory::{AppMemory, Contention, Memory, Toucher};
use numaestro_sim::program::{Data, PagePlace, Split};
use numaestro_sim::read::{NoFiles, Text};
use numaestro_topology::{NumaNodeId, PuId};
use proptest::prelude::*;
use std::sync::Arc;

/// Eight nodes of two PUs in two packages; 10 pages each.
fn model() -> Arc<Model> {
    let text = "name = \"small\"\nabout = \"-\"\ntopology = \"pack:2 numa:4 core:2 pu:1\"\ncycle = \"1 ns\"\n\
                [memory]\npage_bytes = 4096\nnode_pages = 10\n[access]\nhit = 1\n\
                [[access.class]]\nname = \"local\"\nwithin = \"node\"\nline = 10\n\
                [[access.class]]\nname = \"package\"\nwithin = \"package\"\nline = 20\n\
                [[access.class]]\nname = \"far\"\nwithin = \"machine\"\nline = 50\n";
    Arc::new(machine::read(Text::new("small.toml", text), &NoFiles).unwrap())
}

fn one(pages: u64, split: Split, place: PagePlace) -> [Data; 1] {
    [Data { name: "it".to_owned(), pages, split, place }]
}

fn by(pu: u32, home: PageHome, own_nodes: &[NumaNodeId]) -> Toucher<'_> {
    Toucher { pu: PuId(pu), master: NumaNodeId(5), home, own_nodes }
}

fn spread(memory: &Memory, app: AppMemory) -> Vec<(u32, u64)> {
    memory.pages_of(app, 0).into_iter().map(|(node, pages)| (node.0, pages)).collect()
}

#[test]
fn the_first_touch_places_and_the_second_does_not() {
    let mut memory = Memory::new(model(), Contention::None);
    let app = memory.enter(&one(4, Split::Whole, PagePlace::FirstTouch));
    assert_eq!(memory.touch(app, 0, 3, &by(6, PageHome::Node(NumaNodeId(0)), &[])), 4);
    assert_eq!(memory.touch(app, 0, 1, &by(0, PageHome::FirstTouch, &[])), 0, "whole data has one part");
    assert_eq!(spread(&memory, app), [(3, 4)]);
    memory.leave(app);
    assert_eq!(memory.pages_on(NumaNodeId(3)), 0);
}

#[test]
fn places_and_homes() {
    let own = [NumaNodeId(2), NumaNodeId(6)];
    let check = |place, home, expected: &[(u32, u64)]| {
        let mut memory = Memory::new(model(), Contention::None);
        let app = memory.enter(&one(5, Split::Whole, place));
        memory.touch(app, 0, 0, &by(0, home, &own));
        assert_eq!(spread(&memory, app), expected, "{place:?} {home:?}");
        memory.check().unwrap();
    };
    let home = PageHome::Node(NumaNodeId(7));
    check(PagePlace::FirstTouch, home, &[(0, 5)]);
    check(PagePlace::Master, home, &[(5, 5)]);
    check(PagePlace::Node(1), home, &[(1, 5)]);
    check(PagePlace::RoundRobin, home, &[(0, 1), (1, 1), (2, 1), (3, 1), (4, 1)]);
    check(PagePlace::Policy, home, &[(7, 5)]);
    check(PagePlace::Policy, PageHome::FirstTouch, &[(0, 5)]);
    check(PagePlace::Policy, PageHome::Interleave, &[(2, 3), (6, 2)]);
}

#[test]
fn round_robin_goes_on_where_it_was() {
    let mut memory = Memory::new(model(), Contention::None);
    let app = memory.enter(&one(3, Split::PerThread, PagePlace::RoundRobin));
    for part in 0..8 {
        assert_eq!(memory.touch(app, 0, part, &by(0, PageHome::FirstTouch, &[])), 3);
    }
    assert!(spread(&memory, app).iter().all(|&(_, pages)| pages == 3), "24 pages over 8 nodes");
}

#[test]
fn what_does_not_fit_goes_to_the_next_nearest() {
    let mut memory = Memory::new(model(), Contention::None);
    let app = memory.enter(&one(45, Split::Whole, PagePlace::FirstTouch));
    // Node 5: its package first (4, 6, 7), then the other.
    memory.touch(app, 0, 0, &by(10, PageHome::FirstTouch, &[]));
    assert_eq!(spread(&memory, app), [(5, 10), (4, 10), (6, 10), (7, 10), (0, 5)]);
    memory.check().unwrap();
    // A machine that is full holds more than it can, where it was wanted.
    let other = memory.enter(&one(100, Split::Whole, PagePlace::Node(2)));
    assert_eq!(memory.touch(other, 0, 0, &by(0, PageHome::FirstTouch, &[])), 100);
    let total: u64 = (0..8).map(|node| memory.pages_on(NumaNodeId(node))).sum();
    assert_eq!(total, 145);
    memory.check().unwrap();
    memory.leave(app);
    memory.leave(other);
    assert_eq!((0..8).map(|node| memory.pages_on(NumaNodeId(node))).sum::<u64>(), 0);
}

/// Threads that stay where they touched first have all their pages at home; after they have moved
/// away, none.
#[test]
fn first_touch_without_migration_is_home() {
    let model = machine::named("k64", 0).unwrap();
    let mut memory = Memory::new(Arc::new(model), Contention::None);
    let app = memory.enter(&one(7, Split::PerThread, PagePlace::FirstTouch));
    for thread in 0..4 {
        memory.touch(app, 0, thread, &by(8 + thread, PageHome::FirstTouch, &[]));
    }
    assert_eq!(spread(&memory, app), [(2, 28)]);
}

#[derive(Debug, Clone)]
enum Step {
    Enter(u64, bool, u8),
    Touch(usize, u32, u32, u8),
    Leave(usize),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        (0u64..40, any::<bool>(), 0u8..5).prop_map(|(pages, whole, place)| Step::Enter(pages, whole, place)),
        (any::<usize>(), 0u32..6, 0u32..16, 0u8..3).prop_map(|(app, part, pu, home)| Step::Touch(app, part, pu, home)),
        (any::<usize>(), 0u32..6, 0u32..16, 0u8..3).prop_map(|(app, part, pu, home)| Step::Touch(app, part, pu, home)),
        any::<usize>().prop_map(Step::Leave),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn pages_are_conserved(steps in prop::collection::vec(step(), 0..60)) {
        let mut memory = Memory::new(model(), Contention::None);
        let mut live: Vec<(AppMemory, u64)> = Vec::new();
        for step in steps {
            match step {
                Step::Enter(pages, whole, place) => {
                    let split = if whole { Split::Whole } else { Split::PerThread };
                    let places =
                        [PagePlace::Policy, PagePlace::FirstTouch, PagePlace::RoundRobin, PagePlace::Master, PagePlace::Node(6)];
                    live.push((memory.enter(&one(pages, split, places[usize::from(place)])), 0));
                }
                Step::Touch(app, part, pu, home) if !live.is_empty() => {
                    let homes = [PageHome::FirstTouch, PageHome::Node(NumaNodeId(4)), PageHome::Interleave];
                    let own = [NumaNodeId(1), NumaNodeId(3), NumaNodeId(4)];
                    let at = app % live.len();
                    let (app, has) = &mut live[at];
                    *has += memory.touch(*app, 0, part, &by(pu, homes[usize::from(home)], &own));
                }
                Step::Leave(app) if !live.is_empty() => {
                    let at = app % live.len();
                    memory.leave(live.swap_remove(at).0);
                }
                Step::Touch(..) | Step::Leave(_) => {}
            }
            prop_assert_eq!(memory.check(), Ok(()));
            let here: u64 = (0..8).map(|node| memory.pages_on(NumaNodeId(node))).sum();
            prop_assert_eq!(here, live.iter().map(|&(_, has)| has).sum::<u64>());
            for &(app, has) in &live {
                prop_assert_eq!(spread(&memory, app).iter().map(|&(_, pages)| pages).sum::<u64>(), has);
            }
        }
    }
}
