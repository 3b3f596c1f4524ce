//! Tests of timelines, and the run that the tests of viewers use.

use super::*;
use numaestro_engine::{AppId, Engine, Settings, Wish};
use std::collections::VecDeque;
use std::io::Write;

/// When the examples were recorded: their journals were written last at 20 s past 14:13 of 9 July
/// 2026.
pub const WRITTEN: u64 = 1_783_606_400;

/// Two applications on four processors: the second comes at 1 s and ends at 3 s; the first ends at
/// 4 s.
pub fn example() -> Timeline {
    let second = 1_000_000_000;
    let arrive = |app: u64| Event::Arrive { app: AppId(app), wish: Wish::new(4) };
    let adopted = |app: u64, epoch| Event::Adopted { app: AppId(app), epoch };
    let events = [
        (second, arrive(1)),
        (2 * second, arrive(2)),
        (2 * second + second / 2, adopted(1, 2)),
        (4 * second, Event::Depart { app: AppId(2) }),
        (5 * second, Event::Depart { app: AppId(1) }),
    ];
    recorded("numa:2 core:2 pu:1", events, false)
}

/// Three applications on two processors, so the third is a guest from 1 s to 3 s; then load that is
/// not managed takes a processor, until 5 s.
pub fn crowded() -> Timeline {
    let second = 1_000_000_000;
    let arrive = |app: u64| Event::Arrive { app: AppId(app), wish: Wish::new(2) };
    let depart = |app: u64| Event::Depart { app: AppId(app) };
    let events = [
        (0, arrive(1)),
        (0, arrive(2)),
        (second, arrive(3)),
        (3 * second, depart(3)),
        (3 * second, depart(2)),
        (3 * second, Event::Unmanaged { processors: 1 }),
        (5 * second, depart(1)),
    ];
    recorded("core:2 pu:1", events, true)
}

/// The timeline of a journal of these events; `adopts`: every target is adopted at once.
fn recorded(machine: &str, events: impl IntoIterator<Item = (Nanos, Event)>, adopts: bool) -> Timeline {
    let machine = numaestro_topology::synthetic::parse(machine).unwrap();
    let mut engine = Engine::new(machine, Settings::default(), 1).unwrap();
    let mut file = tempfile::NamedTempFile::new().unwrap();
    writeln!(file, "{}", journal::encode_head(engine.machine(), engine.settings(), 1)).unwrap();
    for (at, event) in events {
        let mut due = VecDeque::from([event]);
        while let Some(event) = due.pop_front() {
            let mut actions = Vec::new();
            engine.step(at, &event, &mut actions);
            writeln!(file, "{}", journal::encode(at, &event, &actions)).unwrap();
            due.extend(actions.iter().filter(|_| adopts).filter_map(|action| match action {
                Action::Target { app, epoch, .. } => Some(Event::Adopted { app: *app, epoch: *epoch }),
                _ => None,
            }));
        }
    }
    // The remains of a line of a manager that is killed while it writes.
    write!(file, "{{\"at\":6").unwrap();
    file.as_file().set_modified(UNIX_EPOCH + Duration::from_secs(WRITTEN)).unwrap();
    Timeline::read(file.path()).unwrap()
}

#[test]
fn who_had_what_follows_from_the_journal() {
    let timeline = example();
    let second = 1_000_000_000;
    assert_eq!((timeline.end, timeline.steps, timeline.apps.len()), (4 * second, 5, 2));
    let of = |app: u64| -> Nanos {
        let spans = timeline.pus.iter().flatten().filter(|span| span.app == Some(app));
        spans.map(|span| span.to - span.from).sum()
    };
    // Four for the first second, four while two are leaving, two until 3 s, four again.
    assert_eq!(of(1), 4 * second + 4 * second / 2 + 2 * (second + second / 2) + 4 * second);
    assert_eq!(of(2), 2 * (second + second / 2));
    let leaving = timeline.pus.iter().flatten().filter(|span| span.how == How::Leaving).count();
    assert_eq!(leaving, 2);
    let states: Vec<(&str, u32)> = timeline.apps[&2].phases.iter().map(|phase| (phase.state, phase.count)).collect();
    assert_eq!(states, [("running", 0), ("running", 2)]);
    assert_eq!((timeline.apps[&1].lanes, timeline.apps[&2].lanes), (4, 2));
    assert_eq!((timeline.unmanaged.lanes, timeline.began), (0, WRITTEN - 4));
}

#[test]
fn guests_and_unmanaged_load_have_spans() {
    let timeline = crowded();
    let second = 1_000_000_000;
    let time = |how: How, app: Option<u64>| -> Nanos {
        let spans = timeline.pus.iter().flatten().filter(|span| (span.how, span.app) == (how, app));
        spans.map(|span| span.to - span.from).sum()
    };
    assert!(time(How::Guest, Some(3)) >= 2 * second, "{:?}", timeline.pus);
    assert!(timeline.apps[&3].phases.iter().any(|phase| phase.guest > 0 && phase.count == 0));
    assert!(time(How::Unmanaged, None) >= second, "{:?}", timeline.pus);
    assert_eq!((timeline.unmanaged.lanes, timeline.rows().count()), (1, 4));
    assert!(timeline.marks.iter().any(|mark| (mark.kind, mark.value) == (Kind::Unmanaged, 1)));
}

#[test]
fn no_processor_of_an_application_has_two_lanes_and_no_lane_two_processors() {
    let timeline = example();
    let spans: Vec<(usize, Span)> =
        timeline.pus.iter().enumerate().flat_map(|(pu, spans)| spans.iter().map(move |&span| (pu, span))).collect();
    for (pu, span) in &spans {
        for (other_pu, other) in &spans {
            let overlap = span.from < other.to && other.from < span.to;
            assert!(
                pu == other_pu || !overlap || (span.app, span.lane) != (other.app, other.lane),
                "{span:?} {other:?}"
            );
        }
    }
}
