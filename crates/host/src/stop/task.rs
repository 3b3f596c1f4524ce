//! The threads of one process, as whoever stops them sees them.

use std::io;

use rustix::fd::AsFd;
use rustix::process::{Pid, PidfdFlags};

use super::calls::{self, Sleep};
use super::socket_limits;
use crate::error::HostError;
use crate::procfs::{self, LINE_BYTES};

/// Threads of one process.
pub(super) struct Tasks {
    pid: u32,
    tasks: procfs::Tasks,
}

impl Tasks {
    /// Of process `pid`.
    pub(super) fn open(pid: u32) -> Result<Self, HostError> {
        Ok(Self { pid, tasks: procfs::Tasks::open(pid)? })
    }

    /// Appends the threads there are at this moment; none if the process is gone.
    pub(super) fn list(&self, found: &mut Vec<u32>) {
        self.tasks.list(found);
    }

    /// The treatment of thread `tid` by its present system call.
    pub(super) fn sleep_of(&self, tid: u32) -> Sleep {
        let mut buffer = [0; 256];
        let sleep = self.tasks.read(tid, "syscall", &mut buffer).map_or(Sleep::Stop, calls::decide);
        match sleep {
            Sleep::Unless(fd) if self.has_receive_limit(tid, fd) => Sleep::Leave,
            Sleep::LeaveUnlessDeep if self.state(tid) != Some('D') => Sleep::Leave,
            Sleep::Unless(_) | Sleep::LeaveUnlessDeep => Sleep::Stop,
            other => other,
        }
    }

    /// Says whether a descriptor of thread `tid` is a socket with a time limit for receiving.
    fn has_receive_limit(&self, tid: u32, fd: i32) -> bool {
        // The process first: if its number came to mean another one in between, that one would be
        // newer than the open directory, in which nothing is then.
        let process = self.process();
        self.is_socket(tid, fd) && process.is_ok_and(|process| socket_limits::has_receive_limit(process.as_fd(), fd))
    }

    fn process(&self) -> io::Result<rustix::fd::OwnedFd> {
        let number = i32::try_from(self.pid).ok().and_then(Pid::from_raw).ok_or(rustix::io::Errno::SRCH)?;
        Ok(rustix::process::pidfd_open(number, PidfdFlags::empty())?)
    }

    /// Says whether a descriptor of thread `tid` is a socket. Asked before anybody takes a copy of
    /// it: closing a copy of a file can wait for the file system it is on (a network's, or one that
    /// a program serves).
    fn is_socket(&self, tid: u32, fd: i32) -> bool {
        let mut name = [0_u8; 16];
        let path = format!("{tid}/fd/{fd}");
        let length = rustix::fs::readlinkat_raw(self.tasks.as_fd(), path.as_str(), &mut name[..]);
        length.is_ok_and(|length| name[..length].starts_with(b"socket:"))
    }

    /// Its state as in proc(5): `R`, `S`, `D`, `t`, `Z`, …; `None` if it is gone.
    pub(super) fn state(&self, tid: u32) -> Option<char> {
        let mut buffer = [0; LINE_BYTES];
        let line = self.tasks.read(tid, "stat", &mut buffer)?;
        line[line.rfind(')')? + 1..].trim_start().chars().next()
    }

    /// The thread that traces it.
    pub(super) fn tracer(&self, tid: u32) -> Option<u32> {
        let mut buffer = [0; LINE_BYTES];
        let text = self.tasks.read(tid, "status", &mut buffer)?;
        let tracer = text.lines().find_map(|line| line.strip_prefix("TracerPid:"))?;
        tracer.trim().parse().ok().filter(|pid| *pid != 0)
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsRawFd;
    use std::os::unix::net::UnixDatagram;

    use super::*;

    #[test]
    fn threads_and_what_they_do_are_seen() {
        let tasks = Tasks::open(std::process::id()).unwrap();
        let (tell, told) = std::sync::mpsc::channel();
        let (end, ended) = std::sync::mpsc::channel::<()>();
        let thread = std::thread::spawn(move || {
            tell.send(rustix::thread::gettid().as_raw_nonzero().get().cast_unsigned()).unwrap();
            let _ = ended.recv();
        });
        let tid = told.recv().unwrap();
        let mut found = Vec::new();
        tasks.list(&mut found);
        assert!(found.contains(&tid) && found.contains(&std::process::id()));
        assert!(matches!(tasks.state(tid), Some('R' | 'S')));
        assert_eq!(tasks.sleep_of(tid), Sleep::Stop);
        let (file, socket) = (std::fs::File::open("/proc/self/stat").unwrap(), UnixDatagram::unbound().unwrap());
        assert!(tasks.is_socket(tid, socket.as_raw_fd()) && !tasks.is_socket(tid, file.as_raw_fd()));
        assert!(!tasks.is_socket(tid, -1));
        drop(end);
        thread.join().unwrap();
        // The kernel takes it out of the list a moment after it was joined.
        while tasks.state(tid).is_some() {
            std::thread::yield_now();
        }
        found.clear();
        tasks.list(&mut found);
        assert!(!found.contains(&tid));
    }
}
