//! The machine this runs on.

use crate::say::counted;
use numaestro_host::DirTree;
use numaestro_topology::Machine;
use std::fmt::Write;
use std::path::Path;

/// The machine this runs on, as far as this process may use it.
pub fn this_machine() -> anyhow::Result<Machine> {
    let allowed = numaestro_host::affinity::get(0)?;
    Ok(numaestro_topology::sysfs::read(&DirTree::new(Path::new("/")), Some(&allowed))?)
}

/// One line: the number of objects of each kind, and the PUs that may be used.
pub fn summary(machine: &Machine) -> String {
    let mut text = [
        counted(machine.packages().len(), "package"),
        counted(machine.numa_nodes().len(), "NUMA node"),
        counted(machine.llcs().len(), "last-level cache"),
        counted(machine.cores().len(), "core"),
        counted(machine.pu_count(), "PU"),
    ]
    .join(", ");
    let _ = write!(text, "; usable: {}", machine.os_cpuset(machine.allowed()));
    for (word, set) in [("isolated", machine.isolated()), ("offline", machine.offline())] {
        if !set.is_empty() {
            let _ = write!(text, "; {word}: {set}");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_summary_counts_in_the_singular_and_the_plural() {
        let machine = numaestro_topology::synthetic::parse("pack:1 numa:2 l3:1 core:2 pu:2").expect("a machine");
        assert_eq!(summary(&machine), "1 package, 2 NUMA nodes, 2 last-level caches, 4 cores, 8 PUs; usable: 0-7");
    }
}
