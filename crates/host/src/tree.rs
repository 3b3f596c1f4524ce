//! Directories in the form that the machine readers need: sysfs, or a recorded copy of it, under
//! any root.

use std::fs;
use std::path::{Path, PathBuf};

use numaestro_topology::Tree;

/// A directory tree under a root; paths are relative to it.
#[derive(Debug, Clone)]
pub struct DirTree {
    root: PathBuf,
}

impl DirTree {
    /// Everything below `root`; `/` is this machine.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    fn path(&self, relative: &str) -> PathBuf {
        self.root.join(Path::new(relative.trim_start_matches('/')))
    }
}

impl Tree for DirTree {
    fn read(&self, path: &str) -> Option<String> {
        fs::read(self.path(path)).ok().map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
    }

    fn list(&self, path: &str) -> Vec<String> {
        let Ok(entries) = fs::read_dir(self.path(path)) else { return Vec::new() };
        let mut names: Vec<String> =
            entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect();
        names.sort_unstable();
        names
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn below_a_root() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("sys/cpu")).unwrap();
        fs::write(dir.path().join("sys/cpu/online"), "0-1\n").unwrap();
        let tree = DirTree::new(dir.path());
        assert_eq!(tree.read("sys/cpu/online").unwrap(), "0-1\n");
        assert_eq!(tree.list("sys"), ["cpu"]);
        assert!(tree.read("sys/none").is_none() && tree.list("none").is_empty());
    }

    #[test]
    fn this_machine_is_read() {
        let own = crate::affinity::get(0).unwrap();
        let machine = numaestro_topology::sysfs::read(&DirTree::new("/"), Some(&own)).unwrap();
        assert_eq!(machine.allowed().len(), own.len());
    }
}
