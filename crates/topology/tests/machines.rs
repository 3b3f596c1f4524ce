//! Every machine of `testdata/machines` is read and drawn as its `tree.txt` says.

use numaestro_topology::{Level, Machine, MemTree, sysfs};
use std::path::{Path, PathBuf};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/machines")
}

fn tree(name: &str) -> MemTree {
    let path = folder().join(name).join("sysfs.txt");
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    MemTree::from_text(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn machine(name: &str) -> Machine {
    sysfs::read(&tree(name), None).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn names() -> Vec<String> {
    let entries = std::fs::read_dir(folder()).expect("testdata/machines");
    let mut names: Vec<String> = entries
        .map(|entry| entry.expect("entry").path())
        .filter(|path| path.join("sysfs.txt").exists())
        .map(|path| path.file_name().expect("name").to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

#[test]
fn drawings_are_as_expected() {
    let names = names();
    assert!(names.len() >= 10, "machines went missing: {names:?}");
    let mut wrong = Vec::new();
    for name in names {
        let drawing = machine(&name).to_string();
        let path = folder().join(&name).join("tree.txt");
        if std::env::var_os("UPDATE_EXPECT").is_some() {
            std::fs::write(&path, &drawing).expect("write the expectation");
        }
        let expected = std::fs::read_to_string(&path).unwrap_or_default();
        if drawing != expected {
            wrong.push(format!("{name}: expected\n{expected}\nfound\n{drawing}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn recorded_form_survives_a_round_trip() {
    for name in names() {
        let tree = tree(&name);
        assert_eq!(MemTree::from_text(&tree.to_text()), Ok(tree), "{name}");
    }
}

#[test]
fn own_cpuset_restricts_what_is_allowed_and_not_what_is_seen() {
    let cpuset = "2-5,128-131,999".parse().unwrap();
    let machine = sysfs::read(&tree("256amd64-2p8n-smt"), Some(&cpuset)).unwrap();
    assert_eq!(machine.pu_count(), 256);
    assert_eq!(machine.os_cpuset(machine.allowed()).to_string(), "2-5,128-131");
    assert_eq!(machine.groups(Level::Core).len(), 6);
    assert_eq!(machine.groups(Level::Package).len(), 1);
}

#[test]
fn isolated_processors_are_allowed_only_when_given() {
    let tree = tree("16amd64-offline-isolated");
    let machine = sysfs::read(&tree, None).unwrap();
    assert_eq!(machine.isolated().to_string(), "6-7,14-15");
    assert_eq!(machine.offline().to_string(), "3,11,13");
    assert_eq!(machine.os_cpuset(machine.allowed()).to_string(), "0-2,4-5,8-10,12");
    assert_eq!(machine.pu_of_os(3), None);
    let given = sysfs::read(&tree, Some(&"6,7".parse().unwrap())).unwrap();
    assert_eq!(given.os_cpuset(given.allowed()).to_string(), "6-7");
}

#[test]
fn hardware_order_puts_siblings_together() {
    let machine = machine("256amd64-2p8n-smt");
    let os: Vec<u32> = machine.pus().iter().take(4).map(|pu| pu.os_index).collect();
    assert_eq!(os, [0, 128, 1, 129]);
    let ranks: Vec<u32> = machine.pus().iter().take(4).map(|pu| pu.smt_rank).collect();
    assert_eq!(ranks, [0, 1, 0, 1]);
}

#[test]
fn distances_keep_their_direction() {
    let machine = machine("16amd64-memory-only");
    let node = |os: u32| {
        let position = machine.numa_nodes().iter().position(|node| node.os_index == os).unwrap();
        numaestro_topology::NumaNodeId(position as u32)
    };
    assert_eq!(machine.node_distance(node(0), node(9)), 28);
    assert_eq!(machine.node_distance(node(9), node(0)), 26);
    assert!(machine.numa_nodes()[node(4).index()].is_memory_only());
    assert_eq!(machine.numa_nodes()[node(1).index()].memory_bytes, Some(0));
}

/// What was asked of the guests, not what the reader made of them.
#[test]
fn recorded_guests_are_what_was_asked_for() {
    let shape = |name: &str| -> Vec<(u32, String, bool)> {
        let machine = machine(name);
        let node = |node: &numaestro_topology::NumaNode| {
            (node.os_index, machine.os_cpuset(&node.pus).to_string(), node.memory_bytes > Some(0))
        };
        machine.numa_nodes().iter().map(node).collect()
    };
    let nodes = |text: &[(u32, &str, bool)]| -> Vec<(u32, String, bool)> {
        text.iter().map(|&(number, cpus, memory)| (number, cpus.to_owned(), memory)).collect()
    };
    let odd = nodes(&[(0, "0,2,5", true), (1, "1,4", true), (2, "3", false), (3, "", true)]);
    assert_eq!(shape("6amd64-guest-odd-nodes"), odd);
    let unequal = nodes(&[(0, "0-1", true), (1, "2-3", true), (2, "4-5", true), (3, "6-7", true)]);
    assert_eq!(shape("8amd64-guest-unequal"), unequal);
    let offline = machine("8amd64-guest-offline-at-boot");
    assert_eq!((offline.offline().to_string().as_str(), offline.pu_count()), ("1,5-7", 4));
    let isolated = machine("8amd64-guest-isolcpus");
    assert_eq!(isolated.isolated().to_string(), "2-3,7");
    assert_eq!(isolated.os_cpuset(isolated.allowed()).to_string(), "0-1,4-6");
    assert_eq!(machine("8amd64-guest-2n-smt").cores().len(), 4);
    let one_way = machine("6amd64-guest-one-way");
    let node = numaestro_topology::NumaNodeId;
    assert_eq!([one_way.node_distance(node(0), node(2)), one_way.node_distance(node(2), node(0))], [31, 40]);
}
