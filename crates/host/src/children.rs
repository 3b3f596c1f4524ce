//! Children of this process: makes them end with it, and counts the processor time they have used.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::time::Duration;

use rustix::process::{Pid, Signal};

use crate::error::{self, HostError};

/// The operation that errors of [`wait_with_usage`] name.
const WAIT: &str = "wait for the end";

/// The end of a child.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Usage {
    /// It ended by itself with exit code 0.
    pub success: bool,
    /// Processor time it used, in user and system mode, its waited-for children included.
    pub processor_time: Duration,
}

/// Lets the kernel send `signal` to the program that `command` starts when the thread that starts
/// it ends, however it ends.
pub fn end_with_parent(command: &mut Command, signal: Signal) {
    let set = move || Ok(rustix::process::set_parent_process_death_signal(Some(signal))?);
    // SAFETY: between fork and exec nothing but one system call is made.
    unsafe { command.pre_exec(set) };
}

/// Waits for the end of child `pid` and reaps it. The usage of one child is to be had from wait4
/// only.
pub fn wait_with_usage(pid: u32) -> Result<Usage, HostError> {
    // Neither 0 nor a negative number: they would mean other children too.
    let child = i32::try_from(pid).ok().and_then(Pid::from_raw).ok_or(rustix::io::Errno::CHILD);
    let child = child.map_err(error::process(WAIT, pid))?;
    let mut status = 0;
    // SAFETY: all bits zero is a valid rusage, which holds nothing but integers.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    loop {
        // SAFETY: `status` and `usage` are valid for writes for the length of the call.
        let got = unsafe { libc::wait4(child.as_raw_nonzero().get(), &raw mut status, 0, &raw mut usage) };
        if got > 0 {
            break;
        }
        let cause = io::Error::last_os_error();
        if cause.kind() != io::ErrorKind::Interrupted {
            return Err(error::process(WAIT, pid)(cause));
        }
    }
    Ok(Usage {
        success: libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0,
        processor_time: duration(usage.ru_utime) + duration(usage.ru_stime),
    })
}

/// The kernel gives no negative times.
fn duration(time: libc::timeval) -> Duration {
    Duration::from_secs(time.tv_sec.unsigned_abs()) + Duration::from_micros(time.tv_usec.unsigned_abs())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn success_and_the_time_that_was_used_are_seen() {
        let busy = shell("i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done").spawn().unwrap().id();
        let usage = wait_with_usage(busy).unwrap();
        assert!(usage.success && usage.processor_time > Duration::ZERO);
        assert!(!wait_with_usage(shell("exit 3").spawn().unwrap().id()).unwrap().success);
        assert!(!wait_with_usage(shell("kill -9 $$").spawn().unwrap().id()).unwrap().success);
    }

    #[test]
    fn only_a_child_of_ours_is_waited_for() {
        for pid in [0, 1, u32::MAX] {
            assert_eq!(wait_with_usage(pid).unwrap_err().errno(), Some(libc::ECHILD));
        }
    }

    #[test]
    fn a_program_ends_with_the_thread_that_started_it() {
        let parent = std::thread::spawn(|| {
            let mut command = shell("exec sleep 1000");
            end_with_parent(&mut command, Signal::KILL);
            command.spawn().unwrap().id()
        });
        assert!(!wait_with_usage(parent.join().unwrap()).unwrap().success);
    }
}
