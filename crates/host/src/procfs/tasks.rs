//! The threads of one process as `/proc` shows them, read through one open directory, which cannot
//! come to mean another process. With as few system calls as possible: they are read at the end of
//! every turn.

use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{Mode, OFlags, RawDir};

use super::path_of;
use crate::error::{self, HostError};

/// Bytes of any file of a thread that are read.
pub(crate) const LINE_BYTES: usize = 1024;

/// See the file's header.
#[derive(Debug)]
pub(crate) struct Tasks {
    dir: OwnedFd,
}

impl Tasks {
    /// Of process `pid`.
    pub(crate) fn open(pid: u32) -> Result<Self, HostError> {
        let path = path_of(pid, "task");
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let dir = rustix::fs::open(&path, flags, Mode::empty()).map_err(error::file("list", path))?;
        Ok(Self { dir })
    }

    /// The directory.
    pub(crate) fn as_fd(&self) -> BorrowedFd<'_> {
        self.dir.as_fd()
    }

    /// Appends the threads there are at this moment; none if the process is gone.
    pub(crate) fn list(&self, found: &mut Vec<u32>) {
        let mut buffer = [std::mem::MaybeUninit::uninit(); 4096];
        if rustix::fs::seek(&self.dir, rustix::fs::SeekFrom::Start(0)).is_err() {
            return;
        }
        let mut entries = RawDir::new(&self.dir, &mut buffer);
        while let Some(Ok(entry)) = entries.next() {
            found.extend(entry.file_name().to_str().ok().and_then(|name| name.parse::<u32>().ok()));
        }
    }

    /// The beginning of a file of thread `tid`.
    pub(crate) fn read<'b>(&self, tid: u32, file: &str, buffer: &'b mut [u8]) -> Option<&'b str> {
        let path = format!("{tid}/{file}");
        let open = rustix::fs::openat(&self.dir, path.as_str(), OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty());
        let length = rustix::io::read(open.ok()?, &mut *buffer).ok()?;
        // A name is any bytes; the fields read here come before or after it.
        buffer[..length].iter_mut().filter(|byte| !byte.is_ascii()).for_each(|byte| *byte = b'?');
        std::str::from_utf8(&buffer[..length]).ok()
    }

    /// Processor time of thread `tid` in nanoseconds, where the kernel keeps it precisely.
    pub(crate) fn run_time(&self, tid: u32) -> Option<u64> {
        let mut buffer = [0; 64];
        self.read(tid, "schedstat", &mut buffer)?.split_ascii_whitespace().next()?.parse().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_are_listed_and_read() {
        let me = std::process::id();
        let tasks = Tasks::open(me).unwrap();
        let (mut first, mut again) = (Vec::new(), Vec::new());
        tasks.list(&mut first);
        tasks.list(&mut again);
        assert!(first.contains(&me) && again.contains(&me), "{first:?}, {again:?}");
        let mut buffer = [0; LINE_BYTES];
        assert!(tasks.read(me, "stat", &mut buffer).unwrap().starts_with(&format!("{me} (")));
        assert_eq!(tasks.read(me, "nothing", &mut buffer), None);
        assert!(tasks.run_time(me).is_some_and(|time| time > 0) || !super::path_of(me, "schedstat").exists());
        assert!(Tasks::open(1 << 30).unwrap_err().is_gone());
    }
}
