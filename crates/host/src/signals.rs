//! Turns signals into something that a thread waits for, and blocks one that is not wanted at all.
//! For the manager's loop see [`crate::poll::StopSignals`].

use std::io;

pub use rustix::process::Signal;

use crate::error::{self, HostError};

/// Signals that interrupt nobody any more: they come when they are asked for.
#[derive(Clone, Copy)]
pub struct BlockedSignals {
    set: libc::sigset_t,
}

impl std::fmt::Debug for BlockedSignals {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BlockedSignals").finish_non_exhaustive()
    }
}

impl BlockedSignals {
    /// Blocks `signals` in the calling thread and in the threads it starts from then on.
    pub fn block(signals: &[Signal]) -> Result<Self, HostError> {
        // SAFETY: a signal set is plain memory that `sigemptyset` initialises; all calls get valid
        // pointers.
        let (set, failed) = unsafe {
            let mut set: libc::sigset_t = std::mem::zeroed();
            libc::sigemptyset(&raw mut set);
            for signal in signals {
                libc::sigaddset(&raw mut set, signal.as_raw());
            }
            (set, libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut()))
        };
        if failed == 0 { Ok(Self { set }) } else { Err(refused("block signals", failed)) }
    }

    /// Waits until one of them has come, to this process or the calling thread; its number.
    pub fn wait(&self) -> Result<i32, HostError> {
        let mut signal = 0;
        // SAFETY: both pointers are valid for the call.
        let failed = unsafe { libc::sigwait(&raw const self.set, &raw mut signal) };
        if failed == 0 { Ok(signal) } else { Err(refused("wait for a signal", failed)) }
    }
}

fn refused(operation: &'static str, errno: i32) -> HostError {
    error::call(operation)(io::Error::from_raw_os_error(errno))
}

/// The calling thread takes no signal any more: signals to the process go to its other threads.
pub fn block_all() {
    // SAFETY: a signal set is plain memory that `sigfillset` initialises; all pointers are valid
    // for the calls.
    unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigfillset(&raw mut set);
        libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut());
    }
}

/// Sets `SIGPIPE` to ignored; for the manager, which must not die of a program that hung up.
pub fn ignore_broken_pipes() {
    // SAFETY: sets a disposition; no handler runs.
    unsafe { libc::signal(libc::SIGPIPE, libc::SIG_IGN) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_blocked_signal_waits_until_it_is_asked_for() {
        // In a thread of its own, because its mask stays changed.
        let thread = std::thread::spawn(|| {
            let signals = BlockedSignals::block(&[Signal::USR1, Signal::USR2]).unwrap();
            // SAFETY: sends to the calling thread, which has it blocked.
            assert_eq!(unsafe { libc::raise(libc::SIGUSR2) }, 0);
            signals.wait().unwrap()
        });
        assert_eq!(thread.join().unwrap(), libc::SIGUSR2);
    }
}
