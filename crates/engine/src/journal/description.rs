//! Writes a machine as text: a synthetic description if that says everything, else the sysfs files
//! that `sysfs::read` needs.

use super::JournalError;
use numaestro_topology::{CoreKind, CpuSet, Machine, MemTree, NumaNodeId, synthetic, sysfs};
use serde::{Deserialize, Serialize};

const CPU: &str = "sys/devices/system/cpu";
const NODE: &str = "sys/devices/system/node";

/// A machine as text.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) enum Description {
    /// A synthetic description in hwloc's syntax.
    Synthetic(String),
    /// The text of a [`MemTree`], and the OS indices of the PUs that may be used.
    Tree { files: String, allowed: CpuSet },
}

impl Description {
    pub(super) fn of(machine: &Machine) -> Self {
        match machine.to_synthetic() {
            Some(text) if synthetic::parse(&text).is_ok_and(|read| read == *machine) => Self::Synthetic(text),
            _ => Self::Tree { files: tree(machine).to_text(), allowed: machine.os_cpuset(machine.allowed()) },
        }
    }

    pub(super) fn machine(&self) -> Result<Machine, JournalError> {
        match self {
            Self::Synthetic(text) => synthetic::parse(text).map_err(JournalError::new),
            Self::Tree { files, allowed } => {
                let tree = MemTree::from_text(files).map_err(JournalError::new)?;
                sysfs::read(&tree, Some(allowed)).map_err(JournalError::new)
            }
        }
    }
}

/// The files that sysfs would have for a machine.
fn tree(machine: &Machine) -> MemTree {
    let mut out = MemTree::new();
    let online = machine.os_cpuset(&machine.all());
    out.insert(format!("{CPU}/online"), online.to_string());
    out.insert(format!("{CPU}/possible"), online.union(machine.offline()).to_string());
    out.insert(format!("{CPU}/offline"), machine.offline().to_string());
    out.insert(format!("{CPU}/isolated"), machine.isolated().to_string());
    processors(machine, &mut out);
    nodes(machine, &mut out);
    kinds(machine, &mut out);
    out
}

fn processors(machine: &Machine, out: &mut MemTree) {
    for pu in machine.pus() {
        let directory = format!("{CPU}/cpu{}", pu.os_index);
        let core = &machine.cores()[pu.core as usize];
        let package = &machine.packages()[pu.package as usize];
        let llc = &machine.llcs()[pu.llc as usize];
        let list = |pus| machine.os_cpuset(pus).to_string();
        out.insert(format!("{directory}/topology/core_cpus_list"), list(&core.pus));
        out.insert(format!("{directory}/topology/package_cpus_list"), list(&package.pus));
        if let Some(id) = package.os_index {
            out.insert(format!("{directory}/topology/physical_package_id"), id.to_string());
        }
        if let Some(capacity) = core.capacity {
            out.insert(format!("{directory}/cpu_capacity"), capacity.to_string());
        }
        if let Some(level) = llc.cache_level {
            let cache = format!("{directory}/cache/index0");
            out.insert(format!("{cache}/level"), level.to_string());
            out.insert(format!("{cache}/type"), "Unified");
            out.insert(format!("{cache}/shared_cpu_list"), list(&llc.pus));
            if let Some(id) = llc.id {
                out.insert(format!("{cache}/id"), id.to_string());
            }
            if let Some(bytes) = llc.size_bytes {
                out.insert(format!("{cache}/size"), format!("{}K", bytes / 1024));
            }
        }
    }
}

fn nodes(machine: &Machine, out: &mut MemTree) {
    // A row of distances stands in rising order of OS indices, the nodes themselves in hardware
    // order.
    let mut order: Vec<u32> = (0..machine.numa_nodes().len() as u32).collect();
    order.sort_by_key(|&node| machine.numa_nodes()[node as usize].os_index);
    for (from, node) in machine.numa_nodes().iter().enumerate() {
        let directory = format!("{NODE}/node{}", node.os_index);
        out.insert(format!("{directory}/cpulist"), machine.os_cpuset(&node.pus).to_string());
        if let Some(bytes) = node.memory_bytes {
            out.insert(format!("{directory}/meminfo"), format!("Node {} MemTotal: {} kB", node.os_index, bytes / 1024));
        }
        if machine.distances_reported() {
            let distance = |&to: &u32| machine.node_distance(NumaNodeId(from as u32), NumaNodeId(to)).to_string();
            out.insert(format!("{directory}/distance"), order.iter().map(distance).collect::<Vec<_>>().join(" "));
        }
    }
}

/// Adds the kinds of cores where capacities do not tell them apart.
fn kinds(machine: &Machine, out: &mut MemTree) {
    let of = |kind: CoreKind| {
        let cores = machine.cores().iter().filter(|core| core.kind == kind);
        let pus: numaestro_topology::PuSet = cores.flat_map(|core| core.pus.iter()).collect();
        machine.os_cpuset(&pus).to_string()
    };
    if machine.is_hybrid() && machine.cores().iter().any(|core| core.capacity.is_none()) {
        let middle = of(CoreKind::Middle);
        let (plain, low) =
            if middle.is_empty() { (of(CoreKind::Efficiency), middle) } else { (middle, of(CoreKind::Efficiency)) };
        out.insert("sys/devices/cpu_core/cpus", of(CoreKind::Performance));
        out.insert("sys/devices/cpu_atom/cpus", plain);
        out.insert("sys/devices/cpu_lowpower/cpus", low);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reads_back(machine: &Machine) -> Description {
        let description = Description::of(machine);
        assert_eq!(description.machine().unwrap(), *machine);
        description
    }

    #[test]
    fn regular_machines_in_words() {
        for text in ["core:4 pu:1", "pack:2 numa:2 l3:4 core:8 pu:2", "numa:2(memory=65536) core:2 pu:1"] {
            let machine = synthetic::parse(text).unwrap();
            assert!(matches!(reads_back(&machine), Description::Synthetic(_)), "{text}");
        }
    }

    #[test]
    fn every_other_machine_as_files() {
        let mut tree = tree(&synthetic::parse("pack:2 numa:2 l3:2 core:2 pu:2").unwrap());
        tree.insert(format!("{NODE}/node0/distance"), "10 12 20 21");
        tree.insert(format!("{NODE}/node3/distance"), "20 21 12 10");
        tree.insert(format!("{NODE}/node1/distance"), "12 10 20 21");
        tree.insert(format!("{NODE}/node2/distance"), "20 20 10 12");
        tree.remove(&format!("{CPU}/cpu5"));
        tree.insert(format!("{CPU}/online"), "0-4,6-31");
        tree.insert(format!("{CPU}/offline"), "5");
        tree.insert(format!("{CPU}/isolated"), "7");
        tree.insert("sys/devices/cpu_core/cpus", "0-15");
        tree.insert("sys/devices/cpu_atom/cpus", "16-31");
        let allowed: CpuSet = "0-3,8-20".parse().unwrap();
        for allowed in [None, Some(&allowed)] {
            let machine = sysfs::read(&tree, allowed).unwrap();
            assert!(matches!(reads_back(&machine), Description::Tree { .. }));
        }
    }
}
