//! Starts a program that outlives us and is a child of init: `run` becomes another program, which
//! would otherwise find a stranger among its children. Also makes a copy of this process that
//! watches over it.

use std::fs::File;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use rustix::process::{Pid, Signal};

use crate::error::{self, HostError};
use crate::socket;

/// Starts `command` in a session of its own, child of init, its error output to `log`, its input
/// from nowhere. Returns the reading end of a pipe that is its standard output: a line on it is how
/// it says that it is ready, and an end without one that it is not.
pub fn spawn_detached(mut command: Command, log: File) -> Result<std::io::PipeReader, HostError> {
    let (reader, writer) = std::io::pipe().map_err(error::call("make a pipe"))?;
    command.stdin(Stdio::null()).stdout(writer).stderr(log).current_dir("/");
    // SAFETY: between fork and exec the closure only makes system calls that are safe there
    // (setsid, fork, _exit).
    unsafe {
        command.pre_exec(|| {
            libc::setsid();
            match libc::fork() {
                -1 => Err(std::io::Error::last_os_error()),
                0 => {
                    // Our caller may have had them blocked, and they would stay so over exec.
                    let mut none: libc::sigset_t = std::mem::zeroed();
                    libc::sigemptyset(&raw mut none);
                    libc::pthread_sigmask(libc::SIG_SETMASK, &raw const none, std::ptr::null_mut());
                    Ok(())
                }
                _ => libc::_exit(0),
            }
        });
    }
    let mut intermediate = command.spawn().map_err(error::call("start the manager"))?;
    // It has ended already; without this it would remain as a zombie of the program to come.
    let _ = intermediate.wait();
    Ok(reader)
}

/// A copy of this process ([`fork_watcher`]), its child.
#[derive(Debug)]
pub struct Watcher {
    process: Pid,
}

impl Watcher {
    /// Any child, for tests.
    #[cfg(test)]
    pub(crate) fn of(child: &std::process::Child) -> Self {
        Self { process: Pid::from_child(child) }
    }

    /// Ends it at once.
    pub fn kill(&self) {
        // A child that nobody has waited for keeps its number.
        let _ = rustix::process::kill_process(self.process, Signal::KILL);
    }
}

/// Makes a copy of this process, its child in a session of its own, which does `work` and ends. It
/// is deaf to the signals that end programs, and holds no descriptor but one end of a pair of
/// sockets that keep the bounds of messages. Returns the other end: the copy sees its end when this
/// process ends, however it ends.
///
/// A child, because a program that lets a process stop it lets that one's children do so too
/// (Yama).
///
/// To be called while this process has one thread that works: locks that other threads held would
/// be held in the copy for ever.
pub fn fork_watcher(name: &std::ffi::CStr, work: impl FnOnce(OwnedFd)) -> Result<(OwnedFd, Watcher), HostError> {
    let (theirs, ours) = socket::pair()?;
    // SAFETY: the copy has one thread, the caller promises that nobody else was in the middle of
    // something.
    match unsafe { libc::fork() } {
        -1 => Err(error::call("start a watcher")(std::io::Error::last_os_error())),
        0 => {
            settle_watcher(name, &theirs);
            // Our end is closed already, as everything else: dropping it would close somebody
            // else's number.
            std::mem::forget(ours);
            // A panic must not go on in the copy as if it were the original.
            let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| work(theirs)));
            // SAFETY: it takes no pointer, and does not come back.
            unsafe { libc::_exit(0) }
        }
        child => {
            let process =
                Pid::from_raw(child).ok_or(rustix::io::Errno::SRCH).map_err(error::call("start a watcher"))?;
            Ok((ours, Watcher { process }))
        }
    }
}

/// Name, signals and descriptors of the copy.
fn settle_watcher(name: &std::ffi::CStr, socket: &OwnedFd) {
    let keep = socket.as_raw_fd().cast_unsigned();
    // SAFETY: `name` and the path are C strings, and the descriptors that are closed belong to
    // nobody in this process.
    unsafe {
        libc::setsid();
        libc::prctl(libc::PR_SET_NAME, name.as_ptr());
        for signal in [libc::SIGTERM, libc::SIGINT, libc::SIGHUP, libc::SIGQUIT, libc::SIGPIPE] {
            libc::signal(signal, libc::SIG_IGN);
        }
        let nothing = libc::open(c"/dev/null".as_ptr(), libc::O_RDWR);
        for standard in 0..3 {
            libc::dup2(nothing, standard);
        }
        if keep > 3 {
            libc::syscall(libc::SYS_close_range, 3, keep - 1, 0);
        }
        libc::syscall(libc::SYS_close_range, keep.max(2) + 1, u32::MAX, 0);
        libc::chdir(c"/".as_ptr());
    }
}

/// Points standard output where standard error goes, and so closes the pipe of [`spawn_detached`].
pub fn close_ready_pipe() {
    // Failure leaves the pipe open, which only keeps a waiting reader from seeing its end.
    let _ = rustix::stdio::dup2_stdout(rustix::stdio::stderr());
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    #[test]
    fn a_watcher_sees_the_end_and_holds_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let seen = dir.path().join("seen");
        // A process of its own with one thread: the test harness has many.
        let (path, other) = (seen.clone(), std::io::pipe().unwrap());
        // SAFETY: the child makes system calls and ends.
        match unsafe { libc::fork() } {
            0 => {
                let watched = fork_watcher(c"watcher", |socket| {
                    let mut text = String::new();
                    let _ = File::from(socket).read_to_string(&mut text);
                    let _ = std::fs::write(path, text);
                });
                let _ = watched.map(|(socket, _)| rustix::io::write(&socket, b"alive"));
                // SAFETY: as above.
                unsafe { libc::_exit(0) }
            }
            child => {
                let mut status = 0;
                // SAFETY: `status` is valid for writing.
                unsafe { libc::waitpid(child, &raw mut status, 0) };
            }
        }
        // The watcher holds no other pipe of ours open.
        let (mut reader, writer) = other;
        drop(writer);
        assert_eq!(reader.read_to_end(&mut Vec::new()).unwrap(), 0);
        while std::fs::read_to_string(&seen).unwrap_or_default() != "alive" {
            std::thread::yield_now();
        }
    }

    #[test]
    fn the_program_runs_and_is_not_our_child() {
        let dir = tempfile::tempdir().unwrap();
        let log = File::create(dir.path().join("log")).unwrap();
        let mut command = Command::new("sh");
        command.args(["-c", "sleep 0.05; cut -d' ' -f4 /proc/$$/stat; echo oops >&2"]);
        let mut text = String::new();
        spawn_detached(command, log).unwrap().read_to_string(&mut text).unwrap();
        assert_ne!(text.trim().parse::<u32>().unwrap(), std::process::id());
        // The reader has seen the end of the pipe, so the program has ended or is about to write to
        // its log no more.
        while std::fs::read_to_string(dir.path().join("log")).unwrap().is_empty() {
            std::thread::yield_now();
        }
    }
}
