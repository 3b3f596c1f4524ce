//! Tests of timelines, and the run that the tests of viewers use.

use super::*;
use numaestro_engine::journal::Replay;
use numaestro_engine::{AppId, Engine, Settings, Wish};
use std::collections::VecDeque;
use std::io::Write;
use std::time::Duration;

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
    // The remains of a line of a manager that is killed while it writes.
    read(&(journal_of(machine, events, adopts) + "{\"at\":6"))
}

fn read(text: &str) -> Timeline {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(text.as_bytes()).unwrap();
    file.as_file().set_modified(UNIX_EPOCH + Duration::from_secs(WRITTEN)).unwrap();
    Timeline::read(file.path()).unwrap()
}

fn journal_of(machine: &str, events: impl IntoIterator<Item = (Nanos, Event)>, adopts: bool) -> String {
    let machine = numaestro_topology::synthetic::parse(machine).unwrap();
    let mut engine = Engine::new(machine, Settings::default(), 1).unwrap();
    let mut lines = vec![journal::encode_head(engine.machine(), engine.settings(), 1)];
    for (at, event) in events {
        let mut due = VecDeque::from([event]);
        while let Some(event) = due.pop_front() {
            let mut actions = Vec::new();
            engine.step(at, &event, &mut actions);
            lines.push(journal::encode(at, &event, &actions));
            due.extend(actions.iter().filter_map(|action| match action {
                Action::Target { app, epoch, .. } if adopts => Some(Event::Adopted { app: *app, epoch: *epoch }),
                // The shell carries this out at once.
                Action::Force { app, epoch, .. } => Some(Event::Adopted { app: *app, epoch: *epoch }),
                _ => None,
            }));
        }
    }
    lines.join("\n") + "\n"
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
    let lanes = |app: u64| timeline.apps[&app].lanes.values().map(Vec::len).collect::<Vec<_>>();
    assert_eq!((lanes(1), lanes(2).iter().sum()), (vec![2, 2], 2));
    assert_eq!((timeline.unmanaged.lanes.len(), timeline.began), (0, (WRITTEN - 4) * second));
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
    assert_eq!(timeline.unmanaged.lanes.values().map(Vec::len).collect::<Vec<_>>(), [1]);
    assert_eq!(timeline.rows().count(), 4);
    assert!(timeline.marks.iter().any(|mark| (mark.kind, mark.value) == (Kind::Unmanaged, 1)));
}

#[test]
fn no_processor_of_an_application_has_two_lanes_and_no_lane_two_processors() {
    let timeline = example();
    let spans: Vec<(usize, Span)> =
        timeline.pus.iter().enumerate().flat_map(|(pu, spans)| spans.iter().map(move |&span| (pu, span))).collect();
    let lane = |pu: usize, span: &Span| (span.app, timeline.machine.pus()[pu].node, span.lane);
    for (pu, span) in &spans {
        for (other_pu, other) in &spans {
            let overlap = span.from < other.to && other.from < span.to;
            assert!(pu == other_pu || !overlap || lane(*pu, span) != lane(*other_pu, other), "{span:?} {other:?}");
        }
    }
}

/// Applications that come, grow, sleep, are told to leave and go on the given machine.
fn lively(seed: u64) -> Vec<(Nanos, Event)> {
    let (mut state, mut events, mut present) = (seed, Vec::new(), Vec::new());
    let mut draw = |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    for number in 0..60 {
        let at = number * 100_000_000;
        let app = present.get(draw(8) as usize).copied().map(AppId);
        let event = match (draw(6), app) {
            (0, Some(app)) => {
                present.retain(|other| *other != app.0);
                Event::Depart { app }
            }
            (1, Some(app)) => Event::Request { app, processors: 1 + draw(8) as u32 },
            (2, Some(app)) => Event::Sequential { app },
            (3, Some(app)) => Event::Parallel { app },
            _ if present.len() < 4 => {
                present.push(number + 1);
                Event::Arrive { app: AppId(number + 1), wish: Wish::new(1 + draw(8) as u32) }
            }
            _ => Event::Timer,
        };
        events.push((at, event));
    }
    events
}

