//! Notices by inotify that processes have written files of the system: limits and processors of
//! cgroups. The kernel does not tell of its own changes to such files.

use std::collections::BTreeMap;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::inotify;

use crate::error::{self, HostError};

/// Any number of files with one descriptor.
#[derive(Debug)]
pub struct Watch {
    fd: OwnedFd,
    /// The kernel's number of each file.
    files: BTreeMap<PathBuf, i32>,
}

impl Watch {
    /// Of nothing yet.
    pub fn new() -> Result<Self, HostError> {
        let flags = inotify::CreateFlags::CLOEXEC | inotify::CreateFlags::NONBLOCK;
        let fd = inotify::init(flags).map_err(error::call("watch files"))?;
        Ok(Self { fd, files: BTreeMap::new() })
    }

    /// Watches exactly these files from now on. Those that cannot be watched are left out.
    pub fn set<'a>(&mut self, files: impl IntoIterator<Item = &'a Path>) {
        let mut before = std::mem::take(&mut self.files);
        for file in files {
            if self.files.contains_key(file) {
                continue;
            }
            let known = before.remove(file);
            let number = known.or_else(|| inotify::add_watch(&self.fd, file, inotify::WatchFlags::MODIFY).ok());
            if let Some(number) = number {
                self.files.insert(file.to_owned(), number);
            }
        }
        for number in before.into_values() {
            let _ = inotify::remove_watch(&self.fd, number);
        }
    }

    /// Files that are watched.
    pub fn len(&self) -> usize {
        self.files.len()
    }

    /// Nothing is watched.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// Takes all notices. True if there were any.
    pub fn take(&self) -> bool {
        let mut found = false;
        let mut buffer = [0_u8; 4096];
        loop {
            match rustix::io::read(&self.fd, &mut buffer) {
                Ok(bytes) if bytes > 0 => found = true,
                Err(rustix::io::Errno::INTR) => {}
                _ => return found,
            }
        }
    }
}

impl AsFd for Watch {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_write_is_noticed_while_it_is_watched() {
        let dir = tempfile::tempdir().unwrap();
        let (one, two) = (dir.path().join("one"), dir.path().join("two"));
        for file in [&one, &two] {
            std::fs::write(file, "1").unwrap();
        }
        let mut watch = Watch::new().unwrap();
        watch.set([one.as_path(), two.as_path(), &dir.path().join("none")]);
        assert_eq!(watch.len(), 2);
        assert!(!watch.take());
        std::fs::write(&one, "2").unwrap();
        assert!(watch.take());
        assert!(!watch.take());
        watch.set([two.as_path()]);
        // The end of a watch is a notice of its own.
        watch.take();
        std::fs::write(&one, "3").unwrap();
        assert!(!watch.take());
        std::fs::write(&two, "3").unwrap();
        assert!(watch.take());
    }
}
