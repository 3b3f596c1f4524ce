//! Puts the descriptors of this process in order at its start: none missing below 3, none inherited
//! above.

use std::os::fd::{AsRawFd, IntoRawFd};

/// Puts close-on-exec `/dev/null`s on the descriptors 0, 1, 2 if they are closed, so that no socket
/// of ours lands there and no message is written into one; a program that is executed finds them
/// closed again.
pub fn fill_standard() {
    while let Ok(file) = std::fs::OpenOptions::new().read(true).write(true).open("/dev/null") {
        if file.as_raw_fd() > 2 {
            break;
        }
        let _ = file.into_raw_fd();
    }
}

/// Closes every descriptor beyond the standard ones; to be called before this process opens any of
/// its own. The manager outlives the command that starts it: with inherited descriptors it would
/// keep pipes open and locks held that are not its own.
///
/// Kernels before 5.9 refuse, and then nothing is closed.
pub fn close_inherited() {
    // SAFETY: touches no memory; the closed descriptors belong to nobody here, as nothing of ours
    // is open yet.
    unsafe { libc::syscall(libc::SYS_close_range, 3, libc::c_uint::MAX, 0) };
}
