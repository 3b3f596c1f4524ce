//! A handle on a process that cannot come to mean another one, and that becomes readable when the
//! process ends.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use rustix::process::{Pid, PidfdFlags};

use crate::error::{self, HostError};
use crate::{link, procfs};

/// `SO_PEERPIDFD` of `asm-generic/socket.h`, Linux 6.5.
const SO_PEERPIDFD: libc::c_int = 77;

/// A process, by descriptor. Readable (epoll) once it has ended.
#[derive(Debug)]
pub struct PidFd {
    fd: OwnedFd,
    pid: u32,
    start_time: u64,
}

impl PidFd {
    /// Opens process `pid` and reads its start time; the pair names one process for ever.
    pub fn open(pid: u32) -> Result<Self, HostError> {
        let raw = i32::try_from(pid).ok().and_then(Pid::from_raw);
        let target = raw.ok_or(rustix::io::Errno::SRCH).map_err(error::process("open", pid))?;
        let fd = rustix::process::pidfd_open(target, PidfdFlags::empty()).map_err(error::process("open", pid))?;
        Self::finish(fd, pid)
    }

    /// Opens `pid` only if it still is the process that started at `start_time` (clock ticks after
    /// boot).
    pub fn open_verified(pid: u32, start_time: u64) -> Result<Self, HostError> {
        let handle = Self::open(pid)?;
        if handle.start_time == start_time {
            Ok(handle)
        } else {
            Err(error::process("find the former bearer", pid)(rustix::io::Errno::SRCH))
        }
    }

    /// The process that has connected at the other end of a Unix socket; an error if it has ended,
    /// or cannot be told from one that has its number by now.
    ///
    /// `pid` is the number from `SO_PEERCRED` of the same socket. `after_ns`: nobody had connected
    /// yet at this time since boot.
    pub fn of_peer(socket: BorrowedFd<'_>, pid: u32, after_ns: u64) -> Result<Self, HostError> {
        match peer_pidfd(socket) {
            Ok(fd) => Self::finish(fd, pid),
            // Before Linux 6.5.
            Err(cause) if cause.raw_os_error() == Some(libc::ENOPROTOOPT) => Self::by_number(socket, pid, after_ns),
            Err(cause) => Err(error::process("open", pid)(cause)),
        }
    }

    /// The same by the number. Whoever had it before the connection was made has made the
    /// connection, and whoever holds the other end has not come later either. Start times are whole
    /// ticks; the kernel gives no number twice in so short a time.
    fn by_number(socket: BorrowedFd<'_>, pid: u32, after_ns: u64) -> Result<Self, HostError> {
        let handle = Self::open(pid)?;
        let had_it_before = handle.start_time * procfs::tick_ns() <= after_ns;
        // Looked at last: what was found out about the number is true of the process then.
        if (had_it_before || link::is_held_by(socket, pid)) && !handle.has_ended() {
            return Ok(handle);
        }
        Err(error::process("find the one that connected instead", pid)(rustix::io::Errno::SRCH))
    }

    fn finish(fd: OwnedFd, pid: u32) -> Result<Self, HostError> {
        let start_time = procfs::stat(pid)?.start_time;
        let handle = Self { fd, pid, start_time };
        // Only if it lives after its start time was read does that time belong to the process
        // behind the descriptor.
        if handle.has_ended() { Err(error::process("open", pid)(rustix::io::Errno::SRCH)) } else { Ok(handle) }
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Its start time: clock ticks after boot.
    pub fn start_time(&self) -> u64 {
        self.start_time
    }

    /// It has ended (perhaps nobody has waited for it yet).
    pub fn has_ended(&self) -> bool {
        let mut entry = libc::pollfd { fd: self.fd.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // SAFETY: `entry` is one valid pollfd for the length of the call.
        let ready = unsafe { libc::poll(&raw mut entry, 1, 0) };
        ready == 1 && entry.revents & (libc::POLLIN | libc::POLLHUP) != 0
    }
}

impl AsFd for PidFd {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

fn peer_pidfd(socket: BorrowedFd<'_>) -> std::io::Result<OwnedFd> {
    let mut fd: libc::c_int = -1;
    let mut length = size_of::<libc::c_int>() as libc::socklen_t;
    // SAFETY: `fd` and `length` are valid for writing, and `length` says how large `fd` is.
    let result = unsafe {
        libc::getsockopt(socket.as_raw_fd(), libc::SOL_SOCKET, SO_PEERPIDFD, (&raw mut fd).cast(), &raw mut length)
    };
    if result != 0 {
        return Err(std::io::Error::last_os_error());
    }
    // SAFETY: on success the kernel has made a new descriptor that nobody else owns.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream;

    use super::*;
    use crate::boot_ns;

    #[test]
    fn end_of_a_child_is_seen() {
        let mut child = std::process::Command::new("sleep").arg("100").spawn().unwrap();
        let handle = PidFd::open(child.id()).unwrap();
        assert!(!handle.has_ended());
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(handle.has_ended());
        assert!(PidFd::open(child.id()).unwrap_err().is_gone());
    }

    #[test]
    fn another_start_time_is_another_process() {
        let me = std::process::id();
        let start = PidFd::open(me).unwrap().start_time();
        assert!(PidFd::open_verified(me, start).is_ok());
        assert!(PidFd::open_verified(me, start + 1).unwrap_err().is_gone());
    }

    /// As on a kernel that names the peer by a number only.
    #[test]
    fn a_successor_is_not_taken_for_the_peer() {
        let (here, _there) = UnixStream::pair().unwrap();
        let now = boot_ns();
        std::thread::sleep(std::time::Duration::from_nanos(2 * procfs::tick_ns()));
        let mut successor = std::process::Command::new("sleep").arg("100").spawn().unwrap();
        let by_number = |pid, after_ns| PidFd::by_number(here.as_fd(), pid, after_ns);
        // It has begun after the connection was made, and does not hold it.
        assert!(by_number(successor.id(), now).unwrap_err().is_gone());
        // This process holds it, whenever that was made; if the kernel tells.
        let holds = link::is_held_by(here.as_fd(), std::process::id());
        assert_eq!(by_number(std::process::id(), 0).is_ok(), holds);
        // It had the number already when nobody had connected yet.
        assert!(by_number(successor.id(), boot_ns()).is_ok());
        successor.kill().unwrap();
        assert!(PidFd::of_peer(here.as_fd(), std::process::id(), 0).is_ok());
        successor.wait().unwrap();
        assert!(by_number(successor.id(), boot_ns()).unwrap_err().is_gone());
    }
}
