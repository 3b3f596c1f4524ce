//! The life of decisions where programs live in pools of processors, or have nobody who divides
//! processors among them: stories of the papers.

mod story;

use numaestro_engine::{AppId, Class, Event, Needs, Settings, Wish};
use numaestro_topology::PuSet;
use story::{Story, set, wish};

/// Three stations of four processors, of which the system keeps none (Brecht 1997, §4).
const HECTOR: &str = "numa:3 core:4 pu:1";

/// One that has started with one thread and creates others.
fn thread_by_thread(story: &mut Story, app: u64, threads: u32) {
    for processors in 2..=threads {
        story.tell(&Event::Demand { app: AppId(app), processors, idle: PuSet::new() });
        story.settle();
    }
}

/// The stations that an application is on.
fn stations(story: &Story, app: u64) -> Vec<u32> {
    let mut stations: Vec<u32> = story.pus(app).parse::<PuSet>().unwrap().iter().map(|pu| pu.0 / 4).collect();
    stations.dedup();
    stations
}

#[test]
fn three_arrivals_in_an_empty_system() {
    // Brecht 1997, §6: first-fit and best-fit may put all three into one pool, worst-fit puts each
    // into one of its own.
    for (policy, together) in [
        ("first-fit", true),
        ("best-fit", true),
        ("worst-fit", false),
        ("worst-fit-jobs", false),
        ("empty-pool", false),
    ] {
        let mut story = Story::new(HECTOR, policy);
        for app in 1..=3 {
            story.arrive(app, wish(1));
            story.settle();
        }
        let mut pools: Vec<u32> = (1..=3).flat_map(|app| stations(&story, app)).collect();
        pools.sort_unstable();
        pools.dedup();
        assert_eq!(pools.len(), if together { 1 } else { 3 }, "{policy}");
        for app in 1..=3 {
            thread_by_thread(&mut story, app, 4);
        }
        let isolated = (1..=3).filter(|&app| stations(&story, app).len() == 1).count();
        assert_eq!(isolated == 3, !together, "{policy}: each in one station");
    }
}

#[test]
fn two_applications_of_six_with_pools_of_four_and_of_six() {
    // Brecht 1997, §5.4, Figure 4: with pools of four each has four processors of one station and
    // two of another, with pools of six it is in one pool; the same set of processors in both, but
    // other processes share a station.
    let mut four = Story::new(HECTOR, "share=demand placement=worst-fit(equal=4) admission=fifo");
    let mut six = Story::new(HECTOR, "share=demand placement=worst-fit(equal=6) admission=fifo");
    for story in [&mut four, &mut six] {
        for app in 1..=2 {
            story.arrive(app, wish(1));
            thread_by_thread(story, app, 6);
        }
    }
    for app in 1..=2 {
        let pus: PuSet = four.pus(app).parse().unwrap();
        let mut by_station: Vec<usize> =
            (0..3).map(|station| pus.iter().filter(|pu| pu.0 / 4 == station).count()).collect();
        by_station.sort_unstable();
        assert_eq!(by_station, [0, 2, 4]);
    }
    let mut pools = [six.pus(1), six.pus(2)];
    pools.sort();
    assert_eq!(pools, ["0-5", "6-11"]);
}

#[test]
fn an_application_waits_until_a_pool_is_empty() {
    let mut story = Story::new("numa:2 core:4 pu:1", "empty-pool");
    story.arrive(1, wish(1));
    story.arrive(2, wish(1));
    assert_eq!(story.arrive(3, wish(1)), ["wait 3 at 1"]);
    assert_eq!(story.depart(2)[0], "start 3");
    assert_eq!(stations(&story, 3).len(), 1);
    assert_ne!(stations(&story, 3), stations(&story, 1));
}

