//! Staged runs of live managers in guests with several nodes, beside the simulator; and changes of
//! the simulation that the comparison has to notice.

use numaestro_engine::journal::{self, Replay};
use numaestro_engine::{Action, Engine, Event};
use numaestro_sim::read::Text;
use numaestro_sim::validation::allocations::{
    Aspect, Change, Comparison, Judgement, Stage, StagedRun, Stages, Step, simulate,
};
use numaestro_topology::{Machine, synthetic};
use std::collections::VecDeque;

/// Staged runs from guests, each with its policy and one that does otherwise.
const STAGED_RUNS: [(&str, &str, &str); 4] = [
    ("HS-Con", include_str!("../../../testdata/staged/four-hs-con-narrow.jsonl"), "worst-fit"),
    ("first-fit", include_str!("../../../testdata/staged/two-first-fit-rigid.jsonl"), "equi"),
    ("worst-fit", include_str!("../../../testdata/staged/two-worst-fit-tide.jsonl"), "equi"),
    ("equi", include_str!("../../../testdata/staged/two-equi-pairs.jsonl"), "batch"),
];

/// A staged run that does not agree. A live manager first sees one active thread of a program that
/// arrives while others contend, so it asks for one processor and soon for all. `equi-pools` moves
/// processors both times, and goes by the places of pages. Those depend on the processor that a
/// program's first thread had when it touched them: before, amid or after these requests.
const ASKED_TWICE: &str = include_str!("../../../testdata/staged/four-equi-pools-tide.jsonl");

fn read(name: &str, text: &str) -> (StagedRun, Machine) {
    StagedRun::read(Text::new(name, text)).expect("a staged run")
}

/// The staged run beside the same steps on a machine under a policy.
fn compared(run: &StagedRun, machine: &Machine, model: &Machine, policy: &str) -> Comparison {
    let live = Stages::of(run.journal()).expect("a journal");
    let simulated = simulate(model, run.steps(), (policy, run.seed())).expect("a policy");
    Comparison::new(run, (machine, &live), (model, &simulated))
}

#[test]
fn live_and_simulated_allocations_agree() {
    for (name, text, _) in STAGED_RUNS {
        let (run, machine) = read(name, text);
        assert_eq!(run.policy(), name);
        let comparison = compared(&run, &machine, &machine, name);
        let wrong: Vec<_> = comparison.steps().iter().filter(|step| step.disagreements().next().is_some()).collect();
        assert!(comparison.holds(), "{name}: {wrong:#?}");
        assert_eq!(comparison.tally(Aspect::Counts).of, run.steps().len());
    }
}

/// The stages that the engine alone makes of a journal's events, as `change` leaves them; `None`
/// leaves one out. Targets are adopted at once.
fn decided(journal: &str, change: impl Fn(Event) -> Option<Event>) -> Vec<(Change, Stage)> {
    let (head, lines) = journal.split_once('\n').expect("a head");
    let (machine, settings, seed) = journal::decode_head(head).expect("a head");
    let mut engine = Engine::new(machine, settings, seed).expect("a policy");
    let (mut stages, mut actions) = (Stages::default(), Vec::new());
    for line in lines.lines().filter(|line| !journal::is_aside(line)) {
        let (at, event, _) = journal::decode(line).expect("a line");
        let mut events: VecDeque<Event> = change(event).into_iter().collect();
        while let Some(event) = events.pop_front() {
            actions.clear();
            engine.step(at, &event, &mut actions);
            stages.hear(&event, &actions);
            events.extend(actions.iter().filter_map(|action| match action {
                Action::Target { app, epoch, .. } => Some(Event::Adopted { app: *app, epoch: *epoch }),
                _ => None,
            }));
        }
    }
    stages.finish()
}

/// `equi-pools` alone with the recorded inputs: without the requests, and with the pages of one
/// program elsewhere.
#[test]
fn requests_and_places_of_pages_decide_about_places() {
    let (run, _) = read("equi-pools", ASKED_TWICE);
    let live = Stages::of(run.journal()).expect("a journal");
    let others = |change: &dyn Fn(Event) -> Option<Event>| -> Vec<usize> {
        let stages = decided(run.journal(), change);
        (1..).zip(live.iter().zip(&stages)).filter(|(_, (live, other))| live != other).map(|(step, _)| step).collect()
    };
    let but_adopted = |event: Event| (!matches!(event, Event::Adopted { .. })).then_some(event);
    assert!(others(&but_adopted).is_empty(), "the same inputs");
    let no_requests = |event: Event| but_adopted(event).filter(|event| !matches!(event, Event::Request { .. }));
    assert_eq!(others(&no_requests), [4, 7]);
    let elsewhere = |event: Event| match event {
        Event::Memory { app, bytes } if app.0 == 2 => {
            Some(Event::Memory { app, bytes: vec![0, 0, bytes.iter().sum(), 0] })
        }
        other => but_adopted(other),
    };
    assert_eq!(others(&elsewhere), [3, 4, 5, 6, 7], "its pages are on node 3, and beside them its processors");
}

