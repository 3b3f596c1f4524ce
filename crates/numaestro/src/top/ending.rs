//! Signals that end the view, turned into a call, so that the terminal is restored first.
#![allow(unsafe_code)]

use std::mem::MaybeUninit;

/// Blocks the ending signals in this thread and those it starts, and calls `ended` from a thread of its own when one comes.
pub fn watch(ended: impl Fn() + Send + 'static) -> std::io::Result<()> {
    let mut set = MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: `sigemptyset` initialises the set before anything reads it; the calls take only the set.
    let (set, failed) = unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        for signal in [libc::SIGTERM, libc::SIGHUP, libc::SIGINT, libc::SIGQUIT] {
            libc::sigaddset(set.as_mut_ptr(), signal);
        }
        let set = set.assume_init();
        (set, libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut()))
    };
    if failed != 0 {
        return Err(std::io::Error::from_raw_os_error(failed));
    }
    std::thread::spawn(move || {
        let mut signal = 0;
        // SAFETY: both pointers are valid for the call.
        while unsafe { libc::sigwait(&raw const set, &raw mut signal) } == 0 {
            ended();
        }
    });
    Ok(())
}
