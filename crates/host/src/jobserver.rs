//! The pipe of a GNU make jobserver. Each byte in it is a token, and whoever reads one may run one
//! job more, and writes it back when the job ends.
//!
//! The pipe has no name. The processes of the build hold it, as with make's own jobserver, so it
//! goes on without the manager, and the kernel removes it with its last process. The manager opens
//! it through `/proc/PID/fd`. That gives it an open file of its own: it never blocks, whatever the
//! build's programs set on theirs.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use rustix::fs::{FileType, Mode, OFlags};
use rustix::io::FdFlags;

use crate::error::{self, HostError};

/// `linux/magic.h`: the file system of pipes without a name.
const PIPEFS_MAGIC: i64 = 0x5049_5045;
/// The byte of a token. Clients write back the one that they read.
const TOKEN: u8 = b'+';
/// Descriptors of the offered pipe have at least this number: programs count on low numbers, make
/// cannot wait for one above 1023.
const DESCRIPTOR_LEAST: i32 = 200;

/// Both ends of a new pipe in a process that is about to become a build.
#[derive(Debug)]
pub struct Offered {
    read: OwnedFd,
    write: OwnedFd,
}

impl Offered {
    /// Makes the pipe, without tokens. It ends with `exec` unless [`Self::keep`] is called.
    pub fn new() -> Result<Self, HostError> {
        let (read, write) =
            rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).map_err(error::call("make a pipe"))?;
        let high = |fd: OwnedFd| rustix::io::fcntl_dupfd_cloexec(&fd, DESCRIPTOR_LEAST).unwrap_or(fd);
        Ok(Self { read: high(read), write: high(write) })
    }

    /// The numbers of the reading and the writing end.
    pub fn numbers(&self) -> [u32; 2] {
        [&self.read, &self.write].map(|fd| fd.as_raw_fd().cast_unsigned())
    }

    /// The program that this process becomes has the pipe, too.
    pub fn keep(&self) -> Result<(), HostError> {
        for fd in [&self.read, &self.write] {
            rustix::io::fcntl_setfd(fd, FdFlags::empty()).map_err(error::call("keep a pipe"))?;
        }
        Ok(())
    }
}

/// The manager's hold on the pipe of a build.
#[derive(Debug)]
pub struct TokenPipe {
    fd: OwnedFd,
    inode: u64,
}

impl TokenPipe {
    /// Opens the pipe that is descriptor `number` of process `pid`. Refuses everything that is not
    /// a pipe without a name that user `uid` has made: with more rights than that user, we must
    /// not write at its word.
    pub fn of_process(pid: u32, number: u32, uid: u32) -> Result<Self, HostError> {
        let path = format!("/proc/{pid}/fd/{number}");
        let fault = |operation: &'static str| error::file::<rustix::io::Errno>(operation, path.clone());
        let there = rustix::fs::open(path.as_str(), OFlags::PATH | OFlags::CLOEXEC, Mode::empty());
        let there = there.map_err(fault("open"))?;
        let found = rustix::fs::fstat(&there).map_err(fault("look at"))?;
        let system = rustix::fs::fstatfs(&there).map_err(fault("look at"))?;
        let is_pipe = FileType::from_raw_mode(found.st_mode) == FileType::Fifo && system.f_type == PIPEFS_MAGIC;
        if !is_pipe || found.st_uid != uid {
            return Err(HostError::Malformed { path: path.into(), text: "no pipe of this user".to_owned() });
        }
        let again = format!("/proc/self/fd/{}", there.as_raw_fd());
        let flags = OFlags::RDWR | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let fd = rustix::fs::open(again, flags, Mode::empty()).map_err(fault("open"))?;
        Ok(Self { fd, inode: found.st_ino })
    }

    /// The kernel's number of the pipe, which no other pipe has while this one exists.
    pub fn inode(&self) -> u64 {
        self.inode
    }

    /// Tokens that nobody holds.
    pub fn free(&self) -> u32 {
        rustix::io::ioctl_fionread(&self.fd).map_or(0, |bytes| u32::try_from(bytes).unwrap_or(u32::MAX))
    }

    /// Adds tokens; gives the number that found room.
    pub fn put(&self, tokens: u32) -> u32 {
        let bytes = vec![TOKEN; tokens as usize];
        rustix::io::write(&self.fd, &bytes).map_or(0, |put| put as u32)
    }

    /// Takes up to so many tokens out; gives the number that were there.
    pub fn take(&self, tokens: u32) -> u32 {
        let mut bytes = vec![0; tokens as usize];
        rustix::io::read(&self.fd, &mut bytes).map_or(0, |taken| taken as u32)
    }
}

impl AsFd for TokenPipe {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    fn opened(number: u32) -> Result<TokenPipe, HostError> {
        TokenPipe::of_process(std::process::id(), number, crate::own_uid())
    }

    #[test]
    fn tokens_that_one_side_puts_in_the_other_takes_out() {
        let offered = Offered::new().unwrap();
        let [read, write] = offered.numbers();
        assert!(read >= DESCRIPTOR_LEAST.cast_unsigned() && write >= DESCRIPTOR_LEAST.cast_unsigned());
        let pipe = opened(read).unwrap();
        assert_eq!((pipe.free(), pipe.take(3)), (0, 0), "never blocks");
        assert_eq!((pipe.put(3), pipe.free()), (3, 3));
        let mut end = std::fs::File::from(offered.read.try_clone().unwrap());
        let mut token = [0];
        end.read_exact(&mut token).unwrap();
        assert_eq!((token, pipe.free()), ([TOKEN], 2));
        assert_eq!((pipe.take(5), pipe.free()), (2, 0));
        assert_eq!(opened(write).unwrap().inode(), pipe.inode());
        assert_ne!(opened(Offered::new().unwrap().numbers()[0]).ok().map(|other| other.inode()), Some(pipe.inode()));
    }

    #[test]
    fn a_client_that_makes_its_end_non_blocking_changes_nothing_for_others() {
        let offered = Offered::new().unwrap();
        let pipe = opened(offered.numbers()[0]).unwrap();
        let flags = |fd: BorrowedFd<'_>| rustix::fs::fcntl_getfl(fd).unwrap();
        assert!(!flags(offered.read.as_fd()).contains(OFlags::NONBLOCK));
        assert!(flags(pipe.as_fd()).contains(OFlags::NONBLOCK));
        rustix::fs::fcntl_setfl(&offered.read, OFlags::NONBLOCK).unwrap();
        rustix::fs::fcntl_setfl(&offered.read, OFlags::empty()).unwrap();
        assert!(flags(pipe.as_fd()).contains(OFlags::NONBLOCK));
    }

    #[test]
    fn nothing_else_is_written_to() {
        let file = tempfile::tempfile().unwrap();
        assert!(opened(file.as_raw_fd().cast_unsigned()).is_err(), "a file");
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("named");
        rustix::fs::mknodat(rustix::fs::CWD, &path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        let named = std::fs::File::options().read(true).write(true).open(path).unwrap();
        assert!(opened(named.as_raw_fd().cast_unsigned()).is_err(), "a pipe with a name");
        let offered = Offered::new().unwrap();
        let other = TokenPipe::of_process(std::process::id(), offered.numbers()[0], crate::own_uid() + 1);
        assert!(other.is_err(), "another user's");
        assert!(opened(9999).is_err(), "none");
    }
}