#[test]
fn requests_that_only_a_live_manager_makes_decide_about_places_and_not_about_counts() {
    let (run, machine) = read("equi-pools", ASKED_TWICE);
    let comparison = compared(&run, &machine, &machine, "equi-pools");
    let agree = |aspect| comparison.tally(aspect).agree;
    assert_eq!([agree(Aspect::Kernel), agree(Aspect::Counts), comparison.steps().len()], [7, 7, 7]);
    assert!(agree(Aspect::Nodes) < 7 && run.journal().contains("\"what\":\"request\""));
    assert!(Replay::run(run.journal()).is_ok(), "the same requests give the same places");
}

#[test]
fn another_policy_is_noticed() {
    for (name, text, other) in STAGED_RUNS {
        let (run, machine) = read(name, text);
        assert!(!compared(&run, &machine, &machine, other).holds(), "{other} instead of {name}");
    }
}

#[test]
fn one_node_fewer_is_noticed() {
    for (name, text, _) in STAGED_RUNS {
        let (run, machine) = read(name, text);
        let nodes = machine.numa_nodes();
        let smaller = format!("numa:{} core:{} pu:1", nodes.len() - 1, nodes[0].pus.len());
        let smaller = synthetic::parse(&smaller).expect("a machine");
        assert!(!compared(&run, &machine, &smaller, name).holds(), "{name}");
    }
}

#[test]
fn one_processor_elsewhere_is_noticed() {
    for (name, text, _) in STAGED_RUNS {
        let (run, machine) = read(name, text);
        let live = Stages::of(run.journal()).expect("a journal");
        let simulated = simulate(&machine, run.steps(), (name, run.seed())).expect("a policy");
        let spans = |stages: &mut Vec<_>| {
            // The first application that has no processor on some node exchanges one for one there.
            let place = |(_, stage): &(_, Stage)| {
                stage.iter().find_map(|(app, holding)| {
                    let node = machine.numa_nodes().iter().find(|node| !node.pus.intersects(&holding.pus))?;
                    (holding.pus.len() > 1).then_some((*app, node.pus.first()?))
                })
            };
            let (step, (app, pu)) =
                (0..stages.len()).find_map(|step| Some((step, place(&stages[step])?))).expect("one");
            let holding = stages[step].1.get_mut(&app).expect("it is there");
            let last = holding.pus.last().expect("it has two");
            holding.pus.remove(last);
            holding.pus.insert(pu);
        };
        let mut changed = simulated.clone();
        spans(&mut changed);
        let comparison = Comparison::new(&run, (&machine, &live), (&machine, &changed));
        let wrong: Vec<Aspect> = comparison.steps().iter().flat_map(Judgement::disagreements).collect();
        assert!(wrong.contains(&Aspect::Spans) && wrong.contains(&Aspect::Nodes), "{name}: {wrong:?}");
        assert!(!wrong.contains(&Aspect::Counts), "{name}: {wrong:?}");
    }
}

#[test]
fn a_manager_that_asks_for_another_number_is_noticed() {
    for (name, text, _) in STAGED_RUNS {
        let (run, machine) = read(name, text);
        let live = Stages::of(run.journal()).expect("a journal");
        let fewer = run.steps().iter().map(|step| match *step {
            Step::Arrive { processors, rigid } => Step::Arrive { processors: processors.div_ceil(2), rigid },
            Step::Depart(number) => Step::Depart(number),
        });
        let simulated = simulate(&machine, &fewer.collect::<Vec<_>>(), (name, run.seed())).expect("a policy");
        assert!(!Comparison::new(&run, (&machine, &live), (&machine, &simulated)).holds(), "{name}");
    }
}

#[test]
fn the_recorded_journals_can_be_repeated() {
    for (name, text, _) in STAGED_RUNS {
        let (run, _) = read(name, text);
        if let Err(error) = Replay::run(run.journal()) {
            panic!("{name}: {error}");
        }
    }
}
