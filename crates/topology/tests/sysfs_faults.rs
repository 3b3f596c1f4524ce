//! Broken, partial and huge trees: a machine or a clear error, never a panic.

use numaestro_topology::{CoreKind, Level, MemTree, TopologyError, sysfs};
use proptest::prelude::*;
use std::path::Path;

const CPU: &str = "sys/devices/system/cpu";
const NODE: &str = "sys/devices/system/node";

fn recorded(name: &str) -> MemTree {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/machines").join(name).join("sysfs.txt");
    MemTree::from_text(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// Takes away everything whose path contains `part`.
fn without(name: &str, part: &str) -> MemTree {
    let tree = recorded(name);
    let mut out = MemTree::new();
    for (path, content) in tree.iter().filter(|(path, _)| !path.contains(part)) {
        out.insert(path, content);
    }
    assert_ne!(out, tree, "{part} took nothing away");
    out
}

#[test]
fn what_is_missing_has_a_fallback() {
    let read = |part: &str| sysfs::read(&without("256amd64-2p8n-smt", part), None).unwrap();
    let whole = sysfs::read(&recorded("256amd64-2p8n-smt"), None).unwrap();
    assert_eq!(read("cpu/online").pu_count(), 256);
    assert_eq!(read("cache/").llcs().len(), 8);
    assert_eq!(read("cache/").llcs()[0].cache_level, None);
    assert_eq!(read("/id").llcs().len(), 16);
    assert_eq!(read("/node/").numa_nodes().len(), 1);
    assert_eq!(read("/node/").llcs().len(), 16);
    assert_eq!(read("meminfo").numa_nodes()[0].memory_bytes, None);
    assert!(!read("distance").distances_reported());
    assert_eq!(read("distance").node_distance(whole.pu(0.into()).node, whole.pu(200.into()).node), 20);
    assert_eq!(read("core_cpus_list").cores().len(), 256);
    assert_eq!(read("package_cpus_list").packages().len(), 2);
    let bare = read("topology/");
    assert_eq!((bare.packages().len(), bare.cores().len(), bare.numa_nodes().len()), (1, 256, 8));
    assert_eq!(read("cpu7/topology/").pu_count(), 256);
}

#[test]
fn ids_stand_in_for_sibling_lists() {
    let mut tree = MemTree::new();
    tree.insert(format!("{CPU}/online"), "0-7\n");
    for cpu in 0..8 {
        let topology = format!("{CPU}/cpu{cpu}/topology");
        // Core ids are only unique within their cluster.
        for (name, id) in [("physical_package_id", cpu / 4), ("cluster_id", cpu / 2 % 2), ("core_id", 0)] {
            tree.insert(format!("{topology}/{name}"), format!("{id}\n"));
        }
    }
    let machine = sysfs::read(&tree, None).unwrap();
    assert_eq!((machine.packages().len(), machine.cores().len(), machine.smt_width()), (2, 4, 2));
}

#[test]
fn masks_stand_in_for_lists() {
    let mut tree = without("2amd64-vm", "_list");
    tree.insert(format!("{NODE}/node0/cpumap"), "00000000,00000003\n");
    tree.remove(&format!("{NODE}/node0/cpulist"));
    assert_eq!(sysfs::read(&tree, None), sysfs::read(&recorded("2amd64-vm"), None));
}

#[test]
fn garbage_is_named() {
    let check = |path: &str, content: &str, wanted: &str| {
        let mut tree = recorded("16amd64-memory-only");
        tree.insert(path, content);
        let error = sysfs::read(&tree, None).expect_err(path).to_string();
        assert!(error.contains(path) && error.contains(wanted), "{path}: {error}");
    };
    check(&format!("{CPU}/online"), "0-", "expected a list");
    check(&format!("{CPU}/online"), "", "expected a list");
    check(&format!("{CPU}/present"), "all", "expected a list");
    check(&format!("{CPU}/isolated"), "\0\0", "expected a list");
    check(&format!("{CPU}/cpu3/topology/physical_package_id"), "one", "a number");
    check(&format!("{CPU}/cpu3/topology/core_cpus_list"), "4", "not in its own list");
    check(&format!("{CPU}/cpu3/topology/package_cpus_list"), "1,", "expected a list");
    check(&format!("{CPU}/cpu3/cache/index3/level"), "", "a number");
    check(&format!("{CPU}/cpu3/cache/index3/level"), "999", "a cache level");
    check(&format!("{CPU}/cpu3/cache/index3/size"), "32M", "a size");
    check(&format!("{CPU}/cpu3/cache/index3/size"), "99999999999999999999K", "a size");
    check(&format!("{CPU}/cpu3/cpu_capacity"), "-7", "a number");
    check(&format!("{NODE}/node1/cpulist"), "0-15", "also in node 0");
    check(&format!("{NODE}/node1/cpulist"), "x", "expected a list");
    check(&format!("{NODE}/node0/meminfo"), "Node 0 MemFree: 1 kB", "MemTotal");
    check(&format!("{NODE}/node4/distance"), "10 20", "4 distances");
    check(&format!("{NODE}/node4/distance"), "10 20 x 30", "4 distances");
}

#[test]
fn nothing_usable_is_an_error() {
    assert!(matches!(sysfs::read(&MemTree::new(), None), Err(TopologyError::Missing { .. })));
    let elsewhere = "500-600".parse().unwrap();
    let error = sysfs::read(&recorded("2amd64-vm"), Some(&elsewhere)).unwrap_err();
    assert!(matches!(error, TopologyError::NoProcessor(_)), "{error}");
    let mut partial = recorded("16amd64-8n2c");
    partial.remove(&format!("{NODE}/node3/distance"));
    assert!(matches!(sysfs::read(&partial, None), Err(TopologyError::Inconsistent { .. })));
    let mut huge = MemTree::new();
    huge.insert(format!("{CPU}/online"), "0-70000");
    assert!(matches!(sysfs::read(&huge, None), Err(TopologyError::TooLarge { .. })));
}

#[test]
fn old_kernels_say_null_for_no_isolated_processor() {
    let mut tree = recorded("2amd64-vm");
    tree.insert(format!("{CPU}/isolated"), " (null)\n");
    assert!(sysfs::read(&tree, None).unwrap().isolated().is_empty());
}

#[test]
fn everything_isolated_leaves_everything_allowed() {
    let mut tree = recorded("2amd64-vm");
    tree.insert(format!("{CPU}/isolated"), "0-1\n");
    assert_eq!(sysfs::read(&tree, None).unwrap().allowed().len(), 2);
}

#[test]
fn cores_without_the_large_cache_have_their_own_last_level() {
    let mut tree = recorded("20amd64-hybrid");
    for cpu in 16..20 {
        assert!(tree.remove(&format!("{CPU}/cpu{cpu}/cache")) > 0);
        for (name, content) in [("level", "2"), ("type", "Unified"), ("shared_cpu_list", "16-19"), ("size", "2048K")] {
            tree.insert(format!("{CPU}/cpu{cpu}/cache/index2/{name}"), content);
        }
    }
    tree.insert("sys/devices/cpu_lowpower/cpus", "16-19");
    let machine = sysfs::read(&tree, None).unwrap();
    let levels: Vec<_> = machine.llcs().iter().map(|llc| (llc.cache_level, llc.pus.len())).collect();
    assert_eq!(levels, [(Some(3), 16), (Some(2), 4)]);
    let kinds: Vec<CoreKind> =
        [0, 12, 16].map(|cpu| machine.cores()[machine.pu(cpu.into()).core as usize].kind).to_vec();
    assert_eq!(kinds, [CoreKind::Performance, CoreKind::Middle, CoreKind::Efficiency]);
}

/// 4096 PUs, 64 nodes, 256 LLCs; processors numbered with SMT siblings far apart and nodes with
/// gaps.
#[test]
fn large_machines_are_read() {
    let (cores, smt, per_llc, per_node) = (2048, 2, 8, 32);
    let mut tree = MemTree::new();
    let both = |first: u32, count: u32| {
        let end = first + count - 1;
        format!("{first}-{end},{}-{}", first + cores, end + cores)
    };
    tree.insert(format!("{CPU}/online"), format!("0-{}", cores * smt - 1));
    for cpu in 0..cores * smt {
        let core = cpu % cores;
        tree.insert(format!("{CPU}/cpu{cpu}/topology/core_cpus_list"), format!("{core},{}", core + cores));
        let first = core / per_llc * per_llc;
        tree.insert(format!("{CPU}/cpu{cpu}/cache/index3/shared_cpu_list"), both(first, per_llc));
        tree.insert(format!("{CPU}/cpu{cpu}/cache/index3/level"), "3");
    }
    for node in 0..cores / per_node {
        tree.insert(format!("{NODE}/node{}/cpulist", node * 3), both(node * per_node, per_node));
    }
    let machine = sysfs::read(&tree, None).unwrap();
    let counts = [Level::Pu, Level::Core, Level::Llc, Level::NumaNode].map(|level| machine.groups(level).len());
    assert_eq!(counts, [4096, 2048, 256, 64]);
    assert_eq!(machine.numa_nodes()[5].os_index, 15);
    assert_eq!(machine.os_index(1.into()), 2048);
    assert_eq!(machine.pu_set(&machine.os_cpuset(machine.allowed())), *machine.allowed());
}

/// What may stand in a sysfs file, right or wrong.
fn contents() -> impl Strategy<Value = String> {
    prop_oneof![
        "[0-9]{1,3}",
        "[0-9]{1,2}-[0-9]{1,3}(,[0-9]{1,3})?\n",
        "(10|20|30)( (10|20|30)){0,4}\n",
        "[0-9a-f]{8}(,[0-9a-f]{8})?",
        "[0-9]{1,6}K\n",
        Just(String::from("-1")),
        Just(String::from("Node 0 MemTotal: 77 kB\n")),
        "\\PC{0,20}",
    ]
}

fn paths() -> impl Strategy<Value = String> {
    let file = prop::sample::select(vec![
        "cpu/online",
        "cpu/present",
        "cpu/offline",
        "cpu/isolated",
        "cpu/cpu#/cpu_capacity",
        "cpu/cpu#/topology/core_cpus_list",
        "cpu/cpu#/topology/core_cpus",
        "cpu/cpu#/topology/thread_siblings_list",
        "cpu/cpu#/topology/package_cpus_list",
        "cpu/cpu#/topology/physical_package_id",
        "cpu/cpu#/topology/core_id",
        "cpu/cpu#/topology/die_id",
        "cpu/cpu#/cache/index2/level",
        "cpu/cpu#/cache/index2/type",
        "cpu/cpu#/cache/index2/size",
        "cpu/cpu#/cache/index2/id",
        "cpu/cpu#/cache/index2/shared_cpu_list",
        "node/node#/cpulist",
        "node/node#/meminfo",
        "node/node#/distance",
    ]);
    (file, 0..6_u32).prop_map(|(file, number)| format!("sys/devices/system/{}", file.replace('#', &number.to_string())))
}

fn must_hold(tree: &MemTree) -> Result<(), TestCaseError> {
    match sysfs::read(tree, None) {
        Err(error) => prop_assert!(!error.to_string().is_empty()),
        Ok(machine) => {
            prop_assert!(!machine.allowed().is_empty());
            prop_assert!(machine.allowed().is_subset(&machine.all()));
            for pu in machine.pus() {
                prop_assert_eq!(machine.pu_of_os(pu.os_index), Some(pu.id));
                prop_assert!(machine.smt_siblings(pu.id).contains(pu.id));
                prop_assert!(machine.llcs()[pu.llc as usize].pus.contains(pu.id));
                prop_assert!(machine.numa_nodes()[pu.node.index()].pus.contains(pu.id));
                prop_assert!(machine.packages()[pu.package as usize].pus.contains(pu.id));
                prop_assert!(!machine.offline().contains(pu.os_index));
            }
            let _ = machine.to_string();
            if let Some(text) = machine.to_synthetic() {
                prop_assert!(numaestro_topology::synthetic::parse(&text).is_ok(), "{}", text);
            }
        }
    }
    Ok(())
}

proptest! {
    #[test]
    fn arbitrary_trees_do_no_harm(files in prop::collection::btree_map(paths(), contents(), 0..40), online in prop::option::of("0-[0-7]")) {
        let mut tree = MemTree::new();
        for (path, content) in files {
            tree.insert(path, content);
        }
        if let Some(online) = online {
            tree.insert(format!("{CPU}/online"), online);
        }
        must_hold(&tree)?;
    }

    #[test]
    fn damaged_trees_do_no_harm(
        name in prop::sample::select(vec!["16amd64-offline-isolated", "16amd64-memory-only", "20amd64-hybrid", "8arm64-three-kinds"]),
        damage in prop::collection::vec((any::<prop::sample::Index>(), prop::option::of(contents()), 0..10_usize), 1..6),
    ) {
        let whole = recorded(name);
        let files: Vec<(&str, &str)> = whole.iter().collect();
        let mut tree = whole.clone();
        for (which, replaced, kept) in damage {
            let (path, content) = files[which.index(files.len())];
            match replaced {
                Some(content) => tree.insert(path, content),
                None if kept == 0 => drop(tree.remove(path)),
                None => tree.insert(path, content.chars().take(kept).collect::<String>()),
            }
        }
        must_hold(&tree)?;
    }

    #[test]
    fn recorded_form_never_panics(text in "[a-z/\t\\\\n#\n]{0,60}") {
        if let Ok(tree) = MemTree::from_text(&text) {
            prop_assert_eq!(MemTree::from_text(&tree.to_text()).map(|again| again.iter().count()), Ok(tree.iter().count()));
        }
    }
}
