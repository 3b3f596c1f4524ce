//! The threads of one process as `/proc` shows them, read through one open directory, which cannot
//! come to mean another process.

use std::io;

use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{Mode, OFlags, RawDir};
use rustix::process::{Pid, PidfdFlags};

use super::calls::{self, Sleep};
use super::socket_limits;

/// Threads of one process.
pub(super) struct Tasks {
    dir: OwnedFd,
    process: OwnedFd,
}

impl Tasks {
    /// Of process `pid`.
    pub(super) fn open(pid: u32) -> io::Result<Self> {
        let number = i32::try_from(pid).ok().and_then(Pid::from_raw).ok_or(rustix::io::Errno::SRCH)?;
        // The directory first: if the number came to mean another process in between, that one
        // would be newer than the directory, which then is empty.
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let dir = rustix::fs::open(format!("/proc/{pid}/task"), flags, Mode::empty())?;
        Ok(Self { dir, process: rustix::process::pidfd_open(number, PidfdFlags::empty())? })
    }

    /// Appends the threads there are at this moment; none if the process is gone.
    pub(super) fn list(&self, found: &mut Vec<u32>) {
        let mut buffer = [std::mem::MaybeUninit::uninit(); 4096];
        if rustix::fs::seek(&self.dir, rustix::fs::SeekFrom::Start(0)).is_err() {
            return;
        }
        let mut entries = RawDir::new(&self.dir, &mut buffer);
        while let Some(Ok(entry)) = entries.next() {
            found.extend(entry.file_name().to_str().ok().and_then(|name| name.parse::<u32>().ok()));
        }
    }

    /// The treatment of thread `tid` by its present system call.
    pub(super) fn sleep_of(&self, tid: u32) -> Sleep {
        let mut buffer = [0; 256];
        let sleep = self.read(tid, "syscall", &mut buffer).map_or(Sleep::Stop, calls::decide);
        match sleep {
            Sleep::Unless(fd)
                if self.is_socket(tid, fd) && socket_limits::has_receive_limit(self.process.as_fd(), fd) =>
            {
                Sleep::Leave
            }
            Sleep::LeaveUnlessDeep if self.state(tid) != Some('D') => Sleep::Leave,
            Sleep::Unless(_) | Sleep::LeaveUnlessDeep => Sleep::Stop,
            other => other,
        }
    }

    /// Says whether a descriptor of thread `tid` is a socket. Asked before anybody takes a copy of
    /// it: closing a copy of a file can wait for the file system it is on (a network's, or one that
    /// a program serves).
    fn is_socket(&self, tid: u32, fd: i32) -> bool {
        let mut name = [0_u8; 16];
        let path = format!("{tid}/fd/{fd}");
        let length = rustix::fs::readlinkat_raw(&self.dir, path.as_str(), &mut name[..]);
        length.is_ok_and(|length| name[..length].starts_with(b"socket:"))
    }

    /// Its state as in proc(5): `R`, `S`, `D`, `t`, `Z`, …; `None` if it is gone.
    pub(super) fn state(&self, tid: u32) -> Option<char> {
        let mut buffer = [0; 1024];
        let line = self.read(tid, "stat", &mut buffer)?;
        line[line.rfind(')')? + 1..].trim_start().chars().next()
    }

    /// The thread that traces it.
    pub(super) fn tracer(&self, tid: u32) -> Option<u32> {
        let mut buffer = [0; 1024];
        let text = self.read(tid, "status", &mut buffer)?;
        let tracer = text.lines().find_map(|line| line.strip_prefix("TracerPid:"))?;
        tracer.trim().parse().ok().filter(|pid| *pid != 0)
    }

    /// The beginning of a file of thread `tid`.
    fn read<'b>(&self, tid: u32, file: &str, buffer: &'b mut [u8]) -> Option<&'b str> {
        let path = format!("{tid}/{file}");
        let open = rustix::fs::openat(&self.dir, path.as_str(), OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty());
        let length = rustix::io::read(open.ok()?, &mut *buffer).ok()?;
        // A name is any bytes; the fields read here come before or after it.
        buffer[..length].iter_mut().filter(|byte| !byte.is_ascii()).for_each(|byte| *byte = b'?');
        std::str::from_utf8(&buffer[..length]).ok()
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
