//! Reads the total and free memory of a node from `/sys/devices/system/node/nodeN/meminfo`.

use std::fs;
use std::path::Path;

use crate::error::{self, HostError};

/// One node's memory, bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct NodeMemory {
    /// OS index of the node.
    pub node: u32,
    /// All that the kernel manages.
    pub total: u64,
    /// Bytes that nobody uses. Page cache is not counted: a page that finds its preferred node full
    /// of it goes to another node.
    pub free: u64,
    /// Bytes of it that the kernel keeps back: below them (the zones' high watermarks) it rather
    /// takes memory of other nodes.
    pub reserve: u64,
}

/// Every node with memory, by OS index.
pub fn node_memory() -> Result<Vec<NodeMemory>, HostError> {
    let mut nodes = read_under(Path::new("/sys/devices/system/node"))?;
    // Without that file the reserves are taken to be nothing.
    let zones = fs::read_to_string("/proc/zoneinfo").unwrap_or_default();
    for (node, pages) in parse_reserves(&zones) {
        if let Some(memory) = nodes.iter_mut().find(|memory| memory.node == node) {
            memory.reserve = pages.saturating_mul(rustix::param::page_size() as u64);
        }
    }
    Ok(nodes)
}

fn read_under(root: &Path) -> Result<Vec<NodeMemory>, HostError> {
    let mut found = Vec::new();
    for entry in fs::read_dir(root).map_err(error::file("list", root))?.flatten() {
        let name = entry.file_name();
        let number = name.to_str().and_then(|name| name.strip_prefix("node")?.parse::<u32>().ok());
        let Some(node) = number else { continue };
        // A node may be unplugged between the listing and the look.
        let Ok(text) = fs::read_to_string(entry.path().join("meminfo")) else { continue };
        found.extend(parse(node, &text).filter(|memory| memory.total > 0));
    }
    found.sort_unstable_by_key(|memory| memory.node);
    Ok(found)
}

/// `Node 0 MemTotal:       24684132 kB`, and so on.
fn parse(node: u32, text: &str) -> Option<NodeMemory> {
    let bytes = |name: &str| {
        let line = text.lines().find_map(|line| line.split_once(name))?.1;
        line.split_ascii_whitespace().next()?.parse::<u64>().ok()?.checked_mul(1024)
    };
    Some(NodeMemory { node, total: bytes("MemTotal:")?, free: bytes("MemFree:")?, reserve: 0 })
}

/// Pages below which each node's memory is spared, from `/proc/zoneinfo`: the line `high` of each
/// of its zones, added up.
fn parse_reserves(text: &str) -> std::collections::BTreeMap<u32, u64> {
    let mut found = std::collections::BTreeMap::new();
    let mut node = None;
    for line in text.lines() {
        // `Node 0, zone   Normal`; processors of a zone have lines `high:` of their own, with a
        // colon.
        if let Some(rest) = line.strip_prefix("Node ") {
            node = rest.split_once(',').and_then(|(number, _)| number.parse::<u32>().ok());
        } else if let (Some(node), Some(pages)) = (node, line.trim_start().strip_prefix("high ")) {
            *found.entry(node).or_default() += pages.trim().parse::<u64>().unwrap_or(0);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_has_memory() {
        let nodes = node_memory().unwrap();
        assert!(!nodes.is_empty());
        assert!(nodes.iter().all(|memory| memory.free <= memory.total && memory.total > 0), "{nodes:?}");
    }

    #[test]
    fn reserves_are_those_of_all_zones_of_a_node() {
        let text = "Node 0, zone      DMA\n  pages free     3840\n        boost    0\n        min      10\n        low      12\n        high     15\n\
                    pagesets\n    cpu: 0\n              count:    0\n              high:     378\n\
                    Node 0, zone   Normal\n        high     1500\nNode 12, zone   Normal\n        high     7\nNode x\n        high 9\n";
        assert_eq!(parse_reserves(text), [(0, 1515), (12, 7)].into_iter().collect());
        assert!(node_memory().unwrap().iter().any(|memory| memory.reserve > 0), "this machine has reserves");
    }

    #[test]
    fn nodes_without_memory_and_garbage_are_left_out() {
        let dir = tempfile::tempdir().unwrap();
        let put = |name: &str, text: &str| {
            fs::create_dir(dir.path().join(name)).unwrap();
            fs::write(dir.path().join(name).join("meminfo"), text).unwrap();
        };
        put("node3", "Node 3 MemTotal:       2048 kB\nNode 3 MemFree:    1024 kB\nNode 3 MemUsed:   1 kB\n");
        put("node1", "Node 1 MemTotal:       0 kB\nNode 1 MemFree:    0 kB\n");
        put("node2", "Node 2 MemTotal:       lots\n");
        put("power", "");
        assert_eq!(
            read_under(dir.path()).unwrap(),
            [NodeMemory { node: 3, total: 2 << 20, free: 1 << 20, reserve: 0 }]
        );
        assert!(read_under(&dir.path().join("gone")).unwrap_err().is_gone());
    }
}
