//! The table of all processes at one moment, with the parent of each.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use super::{Stat, parse_stat};
use crate::error::{self, HostError};

/// A reading of every `/proc/PID/stat`.
#[derive(Debug, Default, Clone)]
pub struct ProcessTable {
    processes: BTreeMap<u32, Stat>,
    children: BTreeMap<u32, Vec<u32>>,
}

impl ProcessTable {
    /// Reads `/proc`.
    pub fn read() -> Result<Self, HostError> {
        Self::read_under(Path::new("/proc"))
    }

    /// Reads a directory built like `/proc`.
    pub fn read_under(root: &Path) -> Result<Self, HostError> {
        let mut table = Self::default();
        for entry in fs::read_dir(root).map_err(error::file("list", root))?.flatten() {
            if !entry.file_name().as_encoded_bytes().iter().all(u8::is_ascii_digit) {
                continue;
            }
            let Ok(bytes) = fs::read(entry.path().join("stat")) else { continue };
            if let Some(stat) = parse_stat(&String::from_utf8_lossy(&bytes)) {
                table.insert(stat);
            }
        }
        Ok(table)
    }

    fn insert(&mut self, stat: Stat) {
        self.children.entry(stat.parent).or_default().push(stat.pid);
        self.processes.insert(stat.pid, stat);
    }

    /// The process with this id.
    pub fn get(&self, pid: u32) -> Option<&Stat> {
        self.processes.get(&pid)
    }

    /// All of them.
    pub fn all(&self) -> impl Iterator<Item = &Stat> {
        self.processes.values()
    }

    /// `root` and everything that descends from it, without the subtrees whose roots are in
    /// `except`.
    pub fn tree(&self, root: u32, except: &BTreeSet<u32>) -> Vec<u32> {
        let mut found = Vec::new();
        let mut seen = BTreeSet::new();
        let mut open = vec![root];
        while let Some(pid) = open.pop() {
            if (pid != root && except.contains(&pid)) || !self.processes.contains_key(&pid) || !seen.insert(pid) {
                continue;
            }
            found.push(pid);
            open.extend(self.children.get(&pid).into_iter().flatten());
        }
        found
    }

    /// The parent of `pid`, its parent, and so on; a reading in which ids were reused cannot make
    /// it endless.
    pub fn ancestors(&self, pid: u32) -> Vec<u32> {
        let mut found = Vec::new();
        let mut at = pid;
        while let Some(stat) = self.processes.get(&at) {
            if stat.parent == 0 || found.contains(&stat.parent) {
                break;
            }
            found.push(stat.parent);
            at = stat.parent;
        }
        found
    }
}

/// The parent of `pid`, its parent, and so on, read one at a time: cheaper than a whole table.
pub fn ancestors(pid: u32) -> Vec<u32> {
    let mut found = Vec::new();
    let mut at = pid;
    while let Ok(stat) = super::stat(at) {
        if stat.parent == 0 || found.contains(&stat.parent) {
            break;
        }
        found.push(stat.parent);
        at = stat.parent;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fake(entries: &[(u32, u32)]) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        for (pid, parent) in entries {
            let path = dir.path().join(pid.to_string());
            fs::create_dir(&path).unwrap();
            let line = format!("{pid} (x) S {parent} 1 1 0 -1 0 0 0 0 0 1 1 0 0 20 0 1 0 5 0 0\n");
            fs::write(path.join("stat"), line).unwrap();
        }
        fs::create_dir(dir.path().join("sys")).unwrap();
        dir
    }

    #[test]
    fn trees_leave_out_what_is_somebody_elses() {
        let dir = fake(&[(1, 0), (10, 1), (11, 10), (12, 11), (13, 10), (20, 1)]);
        let table = ProcessTable::read_under(dir.path()).unwrap();
        let sorted = |except: &[u32]| {
            let mut tree = table.tree(10, &except.iter().copied().collect());
            tree.sort_unstable();
            tree
        };
        assert_eq!(sorted(&[]), [10, 11, 12, 13]);
        assert_eq!(sorted(&[11]), [10, 13]);
        assert_eq!(sorted(&[10]), [10, 11, 12, 13]);
        assert_eq!(table.ancestors(12), [11, 10, 1]);
    }

    #[test]
    fn a_loop_of_parents_ends() {
        let dir = fake(&[(5, 6), (6, 5)]);
        let table = ProcessTable::read_under(dir.path()).unwrap();
        assert_eq!(table.tree(5, &BTreeSet::new()).len(), 2);
        assert!(table.ancestors(5).len() <= 2);
    }
}
