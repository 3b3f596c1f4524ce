//! Takes over sockets that a service manager (systemd) has opened. It listens, starts us at a
//! connection or at boot, and keeps the sockets open while we are gone, so that a client waits
//! during a restart instead of failing.
//!
//! The protocol is `sd_listen_fds(3)`: `LISTEN_FDS` descriptors from 3 on, if `LISTEN_PID` is us. A
//! dozen lines of it are needed here, which is less than a dependency. Which socket is which is
//! seen from its type, so that one socket unit without names is enough.

use std::os::fd::{AsFd, FromRawFd, OwnedFd};
use std::path::PathBuf;

use rustix::net::{AddressFamily, SocketType, sockopt};

use crate::error::{self, HostError};
use crate::socket::Listener;

/// The first descriptor that is passed (`SD_LISTEN_FDS_START`).
const FIRST: i32 = 3;
/// More than this is not meant for us.
const COUNT_MAX: i32 = 16;

/// The sockets that were passed.
#[derive(Debug, Default)]
pub struct Inherited {
    /// `SOCK_SEQPACKET`: the attach messages.
    pub attach: Option<Listener>,
    /// `SOCK_STREAM`: the control lines.
    pub control: Option<Listener>,
    /// What was passed and cannot be used, one clause each. It is closed.
    pub refused: Vec<String>,
}

/// Takes over what was passed; nothing if we were not started with sockets. To be called once,
/// before descriptors are opened or closed.
pub fn inherited() -> Inherited {
    let number = |name| std::env::var(name).ok().and_then(|text| text.trim().parse::<i32>().ok());
    if number("LISTEN_PID") != i32::try_from(std::process::id()).ok() {
        return Inherited::default();
    }
    let count = number("LISTEN_FDS").unwrap_or(0).clamp(0, COUNT_MAX);
    let mut found = Inherited::default();
    for fd in FIRST..FIRST + count {
        // SAFETY: only a number is passed to the kernel.
        if unsafe { libc::fcntl(fd, libc::F_GETFD) } < 0 {
            continue;
        }
        // SAFETY: it is open, and by the protocol it was opened for us: nobody else in this process
        // knows of it.
        let fd = unsafe { OwnedFd::from_raw_fd(fd) };
        match prepared(fd) {
            Ok((fd, kind)) => {
                let place = if kind == SocketType::STREAM { &mut found.control } else { &mut found.attach };
                if place.is_some() {
                    found.refused.push("two sockets of one type".to_owned());
                } else {
                    *place = Some(Listener::of_descriptor(fd));
                }
            }
            Err(reason) => found.refused.push(reason),
        }
    }
    found
}

/// Makes it one that is ours alone and does not block, if it is a Unix socket that listens.
fn prepared(fd: OwnedFd) -> Result<(OwnedFd, SocketType), String> {
    let listens = sockopt::socket_acceptconn(&fd).unwrap_or(false);
    let unix = sockopt::socket_domain(&fd).is_ok_and(|domain| domain == AddressFamily::UNIX);
    let kind = sockopt::socket_type(&fd).map_err(|_| "a descriptor that is no socket".to_owned())?;
    if !listens || !unix || !matches!(kind, SocketType::STREAM | SocketType::SEQPACKET) {
        return Err("a socket that is not a listening Unix socket".to_owned());
    }
    let set = || -> Result<(), HostError> {
        rustix::io::fcntl_setfd(&fd, rustix::io::FdFlags::CLOEXEC).map_err(error::call("keep a socket"))?;
        let flags = rustix::fs::fcntl_getfl(&fd).map_err(error::call("keep a socket"))?;
        let flags = flags | rustix::fs::OFlags::NONBLOCK;
        rustix::fs::fcntl_setfl(&fd, flags).map_err(error::call("keep a socket"))
    };
    set().map_err(|cause| cause.to_string())?;
    Ok((fd, kind))
}

/// Where a listener is in the file system.
pub fn path_of(listener: &Listener) -> Option<PathBuf> {
    let address = rustix::net::getsockname(listener.as_fd()).ok()?;
    let address = rustix::net::SocketAddrUnix::try_from(address).ok()?;
    let path = address.path_bytes()?;
    Some(PathBuf::from(std::ffi::OsStr::from_bytes(path)))
}

use std::os::unix::ffi::OsStrExt;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::socket::Sort;

    #[test]
    fn only_listening_unix_sockets_are_taken() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("attach");
        let listener = Listener::bind(&path, Sort::Packets).unwrap();
        assert_eq!(path_of(&listener).unwrap(), path);
        let copy = rustix::io::dup(listener.as_fd()).unwrap();
        assert_eq!(prepared(copy).unwrap().1, SocketType::SEQPACKET);
        let tcp = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        assert!(prepared(tcp.into()).unwrap_err().contains("Unix"));
        let (one, _other) = std::os::unix::net::UnixStream::pair().unwrap();
        assert!(prepared(one.into()).unwrap_err().contains("listening"));
        let file = std::fs::File::open("/dev/null").unwrap();
        assert!(prepared(file.into()).unwrap_err().contains("no socket"));
    }

    #[test]
    fn nothing_is_taken_that_was_not_passed_to_us() {
        // Cargo starts tests without sockets: whatever descriptor 3 is here, it is somebody else's.
        let found = inherited();
        assert!(found.attach.is_none() && found.control.is_none() && found.refused.is_empty());
    }
}