/// Such a run on two nodes.
pub fn lively_timeline(seed: u64) -> Timeline {
    recorded("numa:2 core:4 pu:1", lively(seed), true)
}

/// The same journal as a recording.
fn as_recording(journal: &str) -> String {
    let begins = Begins::of_segment("0", "1", 1);
    let (head, rest) = journal.split_once('\n').unwrap();
    format!("{head}\n{}\n{rest}{}\n", begins.encode(0), Stamp { at: 0, wall: 77_000_000_000 }.encode())
}

/// By application: its time on each processor.
fn shares(timeline: &Timeline) -> BTreeMap<(Option<u64>, usize), Nanos> {
    let mut shares = BTreeMap::new();
    for (pu, span) in timeline.pus.iter().enumerate().flat_map(|(pu, spans)| spans.iter().map(move |span| (pu, span))) {
        *shares.entry((span.app, pu)).or_default() += span.to - span.from;
    }
    shares
}

#[test]
fn a_recording_is_drawn_as_the_engine_would_draw_its_journal() {
    for seed in 0..20 {
        for adopts in [true, false] {
            let journal = journal_of("numa:2 core:4 pu:1", lively(seed), adopts);
            let (replayed, pictured) = (read(&journal), read(&as_recording(&journal)));
            assert_eq!(shares(&pictured), shares(&replayed), "seed {seed}, adopts {adopts}");
            assert_eq!((pictured.steps, pictured.end), (replayed.steps, replayed.end));
            let states = |timeline: &Timeline| -> Vec<Vec<(&str, Nanos)>> {
                timeline
                    .apps
                    .values()
                    .map(|row| row.phases.iter().map(|phase| (phase.state, phase.to)).collect())
                    .collect()
            };
            assert_eq!(states(&pictured), states(&replayed), "seed {seed}, adopts {adopts}");
        }
    }
}

/// Two turns of a recording that began 82 s after the begin of 1970.
pub fn dated() -> Timeline {
    read(&as_recording(&turns()))
}

fn turns() -> String {
    journal_of("core:2 pu:1", [(5_000_000_000, Event::Timer), (6_000_000_000, Event::Timer)], true)
}

#[test]
fn a_recording_says_when_it_was() {
    let (undated, dated) = (read(&turns()), dated());
    assert_eq!((undated.dated, dated.dated, dated.began), (false, true, 82_000_000_000));
}

#[test]
fn a_recording_that_begins_in_mid_life_goes_on_from_its_state() {
    let journal = journal_of("numa:2 core:4 pu:1", lively(3), true);
    let mut lines = journal.lines();
    let mut replay = Replay::new(lines.next().unwrap()).unwrap();
    let mut rest = Vec::new();
    let half = lines.clone().count() / 2;
    for (number, line) in lines.enumerate() {
        if number < half {
            replay.step(line).unwrap();
        } else {
            rest.push(line);
        }
    }
    let state = replay.engine().snapshot();
    let at = state.now;
    let names = state.apps.iter().map(|app| (app.app, format!("name{}", app.app.0))).collect();
    let head = journal.lines().next().unwrap();
    let state = State { at, state, names }.encode();
    let later = read(&as_recording(&format!("{head}\n{state}\n{}\n", rest.join("\n"))));
    let whole = read(&as_recording(&journal));
    assert!(later.apps.values().any(|row| row.name.starts_with("name")));
    let from = whole.end - later.end;
    for (pu, spans) in whole.pus.iter().enumerate() {
        let cut = spans
            .iter()
            .filter(|span| span.to > from)
            .map(|span| (span.app, span.from.max(from) - from, span.to - from));
        let found = later.pus[pu].iter().map(|span| (span.app, span.from, span.to));
        assert_eq!(found.collect::<Vec<_>>(), cut.collect::<Vec<_>>(), "processor {pu}");
    }
}