#[test]
fn what_is_idle_goes_to_who_waits() {
    let mut story = Story::new("core:4 pu:1", "nopool");
    story.arrive(1, wish(4));
    story.settle();
    assert_eq!(story.arrive(2, wish(2)), ["wait 2 at 1"]);
    let idle = Event::Demand { app: AppId(1), processors: 3, idle: set("2") };
    assert_eq!(story.tell(&idle), ["start 2", "target 1 epoch 2: 3 on 0-1,3", "target 2 epoch 1: 1 on 2"]);
}

#[test]
fn without_a_manager_everybody_has_all_its_threads_everywhere() {
    let mut story = Story::new("core:4 pu:1", "");
    story.arrive(1, wish(16));
    story.settle();
    story.arrive(2, wish(3));
    story.settle();
    let native = Event::Policy { policy: "native".into() };
    assert_eq!(story.tell(&native), ["target 1 epoch 3: 16 on 0-3 shared", "target 2 epoch 2: 3 on 0-3 shared"]);
    story.settle();
    assert_eq!(story.arrive(3, wish(1)), ["start 3", "target 3 epoch 1: 1 on 0-3 shared"]);
    assert_eq!(story.request(2, 9), ["target 2 epoch 3: 9 on 0-3 shared"]);
    story.tell(&Event::Policy { policy: "equi".into() });
    story.settle();
    assert_eq!([1, 2, 3].map(|app| story.pus(app).parse::<PuSet>().unwrap().len()), [2, 1, 1]);
}

#[test]
fn who_looks_at_the_load_by_itself_looks_once_a_second() {
    let first_look = |policy: &str| {
        let mut story = Story::new("core:4 pu:1", policy);
        story.arrive(1, wish(16));
        story.settle();
        assert_eq!(story.engine.deadline(), Some(1000 + 1_000_000_000));
        story.wait(1_000_000_000)
    };
    assert_eq!(first_look("sgi-mp"), ["target 1 epoch 2: 15 on 0-3 shared"]);
    // 16 · 4 / (16 · (1 ± 0.3)) = 4 ± 30 %.
    let told = first_look("share=sgi-mp(sees=requests,step=all)");
    assert!(
        ["3", "4", "5"].iter().any(|count| told == [format!("target 1 epoch 2: {count} on 0-3 shared")]),
        "{told:?}"
    );
}

#[test]
fn a_policy_that_the_machine_does_not_fit_changes_nothing() {
    let mut story = Story::new(HECTOR, "");
    let refused = story.tell(&Event::Policy { policy: "placement=fixed(at=12--)".into() });
    assert!(refused[0].contains("the machine has 12 processors"), "{refused:?}");
    let refused = story.tell(&Event::Policy { policy: "placement=worst-fit(sizes=8+8)".into() });
    assert!(refused[0].contains("16 processors in all, but there are 12"), "{refused:?}");
    assert_eq!(story.engine.policy().to_string(), "equi");
}

/// A program that is folded by the kernel leaves a processor in the step that tells it. Nobody says
/// so afterwards, so the engine wants to be called at once, and gives it to the next one.
#[test]
fn a_processor_that_a_folded_program_leaves_is_given_at_once() {
    let host = Needs { requests: true, page_control: true, preemption: true, ..Needs::NONE };
    let settings = Settings { policy: "HS-Con".into(), host, ..Settings::default() };
    let mut story = Story::with("numa:4 core:2 pu:1", settings);
    let folded = |request| Wish { max: request, class: Class::Fold, ..wish(request) };
    for (app, request) in [(1, 3), (2, 2), (3, 2)] {
        story.arrive(app, folded(request));
        story.settle();
    }
    // The first has one processor more than a node, in the node that is nobody's home.
    assert_eq!(story.pus(1).parse::<PuSet>().unwrap().len(), 3);
    story.arrive(4, folded(2));
    assert!(story.is_due());
    story.wait(0);
    assert!(!story.is_due());
    assert_eq!(story.pus(4).parse::<PuSet>().unwrap().len(), 2);
    assert_eq!(story.pus(1).parse::<PuSet>().unwrap().len(), 2);
}
