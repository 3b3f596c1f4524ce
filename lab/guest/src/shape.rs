//! The shape of a guest: the number of nodes, the processors and the memory of each, and the
//! distances between them.
//!
//! | text | means |
//! |---|---|
//! | `4x2:256` | four nodes of two processors and 256 MB each |
//! | `4:512,2:256` | a node of four processors and 512 MB, and one of two and 256 MB |
//! | `0:256` | a node with memory and without processors |
//! | `2:0` | a node with processors and without memory |
//! | `@0+4-5:256` | a node of the processors 0, 4 and 5: all nodes say their numbers, or none does |
//!
//! Gaps in the numbers of nodes cannot be had: Linux on x86 numbers the nodes that the firmware
//! names one after the other. Distances are rows separated by `;` of numbers separated by `,`.

use anyhow::{Context, Result, bail, ensure};
use std::fmt;

/// The most processors of a guest. More is possible and takes minutes: guests are emulated.
const PUS_MAX: u32 = 64;
const NODES_MAX: usize = 32;

/// One node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// OS indices of its processors, rising.
    pub cpus: Vec<u32>,
    /// Megabytes of memory.
    pub memory_mb: u64,
}

/// A whole guest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shape {
    /// The nodes by number.
    pub nodes: Vec<Node>,
    /// One row for each node, or nothing: then the firmware says nothing, and Linux takes 10 and
    /// 20.
    pub distances: Vec<Vec<u8>>,
    /// Hardware threads of one core.
    pub threads_per_core: u32,
}

impl Shape {
    /// Reads nodes and distances (may be empty).
    ///
    /// # Errors
    /// The mistake, with the part of the text.
    pub fn parse(nodes: &str, distances: &str, threads_per_core: u32) -> Result<Self> {
        let mut out = Self { nodes: Vec::new(), distances: Vec::new(), threads_per_core };
        let (mut next, mut counted, mut listed) = (0, false, false);
        for part in nodes.split(',') {
            let place = || format!("\"{part}\" in the shape \"{nodes}\" (a node is CPUS:MB, such as 4:512)");
            let (cpus, megabytes) = part.split_once(':').with_context(place)?;
            let memory_mb: u64 = megabytes.parse().with_context(place)?;
            ensure!(memory_mb <= 65_536, "{}: more than 64 GB", place());
            if let Some(list) = cpus.strip_prefix('@') {
                listed = true;
                out.nodes.push(Node { cpus: parse_list(list).with_context(place)?, memory_mb });
                continue;
            }
            let (times, count) = cpus.split_once('x').unwrap_or(("1", cpus));
            let (times, count): (usize, u32) = (times.parse().with_context(place)?, count.parse().with_context(place)?);
            ensure!(times <= NODES_MAX && count <= PUS_MAX, "{}: at most 32 nodes and 64 processors", place());
            counted |= count > 0;
            for _ in 0..times {
                out.nodes.push(Node { cpus: (next..next + count).collect(), memory_mb });
                next += count;
            }
        }
        ensure!(!(counted && listed), "\"{nodes}\": all nodes say the numbers of their processors, or none does");
        out.distances = parse_distances(distances)?;
        out.check()?;
        Ok(out)
    }

    fn check(&self) -> Result<()> {
        let mut cpus: Vec<u32> = self.nodes.iter().flat_map(|node| &node.cpus).copied().collect();
        cpus.sort_unstable();
        ensure!(self.nodes.len() <= NODES_MAX && cpus.len() <= PUS_MAX as usize, "at most 32 nodes and 64 processors");
        ensure!(!cpus.is_empty(), "no node has a processor");
        let empty = self.nodes.iter().position(|node| node.cpus.is_empty() && node.memory_mb == 0);
        ensure!(empty.is_none(), "node {} has nothing: Linux would leave it out", empty.unwrap_or_default());
        ensure!(cpus.iter().copied().eq(0..cpus.len() as u32), "processors are numbered from 0, each in one node");
        ensure!(self.nodes.iter().any(|node| node.memory_mb >= 128), "no node has 128 MB, Linux would not start");
        let threads = self.threads_per_core;
        ensure!(
            threads > 0 && (cpus.len() as u32).is_multiple_of(threads),
            "{threads} threads a core do not make these nodes"
        );
        let n = self.nodes.len();
        ensure!(
            self.distances.is_empty() || self.distances.len() == n && self.distances.iter().all(|row| row.len() == n),
            "there are {n} nodes, so {n} rows of {n} distances are needed"
        );
        for (from, row) in self.distances.iter().enumerate() {
            for (to, distance) in row.iter().enumerate() {
                ensure!(
                    if from == to { *distance == 10 } else { *distance > 10 && *distance < 255 },
                    "the distance from {from} to {to} is {distance}: 10 to itself and 11 to 254 to others is possible"
                );
            }
        }
        Ok(())
    }

    /// Processors of all nodes.
    pub fn pu_count(&self) -> u32 {
        self.nodes.iter().map(|node| node.cpus.len() as u32).sum()
    }

