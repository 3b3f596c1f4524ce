//! The files of Paraver, checked as Paraver checks them when it opens them.

use super::super::timeline::tests::{crowded, example, lively_timeline};
use super::*;

fn written(timeline: &Timeline, write: fn(&Timeline, &mut dyn Write) -> Result<()>) -> String {
    let mut text = Vec::new();
    write(timeline, &mut text).unwrap();
    String::from_utf8(text).unwrap()
}

/// The nodes of the header: how many processors each has; and its applications: of each task, the
/// threads and the node, from 0.
fn sizes(head: &str) -> (Vec<usize>, Vec<Vec<(usize, usize)>>) {
    let (_, rest) = head.split_once("_ns:").unwrap();
    let mut parts = rest.split_inclusive(')');
    let inside = |text: &str| text.split_once('(').unwrap().1.trim_end_matches(')').to_owned();
    let nodes: Vec<usize> = inside(parts.next().unwrap()).split(',').map(|cpus| cpus.parse().unwrap()).collect();
    let task = |task: &str| {
        let (threads, node) = task.split_once(':').unwrap();
        (threads.parse().unwrap(), node.parse::<usize>().unwrap() - 1)
    };
    (nodes, parts.map(|part| inside(part).split(',').map(task).collect()).collect())
}

/// Checks the records as Paraver does: in order of time, each thread of a task on the node that the
/// header says. Gives how many states stand on processors.
fn check_records(text: &str) -> usize {
    let mut lines = text.lines();
    let (nodes, applications) = sizes(lines.next().unwrap());
    let node_of: Vec<usize> = nodes.iter().enumerate().flat_map(|(node, &cpus)| vec![node; cpus]).collect();
    let (mut latest, mut states) = (0, 0);
    for line in lines {
        let fields: Vec<u64> = line.split(':').map(|field| field.parse().unwrap()).collect();
        let [_, cpu, application, task, thread, at] = [0, 1, 2, 3, 4, 5].map(|field| fields[field]);
        assert!(at >= latest, "{line} comes after {latest}");
        latest = at;
        let (threads, node) = applications[application as usize - 1][task as usize - 1];
        assert!(thread >= 1 && thread as usize <= threads, "{line}");
        if cpu > 0 {
            assert_eq!(node_of[cpu as usize - 1], node, "{line}");
            states += 1;
        }
    }
    states
}

#[test]
fn records_stand_in_order_and_on_the_node_of_their_task() {
    let timeline = example();
    let text = written(&timeline, records);
    let head = text.lines().next().unwrap();
    assert_eq!(head, "#Paraver (09/07/2026 at 14:13):4000000000_ns:2(2,2):2:2(2:1,2:2):1(2:2)");
    assert_eq!(check_records(&text), timeline.pus.iter().map(Vec::len).sum::<usize>());
    let states = text.lines().skip(1).map(|line| line.split(':').collect::<Vec<_>>());
    let of_second = states.filter(|fields| fields[0] == "1" && fields[2] == "2");
    let busy: u64 = of_second.map(|fields| fields[6].parse::<u64>().unwrap() - fields[5].parse::<u64>().unwrap()).sum();
    assert_eq!(busy, 3_000_000_000);
    for seed in 0..20 {
        let timeline = lively_timeline(seed);
        let text = written(&timeline, records);
        assert_eq!(check_records(&text), timeline.pus.iter().map(Vec::len).sum::<usize>(), "seed {seed}");
    }
}

#[test]
fn the_states_of_a_thread_do_not_overlap() {
    for timeline in (0..20).map(lively_timeline).chain([crowded()]) {
        let text = written(&timeline, records);
        let mut ends = std::collections::BTreeMap::new();
        for line in text.lines().skip(1).filter(|line| line.starts_with("1:")) {
            let fields: Vec<u64> = line.split(':').map(|field| field.parse().unwrap()).collect();
            let end = ends.entry((fields[2], fields[3], fields[4])).or_insert(0);
            assert!(fields[5] >= *end, "{line} begins before {end}");
            *end = fields[6];
        }
    }
}

#[test]
fn guests_and_unmanaged_load_are_in_it() {
    let timeline = crowded();
    let text = written(&timeline, records);
    assert!(text.lines().next().is_some_and(|head| head.contains("_ns:1(2):4:1(")), "{text}");
    check_records(&text);
    // Records of a processor's state: the application and the state.
    let states = text.lines().skip(1).map(|line| line.split(':').collect::<Vec<_>>());
    let states: Vec<_> =
        states.filter(|f| f[0] == "1" && f[1] != "0").map(|f| [f[2], f[7]].map(str::to_owned)).collect();
    assert!(states.contains(&["3".to_owned(), of(How::Guest).to_string()]), "{text}");
    assert!(states.contains(&["4".to_owned(), of(How::Unmanaged).to_string()]), "{text}");
    let text = written(&timeline, rows);
    assert!(text.contains("LEVEL APPL SIZE 4\n") && text.contains("\nunmanaged load\n"), "{text}");
}

#[test]
fn there_is_a_name_for_every_row_and_a_meaning_for_every_number() {
    let timeline = example();
    let text = written(&timeline, rows);
    for (level, size) in [("CPU", 4), ("NODE", 2), ("APPL", 2), ("TASK", 3), ("THREAD", 6)] {
        let head = format!("LEVEL {level} SIZE {size}");
        let names = text.lines().skip_while(|line| *line != head).skip(1).take_while(|line| !line.is_empty());
        assert_eq!(names.count(), size, "{head} in\n{text}");
    }
    let text = written(&timeline, labels);
    assert!(Kind::ALL.iter().all(|&kind| text.contains(&format!("{}    {}", event_type(kind), kind.name()))));
}

#[test]
fn a_run_without_applications_has_one_that_does_nothing() {
    let mut timeline = example();
    timeline.apps.clear();
    timeline.pus.iter_mut().for_each(Vec::clear);
    timeline.marks.clear();
    let text = written(&timeline, records);
    assert!(text.ends_with(":2(2,2):1:1(1:1)\n"), "{text}");
    assert!(written(&timeline, rows).contains("LEVEL APPL SIZE 1\nnobody\n"));
}

#[test]
fn windows_show_events_and_states_that_are_in_the_files() {
    let timeline = crowded();
    let (windows, labels, records) =
        (written(&timeline, windows), written(&timeline, labels), written(&timeline, records));
    let said = windows.lines().find_map(|line| line.strip_prefix("ConfigFile.NumWindows: "));
    let names = windows.lines().filter(|line| line.starts_with("window_name ")).count();
    assert_eq!(said, Some(names.to_string().as_str()), "{windows}");
    let types = windows.lines().filter_map(|line| line.strip_prefix("window_filter_module evt_type 1 "));
    let types: Vec<&str> = types.collect();
    assert!(!types.is_empty(), "{windows}");
    for kind in types {
        assert!(labels.contains(&format!("\n6    {kind}    ")), "{kind} has no name");
        assert!(records.lines().any(|line| line.split(':').nth(6) == Some(kind) && line.starts_with("2:")), "{kind}");
    }
    let states = windows.lines().filter_map(|line| line.split_once(" In State { 1, { 1 ")).map(|(_, rest)| rest);
    let states: Vec<&str> = states.map(|rest| rest.trim_end_matches(" } }")).collect();
    assert_eq!(states.len(), 1, "{windows}");
    assert!(labels.contains(&format!("\n{}    guest\n", states[0])), "{windows}");
    // Each application has a colour of its own.
    assert!(windows.contains("window_maximum_y 4\n"), "{windows}");
}
