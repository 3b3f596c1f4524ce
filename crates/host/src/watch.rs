//! Notices by inotify: processes have written files of the system, limits and processors of
//! cgroups; or they have removed files of ours. The kernel does not tell of its own changes.

use std::collections::BTreeMap;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::inotify;

use crate::error::{self, HostError};

/// Any number of files with one descriptor.
#[derive(Debug)]
pub struct Watch {
    fd: OwnedFd,
    /// What is told of.
    events: inotify::WatchFlags,
    /// The kernel's number of each file.
    files: BTreeMap<PathBuf, i32>,
}

impl Watch {
    /// Of nothing yet; tells that files are written.
    pub fn new() -> Result<Self, HostError> {
        Self::of(inotify::WatchFlags::MODIFY)
    }

    /// Of nothing yet; tells that files may have been removed or renamed.
    pub fn of_removals() -> Result<Self, HostError> {
        // A file that somebody holds open, as we do a lock or a socket, is not deleted by its
        // removal: only its number of names changes.
        Self::of(inotify::WatchFlags::ATTRIB | inotify::WatchFlags::DELETE_SELF | inotify::WatchFlags::MOVE_SELF)
    }

    fn of(events: inotify::WatchFlags) -> Result<Self, HostError> {
        let flags = inotify::CreateFlags::CLOEXEC | inotify::CreateFlags::NONBLOCK;
        let fd = inotify::init(flags).map_err(error::call("watch files"))?;
        Ok(Self { fd, events, files: BTreeMap::new() })
    }

    /// Watches exactly these files from now on. Those that cannot be watched are left out.
    pub fn set<'a>(&mut self, files: impl IntoIterator<Item = &'a Path>) {
        let mut before = std::mem::take(&mut self.files);
        for file in files {
            if self.files.contains_key(file) {
                continue;
            }
            let known = before.remove(file);
            let number = known.or_else(|| inotify::add_watch(&self.fd, file, self.events).ok());
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

    #[test]
    fn the_removal_of_what_is_open_is_noticed() {
        let dir = tempfile::tempdir().unwrap();
        let (file, socket) = (dir.path().join("file"), dir.path().join("socket"));
        let held = std::fs::File::create(&file).unwrap();
        let listening = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        for path in [&file, &socket] {
            let mut watch = Watch::of_removals().unwrap();
            watch.set([path.as_path()]);
            assert_eq!(watch.len(), 1);
            assert!(!watch.take());
            std::fs::remove_file(path).unwrap();
            assert!(watch.take(), "{}", path.display());
        }
        drop((held, listening));
    }
}