    /// Cores of one package. A node is a package if all nodes with processors have the same number
    /// of them, numbered one after the other. Otherwise each core is a package of its own, because
    /// Linux distrusts a package that is in two nodes.
    pub fn cores_per_package(&self) -> u32 {
        let with: Vec<&Node> = self.nodes.iter().filter(|node| !node.cpus.is_empty()).collect();
        let count = with[0].cpus.len() as u32;
        let regular = with.iter().enumerate().all(|(i, node)| {
            let first = i as u32 * count;
            node.cpus.iter().copied().eq(first..first + count)
        });
        if regular && count.is_multiple_of(self.threads_per_core) { count / self.threads_per_core } else { 1 }
    }

    /// The distances as text, as [`Shape::parse`] takes them.
    pub fn distances_text(&self) -> String {
        let row = |row: &Vec<u8>| row.iter().map(u8::to_string).collect::<Vec<_>>().join(",");
        self.distances.iter().map(row).collect::<Vec<_>>().join(";")
    }

    /// The distance between two nodes as Linux will show it.
    pub fn distance(&self, from: usize, to: usize) -> u32 {
        let otherwise = if from == to { 10 } else { 20 };
        self.distances.get(from).map_or(otherwise, |row| u32::from(row[to]))
    }
}

impl fmt::Display for Shape {
    /// Writes the nodes, as [`Shape::parse`] takes them.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let in_order = self.nodes.iter().flat_map(|node| &node.cpus).copied().eq(0..self.pu_count());
        for (i, node) in self.nodes.iter().enumerate() {
            f.write_str(if i == 0 { "" } else { "," })?;
            let list: Vec<String> = node.cpus.iter().map(u32::to_string).collect();
            match (in_order, list.is_empty()) {
                (true, _) | (_, true) => write!(f, "{}:{}", list.len(), node.memory_mb)?,
                _ => write!(f, "@{}:{}", list.join("+"), node.memory_mb)?,
            }
        }
        Ok(())
    }
}

fn parse_list(text: &str) -> Result<Vec<u32>> {
    let mut out = Vec::new();
    for part in text.split('+') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (u32, u32) = (first.parse()?, last.parse()?);
        ensure!(first <= last && last < PUS_MAX, "\"{part}\" is no range of processors");
        out.extend(first..=last);
    }
    out.sort_unstable();
    Ok(out)
}

fn parse_distances(text: &str) -> Result<Vec<Vec<u8>>> {
    if text.is_empty() {
        return Ok(Vec::new());
    }
    let row = |row: &str| -> Result<Vec<u8>> { row.split(',').map(|n| Ok(n.trim().parse()?)).collect() };
    match text.split(';').map(row).collect() {
        Ok(rows) => Ok(rows),
        Err(_) => bail!("the distances \"{text}\" are not rows of numbers such as 10,20;20,10"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, cpus: &[&[u32]], printed: &str) {
        let shape = Shape::parse(text, "", 1).expect(text);
        let found: Vec<&[u32]> = shape.nodes.iter().map(|node| node.cpus.as_slice()).collect();
        assert_eq!(found, cpus);
        assert_eq!(shape.to_string(), printed);
        assert_eq!(Shape::parse(printed, "", 1).expect(printed), shape);
    }

    #[test]
    fn shapes_are_read_and_printed() {
        check("2x2:256", &[&[0, 1], &[2, 3]], "2:256,2:256");
        check("3:512,0:256,1:0", &[&[0, 1, 2], &[], &[3]], "3:512,0:256,1:0");
        check("@0+2-3:256,@1:256,0:128", &[&[0, 2, 3], &[1], &[]], "@0+2+3:256,@1:256,0:128");
    }

    #[test]
    fn what_cannot_be_is_refused() {
        for text in [
            "",
            "4",
            "4:x",
            "x2:256",
            "0:256",
            "1:256,0:0",
            "2:64",
            "1:256,@1:256",
            "@0:256,@0:256",
            "@1:256",
            "99:512",
        ] {
            assert!(Shape::parse(text, "", 1).is_err(), "{text}");
        }
        assert!(Shape::parse("3:256", "", 2).is_err());
        for distances in ["10", "10,20;20", "10,20;20,11", "10,10;20,10", "10,255;20,10", "a,b;c,d"] {
            assert!(Shape::parse("2x1:256", distances, 1).is_err(), "{distances}");
        }
    }

    #[test]
    fn distances_keep_their_direction() {
        let shape = Shape::parse("2x1:256", "10,15;25,10", 1).unwrap();
        assert_eq!((shape.distance(0, 1), shape.distance(1, 0)), (15, 25));
        assert_eq!(shape.distances_text(), "10,15;25,10");
        assert_eq!(Shape::parse("2x1:256", "", 1).unwrap().distance(0, 1), 20);
    }

    #[test]
    fn packages_are_nodes_where_that_is_possible() {
        let cores = |text: &str, threads| Shape::parse(text, "", threads).unwrap().cores_per_package();
        assert_eq!(cores("4x2:256", 1), 2);
        assert_eq!(cores("2x4:256,0:256", 2), 2);
        assert_eq!(cores("3:256,2:256", 1), 1);
        assert_eq!(cores("@0+2:256,@1+3:256", 1), 1);
    }
}
