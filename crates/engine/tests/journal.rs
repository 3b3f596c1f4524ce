//! The journal's text. Journals outlive the program that writes them, so a kept one pins the
//! fields, their order and the words. A type inside the program may change; this file only grows.

use numaestro_engine::{Action, Class, Engine, Event, PageHome, Settings, Wish, journal};
use numaestro_policy::AppId;
use numaestro_topology::{MemTree, NumaNodeId, PuSet, synthetic, sysfs};
use std::collections::BTreeSet;

/// Every event and every action, each field with a value of its own.
const KEPT: &str = include_str!("journal/every-kind.journal");

#[test]
fn every_line_is_written_as_it_was_read() {
    let mut lines = KEPT.lines();
    let head = lines.next().unwrap();
    let (machine, settings, seed) = journal::decode_head(head).unwrap();
    assert_eq!(journal::encode_head(&machine, &settings, seed), head);
    for line in lines {
        let (at, event, actions) = journal::decode(line).unwrap();
        assert_eq!(journal::encode_named(at, journal::name(line).as_deref(), &event, &actions), line);
    }
}

#[test]
fn a_machine_without_words_is_written_as_files() {
    let files = include_str!("../../../testdata/machines/16amd64-offline-isolated/sysfs.txt");
    let tree = MemTree::from_text(files).unwrap();
    let machine = sysfs::read(&tree, Some(&"0-3,8-9".parse().unwrap())).unwrap();
    let head = journal::encode_head(&machine, &Settings::default(), 1);
    assert!(head.starts_with(r#"{"numaestro_journal":1,"machine":{"tree":{"files":"sys/devices/"#), "{head}");
    assert!(head.contains(r#"\n","allowed":"0-2,8-9"}},"policy":"","#), "{head}"); // 3 is offline
    assert_eq!(journal::decode_head(&head).unwrap(), (machine, Settings::default(), 1));
}

#[test]
fn every_kind_is_in_it() {
    for (tag, line) in [
        ("what", r#"{"at":0,"event":{"what":"?"},"actions":[]}"#),
        ("do", r#"{"at":0,"event":{"what":"timer"},"actions":[{"do":"?"}]}"#),
    ] {
        // Asked for an unknown kind, the reader lists all that it knows.
        let problem = journal::decode(line).unwrap_err().problem;
        let (_, list) = problem.split_once("expected one of ").unwrap();
        let known: BTreeSet<&str> = list.split('`').skip(1).step_by(2).collect();
        let start = format!("\"{tag}\":\"");
        let kept: BTreeSet<&str> = KEPT.split(&start).skip(1).filter_map(|rest| rest.split('"').next()).collect();
        assert_eq!(kept, known);
    }
}

#[test]
fn fields_mean_what_their_names_say() {
    let line = KEPT.lines().nth(1).unwrap();
    let wish = Wish {
        request: 2,
        min: 3,
        max: 4,
        weight_milli: 5,
        class: Class::Setter,
        wait: Some(false),
        estimate_ns: Some(6),
        claim: Some("0-2,7".parse().unwrap()),
        home: Some(NumaNodeId(1)),
        allowed: PuSet::new(),
        party: 8,
        memory: u64::MAX,
    };
    let app = AppId(1);
    let pus = "0-2".parse().unwrap();
    let target = Action::Target { app, epoch: 2, count: 3, pus, shared: true, lent: false };
    assert_eq!(journal::name(line).unwrap(), "lulesh \"ü\"");
    assert_eq!(journal::decode(line).unwrap(), (1, Event::Arrive { app, wish }, vec![Action::Start { app }, target]));
    let (_, event, _) = journal::decode(KEPT.lines().nth(2).unwrap()).unwrap();
    assert_eq!(event, Event::Arrive { app: AppId(2), wish: Wish::new(1) }, "what is not said is as usual");
    let (_, _, actions) = journal::decode(KEPT.lines().nth(4).unwrap()).unwrap();
    let pages = [PageHome::FirstTouch, PageHome::Interleave, PageHome::Node(NumaNodeId(1))];
    assert_eq!(actions, pages.map(|home| Action::Pages { app: AppId(2), home }));
}

/// Whoever has written a journal, its names steer no terminal.
#[test]
fn names_are_read_fit_to_be_shown() {
    let nameless = |line: &&str| line.contains("\"arrive\"") && !line.contains("\"name\"");
    let arrival = KEPT.lines().find(nameless).expect("an arrival");
    let line = arrival.replacen("\"event\":", "\"name\":\"a\\u001b[2J\u{202e}b\",\"event\":", 1);
    assert_eq!(journal::name(&line).as_deref(), Some("a?[2J?b"));
    assert_eq!(journal::decode_named(&line).unwrap().1.as_deref(), Some("a?[2J?b"));
    let engine = Engine::new(synthetic::parse("core:2 pu:1").unwrap(), Settings::default(), 0).unwrap();
    let names = [(AppId(1), "c\u{2066}d".to_owned())].into();
    let state = journal::State { at: 1, state: engine.snapshot(), names };
    assert_eq!(journal::State::decode(&state.encode()).unwrap().names[&AppId(1)], "c?d");
}

#[test]
fn other_lines_are_refused() {
    let lines: Vec<&str> = KEPT.lines().collect();
    for (line, from, to) in [
        (0, "\"seed\"", "\"sede\":1,\"seed\""),
        (0, "\"numaestro_journal\":1", "\"numaestro_journal\":2"),
        (0, "\"saturation\":0", "\"saturation\":0,\"rate\":1"),
        (0, "\"most\":3", "\"most\":3,\"least\":1"),
        (0, "0,5-6", "0,6-5"),
        (1, "\"at\":1,", ""),
        (1, "\"at\":1,", "\"at\":1,\"by\":2,"),
        (1, "\"memory\"", "\"memories\""),
        (1, "\"request\":2", "\"request\":2,\"wants\":2"),
        (1, "\"request\":2,", ""),
        (1, "\"request\":2,", "\"request\":-2,"),
        (1, "\"request\":2,", "\"request\":4294967296,"),
        (1, "\"setter\"", "\"setters\""),
        (1, "0-2,7", "0-2,x"),
        (1, "\"epoch\":2", "\"epoch\":2,\"era\":2"),
        (1, "\"shared\":true", "\"shared\":1"),
        (4, "first-touch", "last-touch"),
        (4, "\"home\":\"1\"", "\"home\":\"-1\""),
        (5, "\"processors\":2", "\"processors\":2,\"min\":2"),
        (17, "\"most\":2", "\"most\":2,\"least\":1"),
    ] {
        let changed = lines[line].replacen(from, to, 1);
        assert_ne!(changed, lines[line], "{from} is not in line {line}");
        let read =
            if line == 0 { journal::decode_head(&changed).map(drop) } else { journal::decode(&changed).map(drop) };
        assert!(read.is_err(), "{changed}");
    }
}
