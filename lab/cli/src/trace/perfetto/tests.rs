//! What another program finds in the files: read with the numbers of Perfetto's own definitions.

use super::super::timeline::tests::{crowded, dated, example};
use super::super::timeline::{Kind, Timeline};
use super::wire::Fields;
use super::write;
use numaestro_engine::Nanos;
use std::collections::BTreeMap;

/// A track, as its packet describes it, and its events.
#[derive(Debug, Default)]
struct Track {
    name: String,
    parent: u64,
    about: Option<String>,
    unit: Option<String>,
    slices: Vec<Slice>,
    instants: Vec<Instant>,
    counts: Vec<(Nanos, u64)>,
}

/// An interval: its name, its begin and end, and its arguments.
#[derive(Debug)]
struct Slice {
    name: String,
    from: Nanos,
    to: Nanos,
    arguments: BTreeMap<String, String>,
}

#[derive(Debug)]
struct Instant {
    at: Nanos,
    arguments: BTreeMap<String, String>,
}

/// The tracks by their numbers, and the clocks of all snapshots.
#[derive(Debug, Default)]
struct Read {
    tracks: BTreeMap<u64, Track>,
    clocks: Vec<Vec<(u64, u64)>>,
    trace_clock: Option<u64>,
}

const BOOTTIME: u64 = 6;
const REALTIME: u64 = 1;

fn read(timeline: &Timeline) -> Read {
    let mut file = Vec::new();
    write(timeline, &mut file).unwrap();
    let mut read = Read::default();
    // trace.proto: packet = 1.
    for packet in Fields::read(&file).messages(1) {
        // trace_packet.proto: clock_snapshot = 6, timestamp = 8, trusted_packet_sequence_id = 10,
        // track_event = 11, track_descriptor = 60.
        assert!(packet.number(10).is_some_and(|sequence| sequence > 0), "{packet:?}");
        if let Some(snapshot) = packet.message(6) {
            let clocks = snapshot.messages(1);
            read.clocks.push(clocks.iter().map(|c| (c.number(1).unwrap(), c.number(2).unwrap())).collect());
            read.trace_clock = snapshot.number(2);
        }
        if let Some(track) = packet.message(60) {
            describe(&track, &mut read.tracks);
        }
        if let Some(event) = packet.message(11) {
            let at = packet.number(8).expect("an event has a time");
            let track = event.number(11).expect("an event has a track");
            hear(at, &event, read.tracks.get_mut(&track).expect("a track is described before its events"));
        }
    }
    read
}

/// `track_descriptor.proto`: uuid = 1, name = 2, `parent_uuid` = 5, counter = 8, `child_ordering` =
/// 11 (explicit: 3), `sibling_order_rank` = 12, description = 14; `counter_descriptor.proto`:
/// `unit_name` = 6.
fn describe(track: &Fields, tracks: &mut BTreeMap<u64, Track>) {
    let uuid = track.number(1).unwrap();
    let parent = track.number(5).unwrap_or(0);
    assert!(uuid > 0, "0 is the track of everything without a track");
    assert!(parent == 0 || tracks.contains_key(&parent), "{track:?} stands before its parent");
    assert!(track.number(12).is_some(), "the order of {track:?} is left to chance");
    let counter = track.message(8);
    assert_eq!(track.number(11), counter.is_none().then_some(3));
    let described = Track {
        name: track.text(2).unwrap().to_owned(),
        parent,
        about: track.text(14).map(str::to_owned),
        unit: counter.map(|counter| counter.text(6).unwrap().to_owned()),
        ..Track::default()
    };
    assert!(tracks.insert(uuid, described).is_none(), "two tracks have the number {uuid}");
}

