//! Directories as the machine readers want them: sysfs, or a recorded copy of it, under any root. It must not know what the files mean.

use std::fs;
use std::path::{Path, PathBuf};

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

    /// The text of a file; `None` if it is not there or cannot be read.
    pub fn text(&self, relative: &str) -> Option<String> {
        fs::read(self.path(relative)).ok().map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Names in a directory; empty if it is not there.
    pub fn names(&self, relative: &str) -> Vec<String> {
        let Ok(entries) = fs::read_dir(self.path(relative)) else { return Vec::new() };
        let mut names: Vec<String> =
            entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect();
        names.sort_unstable();
        names
    }
}
