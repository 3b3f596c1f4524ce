//! Finds out whether a descriptor of another process is a socket with a time limit (`SO_RCVTIMEO`).

use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

/// Looks at descriptor `fd` of the process behind `process` (a pidfd). `false` also if it cannot be
/// looked at.
///
/// The descriptor is duplicated for the length of one call; the program's own use of it is not
/// touched.
pub(super) fn has_receive_limit(process: BorrowedFd<'_>, fd: i32) -> bool {
    // SAFETY: three numbers; the kernel returns a new descriptor or an error.
    let raw = unsafe { libc::syscall(libc::SYS_pidfd_getfd, process.as_raw_fd(), fd, 0) };
    let Some(raw) = i32::try_from(raw).ok().filter(|raw| *raw >= 0) else { return false };
    // SAFETY: the descriptor is new and nobody else's.
    let copy = unsafe { OwnedFd::from_raw_fd(raw) };
    let mut limit = libc::timeval { tv_sec: 0, tv_usec: 0 };
    let mut length = size_of::<libc::timeval>() as libc::socklen_t;
    // SAFETY: `limit` and `length` are valid for writing, and `length` says how large `limit` is. A
    // descriptor of another kind gives an error.
    let result = unsafe {
        libc::getsockopt(
            copy.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_RCVTIMEO,
            (&raw mut limit).cast(),
            &raw mut length,
        )
    };
    result == 0 && (limit.tv_sec != 0 || limit.tv_usec != 0)
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;
    use std::os::unix::net::UnixDatagram;
    use std::time::Duration;

    use super::*;

    #[test]
    fn limits_are_told_from_none_and_from_files() {
        let me = crate::PidFd::open(std::process::id()).unwrap();
        let socket = UnixDatagram::unbound().unwrap();
        socket.set_write_timeout(Some(Duration::from_millis(5))).unwrap();
        assert!(!has_receive_limit(me.as_fd(), socket.as_raw_fd()));
        socket.set_read_timeout(Some(Duration::from_millis(5))).unwrap();
        assert!(has_receive_limit(me.as_fd(), socket.as_raw_fd()));
        let file = std::fs::File::open("/proc/self/stat").unwrap();
        assert!(!has_receive_limit(me.as_fd(), file.as_raw_fd()));
        assert!(!has_receive_limit(me.as_fd(), -1));
    }
}