/// `track_event.proto`: type = 9 (begin 1, end 2, instant 3, counter 4), name = 23,
/// `counter_value` = 30, `debug_annotations` = 4; `debug_annotation.proto`: name = 10,
/// `uint_value` = 3, `string_value` = 6.
fn hear(at: Nanos, event: &Fields, track: &mut Track) {
    let arguments = event.messages(4);
    let value = |argument: &Fields| match argument.number(3) {
        Some(number) => number.to_string(),
        None => argument.text(6).unwrap().to_owned(),
    };
    let arguments = arguments.iter().map(|argument| (argument.text(10).unwrap().to_owned(), value(argument))).collect();
    let name = event.text(23).map(str::to_owned);
    assert_eq!(track.unit.is_some(), event.number(9) == Some(4), "counters count, and nothing else does");
    match event.number(9) {
        Some(1) => {
            // Intervals of a track stand one after the other, so no reader can pair them wrongly.
            assert!(track.slices.last().is_none_or(|last| last.to <= at), "{track:?} overlaps at {at}");
            track.slices.push(Slice { name: name.unwrap(), from: at, to: Nanos::MAX, arguments });
        }
        Some(2) => {
            let last = track.slices.last_mut().expect("what ends has begun");
            assert!(last.to == Nanos::MAX && last.from < at, "{last:?} ends at {at}");
            last.to = at;
        }
        Some(3) => {
            assert!(name.is_some_and(|name| !name.is_empty()));
            track.instants.push(Instant { at, arguments });
        }
        Some(4) => track.counts.push((at, event.number(30).unwrap())),
        other => panic!("an event of type {other:?}"),
    }
}

impl Read {
    /// The names from the root down to a track.
    fn path(&self, uuid: u64) -> String {
        let track = &self.tracks[&uuid];
        if track.parent == 0 { track.name.clone() } else { format!("{}/{}", self.path(track.parent), track.name) }
    }

    fn paths(&self) -> Vec<String> {
        self.tracks.keys().map(|&uuid| self.path(uuid)).collect()
    }

    /// The tracks at a path: those of the same name are one row of a viewer.
    fn at<'a>(&'a self, path: &'a str) -> impl Iterator<Item = &'a Track> {
        self.tracks.iter().filter(move |(uuid, _)| self.path(**uuid) == path).map(|(_, track)| track)
    }

    fn one<'a>(&'a self, path: &'a str) -> &'a Track {
        let mut tracks = self.at(path);
        let track = tracks.next().unwrap_or_else(|| panic!("no {path} in {:?}", self.paths()));
        assert!(tracks.next().is_none(), "several {path}");
        track
    }

    /// All intervals on processors.
    fn on_processors(&self) -> impl Iterator<Item = &Slice> {
        let tracks = self.tracks.iter().filter(|(uuid, _)| self.path(**uuid).starts_with("processors/"));
        tracks.flat_map(|(_, track)| &track.slices)
    }

    /// How long somebody was on processors in some way.
    fn time(&self, name: &str, how: &str) -> Nanos {
        let slices = self.on_processors().filter(|slice| slice.name == name && slice.arguments["how"] == how);
        slices.map(|slice| slice.to - slice.from).sum()
    }
}

const SECOND: Nanos = 1_000_000_000;

#[test]
fn processors_stand_below_their_node_and_what_belongs_to_an_application_below_it() {
    let read = read(&example());
    let expected = [
        "machine",
        "machine/decisions",
        "machine/free processors",
        "processors",
        "processors/node 0",
        "processors/node 0/PU 0 (CPU 0)",
        "processors/node 0/PU 1 (CPU 1)",
        "processors/node 1",
        "processors/node 1/PU 2 (CPU 2)",
        "processors/node 1/PU 3 (CPU 3)",
        "applications",
        "applications/app 1",
        "applications/app 1/decisions",
        "applications/app 1/processors",
        "applications/app 2",
        "applications/app 2/decisions",
        "applications/app 2/processors",
    ];
    assert_eq!(read.paths(), expected);
    assert!(read.one("machine").about.as_ref().is_some_and(|about| about.ends_with("5 events")));
    assert!(read.tracks.values().flat_map(|track| &track.slices).all(|slice| slice.to != Nanos::MAX));
}

#[test]
fn the_time_of_an_application_on_processors_is_that_of_the_run() {
    let timeline = example();
    let read = read(&timeline);
    assert_eq!(read.on_processors().count(), timeline.pus.iter().map(Vec::len).sum::<usize>());
    assert_eq!(read.time("app 2", "running"), 3 * SECOND);
    assert_eq!(read.time("app 1", "leaving"), SECOND);
    assert!(read.on_processors().all(|slice| slice.name == format!("app {}", slice.arguments["application"])));
}

