//! Advice as stories: what would one more application have? That it is kept whatever the policy is
//! shown in `properties`.

#[path = "story/mod.rs"]
mod story;

use numaestro_engine::{Advice, Event, Rejected, Settings, Wish};
use numaestro_policy::Needs;
use story::{Story, set, wish};

fn advise(story: &Story, wish: &Wish) -> Advice {
    try_advise(story, wish).unwrap()
}

fn try_advise(story: &Story, wish: &Wish) -> Result<Advice, Rejected> {
    story.engine.advise(story.now, wish, &[])
}

#[test]
fn the_final_picture_once_others_have_made_room() {
    let mut story = Story::new("core:8 pu:1", "equi");
    let alone = advise(&story, &wish(8));
    assert_eq!((alone.count, alone.threads, alone.free.len()), (8, 8, 8));
    story.arrive(1, wish(8));
    story.settle();
    let second = advise(&story, &wish(8));
    assert_eq!((second.count, second.free.len(), second.shared), (4, 0, false), "half, none of it free yet");
    assert_eq!(second.why, "4 of 8 processors among 2 applications by share=equi");
    let small = advise(&story, &wish(2));
    assert_eq!((small.count, small.why.as_str()), (2, "all it asked for: 2 of 8 processors among 2 applications"));
    // Nothing has happened.
    assert_eq!(story.pus(1), "0-7");
    story.arrive(2, wish(8));
    story.settle();
    assert_eq!(set(&story.pus(2)), second.pus);
}

#[test]
fn what_waits_is_told_its_place_and_what_cannot_be_is_refused() {
    let mut story = Story::new("core:4 pu:1", "batch");
    story.arrive(1, wish(3));
    let first = advise(&story, &wish(2));
    assert_eq!((first.count, first.position, first.pus.is_empty()), (0, Some(1), true));
    assert!(first.memory_nodes.is_empty() && first.why.contains("number 1"), "{first:?}");
    story.arrive(2, wish(2));
    assert_eq!(advise(&story, &wish(2)).position, Some(2));
    assert_eq!(advise(&story, &Wish { wait: Some(false), ..wish(2) }).position, None);
    let refused = try_advise(&story, &Wish { min: 5, ..wish(5) }).unwrap_err();
    assert_eq!(refused.reason, "at least 5 processors are wanted, but only 4 can be given");
}

#[test]
fn more_applications_than_processors_share() {
    let mut story = Story::new("core:2 pu:1", "equi");
    story.arrive(1, wish(2));
    story.arrive(2, wish(2));
    story.settle();
    let guest = advise(&story, &wish(2));
    assert_eq!((guest.count, guest.threads, guest.shared, guest.position), (0, 1, true, None));
    assert_eq!(guest.pus.len(), 1);
    let everywhere = advise(&Story::new("core:2 pu:1", "linux24"), &wish(5));
    assert_eq!((everywhere.count, everywhere.threads, everywhere.pus.len()), (0, 5, 2), "threads as it likes");
}

#[test]
fn the_first_turn_is_looked_ahead_for() {
    let mut story = Story::new("core:4 pu:1", "round-robin");
    story.arrive(1, wish(4));
    story.settle();
    let advice = advise(&story, &wish(3));
    assert_eq!((advice.count, advice.position), (3, None));
    assert!(advice.turn_in > 0 && advice.why.contains("its first turn is in "), "{advice:?}");
}

#[test]
fn load_that_is_not_managed_is_left_alone() {
    let mut story = Story::new("core:4 pu:1", "equi");
    story.tell(&Event::Unmanaged { processors: 3 });
    let advice = advise(&story, &wish(4));
    assert_eq!((advice.pus.clone(), advice.free.clone()), (set("0"), set("0")));
}

#[test]
fn memory_is_where_it_runs_then_on_the_nearest_nodes_with_room() {
    let machine = numaestro_topology::synthetic::parse("numa:4 core:2 pu:1").unwrap();
    let distances = vec![10, 30, 20, 20, 30, 10, 20, 20, 20, 20, 10, 30, 20, 20, 30, 10];
    let machine = machine.with_node_distances(distances).unwrap();
    let engine = numaestro_engine::Engine::new(machine, Settings::default(), 1).unwrap();
    let memory = |bytes: u64, free: &[u64]| {
        let advice = engine.advise(1, &Wish { memory: bytes, ..wish(2) }, free).unwrap();
        assert_eq!(advice.pus, set("0-1"));
        let nodes: Vec<u32> = advice.memory_nodes.iter().map(|node| node.0).collect();
        (nodes, advice.memory_free)
    };
    assert_eq!(memory(1 << 40, &[]), (vec![0], None), "nothing is known");
    assert_eq!(memory(0, &[5, 5, 5, 5]), (vec![0], Some(5)), "nothing is needed");
    assert_eq!(memory(5, &[5, 5, 5, 5]), (vec![0], Some(5)));
    // Nodes 2 and 3 are equally near: the one with more room. Node 1 is the farthest.
    assert_eq!(memory(6, &[5, 9, 1, 3]), (vec![0, 3], Some(8)));
    assert_eq!(memory(9, &[5, 9, 1, 3]), (vec![0, 3, 2], Some(9)));
    assert_eq!(memory(99, &[5, 9, 0, 3]), (vec![0, 3, 1], Some(17)), "all that have any");
    let short = engine.advise(1, &Wish { memory: 9 << 30, ..wish(2) }, &[1 << 30, 0, 0, 0]).unwrap();
    assert!(short.why.ends_with("; all nodes together have 1024 MiB of memory left, not 9216"), "{}", short.why);
}

#[test]
fn a_home_of_the_policy_is_where_memory_should_be() {
    let host = Needs { requests: true, page_control: true, ..Needs::NONE };
    let settings = Settings { policy: "HB-Con".into(), host, ..Settings::default() };
    let mut story = Story::with("numa:2 core:2 pu:1", settings);
    story.arrive(1, wish(1));
    story.settle();
    let advice = advise(&story, &wish(2));
    // The home of the first is reserved for it.
    let (home, other) = if set(&story.pus(1)).is_subset(&set("0-1")) { (set("2-3"), 1) } else { (set("0-1"), 0) };
    assert_eq!((advice.pus.clone(), advice.memory_nodes.len(), advice.memory_nodes[0].0), (home, 1, other));
}

#[test]
fn telling_the_engine_of_free_memory_is_as_good_as_asking_with_it() {
    let mut story = Story::new("numa:2 core:2 pu:1", "equi");
    story.tell(&Event::FreeMemory { bytes: vec![7, 9] });
    let wish = Wish { memory: 8, ..wish(2) };
    let asked = story.engine.advise(story.now, &wish, &[7, 9]).unwrap();
    assert_eq!(asked, advise(&story, &wish));
    assert_eq!(asked.memory_free, Some(16));
}
