//! Writes the tree as indented text in hwloc's words, for people and for comparing machines in
//! tests.

use crate::machine::{Core, CoreKind, Llc, Machine, NumaNode};
use crate::set::PuSet;
use std::fmt;

impl fmt::Display for Machine {
    /// One line for each package, NUMA node and cache, cores of one kind together; then distances,
    /// cpuset and other special data.
    ///
    /// Logical indices are marked `L#`, those of Linux `P#`, as in hwloc. An object that spans
    /// several of the objects it stands under says so.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let memory: u64 = self.nodes.iter().filter_map(|node| node.memory_bytes).fold(0, u64::saturating_add);
        write!(f, "Machine ({} PUs, {} cores", self.pus.len(), self.cores.len())?;
        if self.nodes.iter().any(|node| node.memory_bytes.is_some()) {
            write!(f, ", {}", Bytes(memory))?;
        }
        writeln!(f, ")")?;
        for (number, package) in self.packages.iter().enumerate() {
            write!(f, "  Package L#{number}")?;
            if let Some(os) = package.os_index {
                write!(f, " (P#{os})")?;
            }
            writeln!(f)?;
            self.write_nodes(f, &package.pus)?;
        }
        for (number, node) in self.nodes.iter().enumerate().filter(|(_, node)| node.is_memory_only()) {
            writeln!(f, "  NUMANode L#{number} {}, no PUs", NodeFacts(node))?;
        }
        self.write_distances(f)?;
        self.write_special(f)
    }
}

impl Machine {
    fn write_nodes(&self, f: &mut fmt::Formatter<'_>, package: &PuSet) -> fmt::Result {
        for (number, node) in self.nodes.iter().enumerate().filter(|(_, node)| node.pus.intersects(package)) {
            let spans = if node.pus.is_subset(package) { "" } else { ", spans packages" };
            writeln!(f, "    NUMANode L#{number} {}{spans}", NodeFacts(node))?;
            self.write_llcs(f, &node.pus.intersection(package))?;
        }
        Ok(())
    }

    fn write_llcs(&self, f: &mut fmt::Formatter<'_>, node: &PuSet) -> fmt::Result {
        for (number, llc) in self.llcs.iter().enumerate().filter(|(_, llc)| llc.pus.intersects(node)) {
            let here = llc.pus.intersection(node);
            if llc.cache_level.is_some() {
                let spans = if llc.pus.is_subset(node) { "" } else { ", spans nodes" };
                writeln!(f, "      {}{spans}", LlcFacts(number, llc))?;
            } else {
                writeln!(f, "      no cache known")?;
            }
            self.write_cores(f, &here)?;
        }
        Ok(())
    }

    /// Neighbouring cores of one width, kind and capacity share a line.
    fn write_cores(&self, f: &mut fmt::Formatter<'_>, llc: &PuSet) -> fmt::Result {
        let same = |a: &(usize, &Core), b: &(usize, &Core)| {
            let shape = |core: &Core| (core.pus.len(), core.kind, core.capacity);
            a.0 + 1 == b.0 && shape(a.1) == shape(b.1)
        };
        let cores: Vec<(usize, &Core)> =
            self.cores.iter().enumerate().filter(|(_, core)| core.pus.intersects(llc)).collect();
        for run in cores.chunk_by(same) {
            let (Some((first, core)), Some((last, _))) = (run.first(), run.last()) else { continue };
            let mut pus = PuSet::new();
            for (_, core) in run {
                pus.or_with(&core.pus);
            }
            pus.and_with(llc);
            write!(f, "        Core L#{first}")?;
            if first != last {
                write!(f, "-{last}")?;
            }
            write!(f, ": PU L#{pus} (P#{})", self.os_cpuset(&pus))?;
            if core.pus.len() > 1 {
                write!(f, ", {} PUs each", core.pus.len())?;
            }
            write!(f, "{}", KindFacts(core))?;
            writeln!(f)?;
        }
        Ok(())
    }

    fn write_distances(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        /// Most nodes whose distances are drawn as a matrix.
        const SHOWN: usize = 32;
        if !self.distances_reported || self.nodes.len() < 2 || self.nodes.len() > SHOWN {
            return Ok(());
        }
        writeln!(f, "  Distances (from row to column, NUMANode L#)")?;
        for (number, row) in self.distances.chunks(self.nodes.len()).enumerate() {
            write!(f, "    {number:>2}:")?;
            for distance in row {
                write!(f, " {distance:>3}")?;
            }
            writeln!(f)?;
        }
        Ok(())
    }

    fn write_special(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.allowed.len() != self.pus.len() {
            writeln!(f, "  Allowed: PU L#{} (P#{})", self.allowed, self.os_cpuset(&self.allowed))?;
        }
        if !self.isolated.is_empty() {
            writeln!(f, "  Isolated: P#{}", self.isolated)?;
        }
        if !self.offline.is_empty() {
            writeln!(f, "  Offline: P#{}", self.offline)?;
        }
        Ok(())
    }
}

struct NodeFacts<'a>(&'a NumaNode);

impl fmt::Display for NodeFacts<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "(P#{}", self.0.os_index)?;
        match self.0.memory_bytes {
            None => write!(f, ")"),
            Some(0) => write!(f, " no memory)"),
            Some(bytes) => write!(f, " {})", Bytes(bytes)),
        }
    }
}

struct LlcFacts<'a>(usize, &'a Llc);

impl fmt::Display for LlcFacts<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "L{} L#{}", self.1.cache_level.unwrap_or(0), self.0)?;
        match (self.1.id, self.1.size_bytes) {
            (None, None) => Ok(()),
            (None, Some(bytes)) => write!(f, " ({})", Bytes(bytes)),
            (Some(id), None) => write!(f, " (P#{id})"),
            (Some(id), Some(bytes)) => write!(f, " (P#{id} {})", Bytes(bytes)),
        }
    }
}

struct KindFacts<'a>(&'a Core);

impl fmt::Display for KindFacts<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = match self.0.kind {
            CoreKind::Uniform => return Ok(()),
            CoreKind::Efficiency => "efficiency",
            CoreKind::Middle => "middle",
            CoreKind::Performance => "performance",
        };
        write!(f, ", {word}")?;
        self.0.capacity.map_or(Ok(()), |capacity| write!(f, " (capacity {capacity})"))
    }
}

/// Bytes in the largest unit that leaves at least ten of it, rounded down, as hwloc prints them.
struct Bytes(u64);

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            bytes if bytes >= 10 << 30 => write!(f, "{}GB", bytes >> 30),
            bytes if bytes >= 10 << 20 => write!(f, "{}MB", bytes >> 20),
            bytes => write!(f, "{}KB", bytes >> 10),
        }
    }
}