#[test]
fn states_and_counts_are_those_of_the_run() {
    let read = read(&example());
    let states: Vec<(&str, Nanos, &str)> = read
        .one("applications/app 2")
        .slices
        .iter()
        .map(|slice| (slice.name.as_str(), slice.from, slice.arguments["processors"].as_str()))
        .collect();
    assert_eq!(states, [("running", SECOND, "0"), ("running", SECOND + SECOND / 2, "2")]);
    let counter = read.one("applications/app 2/processors");
    assert_eq!(counter.counts, [(SECOND, 0), (SECOND + SECOND / 2, 2), (3 * SECOND, 0)]);
    assert_eq!(counter.unit.as_deref(), Some("processors"));
    // Application 1 has all of them but for those of application 2, and ends with the run.
    let free = &read.one("machine/free processors").counts;
    assert_eq!(free.last(), Some(&(4 * SECOND, 4)), "{free:?}");
    assert_eq!(free[0], (0, 0), "{free:?}");
}

#[test]
fn every_decision_stands_with_its_application_and_says_all_of_itself() {
    let timeline = crowded();
    let read = read(&timeline);
    for mark in &timeline.marks {
        let path = match mark.app {
            Some(app) => format!("applications/app {app}/decisions"),
            None => "machine/decisions".to_owned(),
        };
        let said = |instant: &&Instant| {
            let says = |name: &str| instant.arguments.get(name).map_or("", String::as_str);
            instant.at == mark.at
                && says("event") == mark.kind.name()
                && says("application") == mark.app.map_or(String::new(), |app| app.to_string())
                && says("value") == mark.value.to_string()
                && says("text") == mark.text
        };
        assert!(read.one(&path).instants.iter().any(|instant| said(&instant)), "{mark:?} is not in {path}");
    }
    let written: usize = read.tracks.values().map(|track| track.instants.len()).sum();
    assert_eq!(written, timeline.marks.len());
    assert!(timeline.marks.iter().any(|mark| mark.kind == Kind::Target && !mark.text.is_empty()));
}

#[test]
fn guests_have_rows_and_unmanaged_load_has_a_name() {
    let read = read(&crowded());
    assert!(read.time("app 3", "guest") >= 2 * SECOND, "{:?}", read.paths());
    assert!(read.at("processors/node 0/PU 0, guests").count() > 0, "{:?}", read.paths());
    let most = read.one("applications/app 3/guest on").counts.iter().map(|&(_, count)| count).max();
    assert!(most >= Some(1), "{most:?}");
    assert!(read.time("unmanaged load", "unmanaged") >= SECOND);
    let load = &read.one("machine/unmanaged load").counts;
    assert!(load.contains(&(3 * SECOND, 1)) && load.last().is_some_and(|&(_, count)| count == 0), "{load:?}");
}

#[test]
fn guests_at_the_same_time_are_not_taken_for_calls_of_each_other() {
    let mut timeline = crowded();
    let guest = timeline.pus.iter().flatten().find(|span| span.app == Some(3)).copied().unwrap();
    let pu = timeline.pus.iter().position(|spans| spans.contains(&guest)).unwrap();
    // One that comes later and stays longer, and one that comes when the first has gone.
    for (app, from, to) in [(1, guest.from + 1, guest.to + 1), (2, guest.to, guest.to + 2)] {
        timeline.pus[pu].push(super::Span { from, to, app: Some(app), ..guest });
    }
    timeline.pus[pu].sort_by_key(|span| (span.from, span.to, span.app));
    // Reading fails where intervals of a track overlap.
    let read = read(&timeline);
    let row = format!("processors/node 0/PU {pu}, guests");
    assert_eq!(read.at(&row).map(|track| track.slices.len()).collect::<Vec<_>>(), [2, 1], "{:?}", read.paths());
}

#[test]
fn a_recording_says_its_date_and_a_journal_has_none() {
    let undated = read(&example());
    assert_eq!((undated.clocks.len(), undated.trace_clock), (0, None));
    let read = read(&dated());
    assert_eq!(read.clocks, [[(BOOTTIME, 0), (REALTIME, 82 * SECOND)]]);
    assert_eq!(read.trace_clock, Some(BOOTTIME));
}

#[test]
fn the_same_run_gives_the_same_bytes() {
    let bytes = |timeline: &Timeline| {
        let mut bytes = Vec::new();
        write(timeline, &mut bytes).unwrap();
        bytes
    };
    assert_eq!(bytes(&crowded()), bytes(&crowded()));
}
