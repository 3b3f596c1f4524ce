//! What memory a node has, from `/sys/devices/system/node/nodeN/meminfo`. It must not know who uses it.

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
    /// What nobody uses. Page cache is not counted: a page that finds its preferred node full of it goes to another node.
    pub free: u64,
}

/// Every node with memory, by OS index.
pub fn node_memory() -> Result<Vec<NodeMemory>, HostError> {
    read_under(Path::new("/sys/devices/system/node"))
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
    Some(NodeMemory { node, total: bytes("MemTotal:")?, free: bytes("MemFree:")? })
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
        assert_eq!(read_under(dir.path()).unwrap(), [NodeMemory { node: 3, total: 2 << 20, free: 1 << 20 }]);
        assert!(read_under(&dir.path().join("gone")).unwrap_err().is_gone());
    }
}
