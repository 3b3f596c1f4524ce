//! Machines far larger than those at hand: described in hwloc's words, written out as Linux would,
//! and read back as the same machine.

use numaestro_topology::{CpuSet, Level, Machine, MemTree, NumaNodeId, PuSet, synthetic, sysfs};

const CPU: &str = "sys/devices/system/cpu";
const NODE: &str = "sys/devices/system/node";

/// What Linux shows of such a machine.
fn sysfs_of(machine: &Machine) -> MemTree {
    let mut tree = MemTree::new();
    let all = machine.os_cpuset(&machine.all()).to_string();
    tree.insert(format!("{CPU}/online"), all.clone());
    tree.insert(format!("{CPU}/present"), all);
    let list = |set: &PuSet| machine.os_cpuset(set).to_string();
    for pu in machine.pus() {
        let directory = format!("{CPU}/cpu{}", pu.os_index);
        let llc = &machine.llcs()[pu.llc as usize];
        for (name, content) in [
            ("topology/physical_package_id", pu.package.to_string()),
            ("topology/core_id", pu.core.to_string()),
            ("topology/core_cpus_list", list(machine.smt_siblings(pu.id))),
            ("topology/package_cpus_list", list(&machine.packages()[pu.package as usize].pus)),
            ("cache/index3/level", llc.cache_level.expect("a cache").to_string()),
            ("cache/index3/type", "Unified".to_owned()),
            ("cache/index3/shared_cpu_list", list(&llc.pus)),
        ] {
            tree.insert(format!("{directory}/{name}"), content);
        }
    }
    let nodes = 0..machine.numa_nodes().len() as u32;
    for (from, node) in machine.numa_nodes().iter().enumerate() {
        let directory = format!("{NODE}/node{}", node.os_index);
        let row: Vec<String> = nodes
            .clone()
            .map(|to| machine.node_distance(NumaNodeId(from as u32), NumaNodeId(to)).to_string())
            .collect();
        tree.insert(format!("{directory}/cpulist"), list(&node.pus));
        tree.insert(format!("{directory}/distance"), row.join(" "));
        let kilobytes = node.memory_bytes.unwrap_or(0) >> 10;
        tree.insert(format!("{directory}/meminfo"), format!("Node {} MemTotal: {kilobytes} kB", node.os_index));
    }
    tree
}

#[track_caller]
fn check(description: &str, pus: usize, nodes: usize) -> Machine {
    let described = synthetic::parse(description).expect(description);
    // Farther by the number of boards between two nodes, and one way a little farther than back.
    let far = |from: usize, to: usize| {
        if from == to { 10 } else { 12 + (from / 8).abs_diff(to / 8) * 4 + usize::from(from > to) }
    };
    let distances = (0..nodes * nodes).map(|i| far(i / nodes, i % nodes) as u32).collect();
    let described = described.with_node_distances(distances).expect(description);
    assert_eq!((described.pu_count(), described.numa_nodes().len()), (pus, nodes));
    let read = sysfs::read(&sysfs_of(&described), None).expect(description);
    assert_eq!(read.pus(), described.pus(), "{description}");
    assert_eq!(read.cores(), described.cores(), "{description}");
    let sets = |machine: &Machine| -> Vec<PuSet> { machine.llcs().iter().map(|llc| llc.pus.clone()).collect() };
    assert_eq!(sets(&read), sets(&described), "{description}");
    assert_eq!(read.numa_nodes(), described.numa_nodes(), "{description}");
    for from in (0..nodes as u32).map(NumaNodeId) {
        for to in (0..nodes as u32).map(NumaNodeId) {
            assert_eq!(read.node_distance(from, to), described.node_distance(from, to), "{description} {from} {to}");
        }
    }
    read
}

#[test]
fn a_thousand_processors_on_sixty_four_nodes() {
    let machine = check("pack:16 numa:4 l3:2 core:4 pu:2", 1024, 64);
    assert_eq!(machine.groups(Level::Llc).len(), 128);
    assert_eq!(machine.groups(Level::NumaNode).members(63).len(), 16);
}

#[test]
fn siblings_numbered_last_and_nodes_numbered_backwards() {
    let machine = check("pack:8 numa:2(indexes=1*16) l3:1 core:16 pu:2(indexes=2*256:1*2)", 512, 16);
    let first: Vec<u32> = machine.pus().iter().take(4).map(|pu| pu.os_index).collect();
    assert_eq!(first, [0, 256, 1, 257]);
}

#[test]
fn a_cpuset_of_a_few_of_many() {
    let described = synthetic::parse("pack:16 numa:4 l3:2 core:4 pu:2").unwrap();
    let own: CpuSet = (0..1024).step_by(17).collect();
    let machine = sysfs::read(&sysfs_of(&described), Some(&own)).unwrap();
    assert_eq!(machine.os_cpuset(machine.allowed()), own);
    assert_eq!(machine.pu_count(), 1024);
}
