//! Writes a regular machine as a synthetic description.

use crate::machine::{Llc, Machine, NumaNode};
use crate::set::PuSet;
use std::fmt::Write;

/// A kind of level: its word, and the number of its objects.
struct Level {
    word: String,
    total: usize,
    attributes: String,
}

impl Machine {
    /// hwloc's synthetic description, or `None` if the machine is not regular: a level whose parts
    /// differ in size, are not nested, or differ in memory; memory-only nodes; several kinds of
    /// core; cores of several packages; caches beyond level 5.
    ///
    /// Distances, cpuset, isolated and offline processors cannot be said in it and are lost.
    pub fn to_synthetic(&self) -> Option<String> {
        if self.is_hybrid() || self.nodes.iter().any(NumaNode::is_memory_only) {
            return None;
        }
        // A kernel may say that processors of several packages share a core; hwloc's words cannot.
        if self.cores.len() < self.packages.len() {
            return None;
        }
        let mut levels = vec![self.package_level()?, self.node_level()?];
        levels.extend(self.llc_levels()?);
        levels.push(level("core", self.regular(self.cores.iter().map(|core| &core.pus))?));
        // Stable: levels of the same number keep this order, which is hwloc's.
        levels.sort_by_key(|level| level.total);
        levels.push(self.pu_level());
        let mut out = String::new();
        let mut above = 1;
        for level in levels {
            if !level.total.is_multiple_of(above) {
                return None;
            }
            let space = if out.is_empty() { "" } else { " " };
            write!(out, "{space}{}:{}{}", level.word, level.total / above, level.attributes).ok()?;
            above = level.total;
        }
        Some(out)
    }

    /// The number of objects, if they all have the same size and stand in order.
    fn regular<'a>(&self, sets: impl ExactSizeIterator<Item = &'a PuSet>) -> Option<usize> {
        let total = sets.len();
        let size = self.pus.len().is_multiple_of(total).then(|| self.pus.len() / total)?;
        for (position, set) in sets.enumerate() {
            let first = set.first()?.index();
            let last = set.last()?.index();
            if set.len() != size || first != position * size || last != first + size - 1 {
                return None;
            }
        }
        Some(total)
    }

    fn package_level(&self) -> Option<Level> {
        self.regular(self.packages.iter().map(|package| &package.pus)).map(|total| level("pack", total))
    }

    fn node_level(&self) -> Option<Level> {
        let mut out = level("numa", self.regular(self.nodes.iter().map(|node| &node.pus))?);
        let memory = self.nodes.first()?.memory_bytes;
        if self.nodes.iter().any(|node| node.memory_bytes != memory) {
            return None;
        }
        let memory =
            memory.filter(|&bytes| bytes != super::expansion::MEMORY_DEFAULT).map(|bytes| format!("memory={bytes}"));
        let indexes = indexes(self.nodes.iter().map(|node| node.os_index));
        out.attributes = attributes([memory, indexes]);
        Some(out)
    }

    /// One level, or none if no cache is known.
    fn llc_levels(&self) -> Option<Vec<Level>> {
        let first = self.llcs.first()?;
        let Some(number) = first.cache_level else {
            return self.llcs.iter().all(|llc| llc.cache_level.is_none()).then(Vec::new);
        };
        let same = |llc: &Llc| llc.cache_level == first.cache_level && llc.size_bytes == first.size_bytes;
        // Levels beyond these have no word.
        if !self.llcs.iter().all(same) || !(1..=5).contains(&number) {
            return None;
        }
        let mut out = level(&format!("l{number}"), self.regular(self.llcs.iter().map(|llc| &llc.pus))?);
        out.attributes = attributes([first.size_bytes.map(|bytes| format!("size={bytes}")), None]);
        Some(vec![out])
    }

    fn pu_level(&self) -> Level {
        let mut out = level("pu", self.pus.len());
        out.attributes = attributes([indexes(self.pus.iter().map(|pu| pu.os_index)), None]);
        out
    }
}

fn level(word: &str, total: usize) -> Level {
    Level { word: word.to_owned(), total, attributes: String::new() }
}

fn attributes(parts: [Option<String>; 2]) -> String {
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    if parts.is_empty() { String::new() } else { format!("({})", parts.join(" ")) }
}

/// `indexes=…` unless they are 0, 1, 2 and so on.
fn indexes(os: impl Iterator<Item = u32> + Clone) -> Option<String> {
    if os.clone().zip(0..).all(|(os, position)| os == position) {
        return None;
    }
    Some(format!("indexes={}", os.map(|os| os.to_string()).collect::<Vec<_>>().join(",")))
}
