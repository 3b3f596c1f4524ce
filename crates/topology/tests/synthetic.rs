//! Synthetic descriptions: what they mean (as hwloc 2.9 means it), what is refused, and back.

use numaestro_topology::{Machine, TopologyError, synthetic};
use proptest::prelude::*;

fn parse(text: &str) -> Machine {
    synthetic::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// Packages, nodes with PUs, memory-only nodes, LLCs, cores, PUs.
fn counts(text: &str) -> [usize; 6] {
    let m = parse(text);
    let memory_only = m.numa_nodes().iter().filter(|node| node.is_memory_only()).count();
    let local = m.numa_nodes().len() - memory_only;
    [m.packages().len(), local, memory_only, m.llcs().len(), m.cores().len(), m.pu_count()]
}

#[test]
fn levels_multiply() {
    assert_eq!(counts("pu:1"), [1, 1, 0, 1, 1, 1]);
    assert_eq!(counts("pack:2 numa:2 l3:4 core:8 pu:2"), [2, 4, 0, 16, 128, 256]);
    assert_eq!(counts("Package:2 [NUMANode] L3Cache:2 L2:2 L1d:1 L1i:1 Core:1 PU:2"), [2, 2, 0, 4, 8, 16]);
    assert_eq!(counts("pack:1 l3:2 numa:2 core:2 pu:1"), [1, 4, 0, 2, 8, 8]);
    assert_eq!(counts("numa:2 pack:2 l2:2 pu:1"), [4, 2, 0, 8, 8, 8]);
    assert_eq!(counts("pack:2 die:2 cluster:2 core:2 pu:1"), [2, 1, 0, 2, 16, 16]);
    assert_eq!(counts("[numa(memory=1GiB)] pack:2 [numa(memory=2GiB)] core:2 pu:1"), [2, 2, 1, 2, 4, 4]);
    assert_eq!(counts("pack:8192 core:1 pu:2")[5], 16384);
}

#[test]
fn nodes_are_numbered_as_hwloc_does() {
    let m = parse("pack:2 [numa(memory=4GiB)] l3:2 [numa(memory=1MB)] core:1 pu:1");
    let nodes: Vec<(u32, u64)> = m.numa_nodes().iter().map(|n| (n.os_index, n.memory_bytes.unwrap())).collect();
    let (small, large) = (1_000_000, 4 << 30);
    assert_eq!(nodes, [(0, small), (1, small), (3, small), (4, small), (2, large), (5, large)]);
    let m = parse("pack:2 [numa(memory=1GiB)] [numa(memory=2GiB)] core:1 pu:1");
    let local: Vec<u32> = m.numa_nodes().iter().filter(|n| !n.is_memory_only()).map(|n| n.os_index).collect();
    assert_eq!(local, [0, 2]);
}

#[test]
fn os_indices_can_be_given() {
    let given = parse("pack:2 core:2 pu:2(indexes=0,2,4,6,1,3,5,7)");
    let looped = parse("pack:2 core:2 pu:2(indexes=4*2:1*4)");
    assert_eq!(given, looped);
    assert_eq!(given.packages()[1].pus.to_string(), "4-7");
    assert_eq!(given.os_cpuset(&given.packages()[1].pus).to_string(), "1,3,5,7");
}

#[test]
fn mistakes_say_where_and_what() {
    let check = |text: &str, wanted_column: usize, wanted: &str| match synthetic::parse(text) {
        Err(TopologyError::Synthetic { column, expected, .. }) => {
            assert_eq!(column, wanted_column, "{text}: {expected}");
            assert!(expected.contains(wanted), "{text}: {expected}");
        }
        other => panic!("{text}: {other:?}"),
    };
    check("", 1, "pu:N");
    check("pack:2 core:2", 8, "pu:N");
    check("pack:2 kore:2 pu:1", 8, "a level such as");
    check("pack:0 pu:1", 6, "a count from 1");
    check("pack:x pu:1", 6, "a count from 1");
    check("pack 2 pu:1", 5, "':'");
    check("pack:2 [core] pu:1", 9, "only NUMA nodes");
    check("pack:2 [numa pu:1", 13, "']'");
    check("numa:2(memory=4XB) pu:1", 15, "a size");
    check("numa:2(color=red) pu:1", 8, "memory=");
    check("pack:2 pack:2 pu:1", 8, "only once");
    check("pu:2 core:1", 6, "nothing after");
    check("pack:2 pu:2(indexes=0,1)", 21, "4 different");
    check("pu:2(indexes=1,1)", 14, "2 different");
    check("pack:2pu:1", 7, "a space");
    check("2 4", 1, "a level such as");
}

#[test]
fn too_large_is_said_before_it_is_built() {
    for text in ["pack:16385 pu:1", "pack:4294967295 core:4294967295 pu:4294967295", "numa:2000 pu:1"] {
        assert!(matches!(synthetic::parse(text), Err(TopologyError::TooLarge { .. })), "{text}");
    }
}

#[test]
fn irregular_machines_have_no_description() {
    assert_eq!(parse("[numa(memory=1GiB)] pack:2 [numa] pu:1").to_synthetic(), None);
    assert_eq!(parse("pack:2 l3:1 numa:2 pu:1").to_synthetic().unwrap(), "pack:2 l3:1 numa:2 core:1 pu:1");
}

proptest! {
    #[test]
    fn regular_machines_survive_a_round_trip(
        pack in 1..4_u32, numa in 1..4_u32, cache in 1..4_u32, core in 1..5_u32, pu in 1..3_u32,
        cache_above in any::<bool>(), with_cache in any::<bool>(), memory in prop::option::of(1..1000_u64),
    ) {
        let numa = format!("numa:{numa}{}", memory.map(|bytes| format!("(memory={bytes})")).unwrap_or_default());
        let l3 = if with_cache { format!("l3:{cache}") } else { String::new() };
        let (first, second) = if cache_above { (l3, numa) } else { (numa, l3) };
        let machine = parse(&format!("pack:{pack} {first} {second} core:{core} pu:{pu}"));
        let text = machine.to_synthetic().unwrap();
        prop_assert_eq!(parse(&text), machine, "{}", text);
    }

    #[test]
    fn no_text_panics(
        text in "\\PC{0,60}",
        almost in "((pack|numa|l3|l2|core|pu|\\[numa\\]|group)[:( ]?[0-9]{0,2}(\\((memory|size|indexes)=[0-9*:,GMk]{0,6}\\))? ?){0,6}",
    ) {
        for text in [text, almost] {
            if let Ok(machine) = synthetic::parse(&text) {
                prop_assert!(machine.pu_count() > 0);
                prop_assert!(!machine.to_string().is_empty());
                let _ = machine.to_synthetic().map(|text| synthetic::parse(&text).unwrap());
            }
        }
    }
}

#[test]
fn distances_can_be_added() {
    let id = numaestro_topology::NumaNodeId;
    let machine = parse("numa:2 core:2 pu:1").with_node_distances(vec![10, 21, 32, 10]).unwrap();
    assert!(machine.distances_reported());
    assert_eq!((machine.node_distance(id(0), id(1)), machine.node_distance(id(1), id(0))), (21, 32));
    for wrong in [vec![10, 20, 20], vec![10, 20, 20, 30]] {
        let error = parse("numa:2 core:2 pu:1").with_node_distances(wrong).unwrap_err();
        assert!(matches!(error, TopologyError::Inconsistent { .. }), "{error}");
    }
}
