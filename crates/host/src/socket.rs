//! Unix sockets: the packet socket `attach` with descriptors in its messages, and the identity of
//! the peer of any socket. Everything is close-on-exec and non-blocking on the manager's side.

use std::cell::Cell;
use std::ffi::{CString, c_char, c_int};
use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, SocketAddrUnix, SocketFlags, SocketType,
};

use crate::boot_ns;
use crate::error::{self, HostError};

/// `SO_PEERGROUPS` of `asm-generic/socket.h`.
const SO_PEERGROUPS: libc::c_int = 59;

/// The process at the other end, as the kernel says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Peer {
    /// Process id at the time it connected; 0 if it is not visible from our pid namespace.
    pub pid: u32,
    /// User id.
    pub uid: u32,
}

/// Asks the kernel for the process at the other end (`SO_PEERCRED`).
pub fn peer(socket: BorrowedFd<'_>) -> Result<Peer, HostError> {
    let mut credentials = libc::ucred { pid: 0, uid: 0, gid: 0 };
    let mut length = size_of::<libc::ucred>() as libc::socklen_t;
    // SAFETY: both are valid for writing and `length` is the size of `credentials`.
    let result = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_PEERCRED,
            (&raw mut credentials).cast(),
            &raw mut length,
        )
    };
    if result != 0 {
        return Err(error::call("ask who connects")(std::io::Error::last_os_error()));
    }
    Ok(Peer { pid: u32::try_from(credentials.pid).unwrap_or(0), uid: credentials.uid })
}

/// Says whether the other end of a stream has been closed, or will send nothing more.
pub fn has_closed(socket: BorrowedFd<'_>) -> bool {
    let mut one = [PollFd::from_borrowed_fd(socket, PollFlags::RDHUP)];
    poll(&mut one, Some(&Timespec::default())).is_ok() && !one[0].revents().is_empty()
}

/// Groups of the process at the other end when it connected, the effective one first
/// (`SO_PEERCRED`, `SO_PEERGROUPS` of Linux 4.13); empty if the kernel does not say.
pub fn peer_groups(socket: BorrowedFd<'_>) -> Vec<u32> {
    let mut credentials = libc::ucred { pid: 0, uid: 0, gid: 0 };
    let mut length = size_of::<libc::ucred>() as libc::socklen_t;
    let place = (&raw mut credentials).cast();
    // SAFETY: both are valid for writing and `length` is the size of `credentials`.
    let result =
        unsafe { libc::getsockopt(socket.as_raw_fd(), libc::SOL_SOCKET, libc::SO_PEERCRED, place, &raw mut length) };
    if result != 0 {
        return Vec::new();
    }
    let mut groups: Vec<libc::gid_t> = vec![0; 64];
    loop {
        let mut length = (groups.len() * size_of::<libc::gid_t>()) as libc::socklen_t;
        let place = groups.as_mut_ptr().cast();
        // SAFETY: `groups` has room for `length` bytes.
        let result =
            unsafe { libc::getsockopt(socket.as_raw_fd(), libc::SOL_SOCKET, SO_PEERGROUPS, place, &raw mut length) };
        let count = length as usize / size_of::<libc::gid_t>();
        if result == 0 {
            groups.truncate(count);
            break;
        }
        // The kernel says how many there are if there was not room enough.
        if std::io::Error::last_os_error().raw_os_error() != Some(libc::ERANGE) || count <= groups.len() {
            groups.clear();
            break;
        }
        groups.resize(count, 0);
    }
    groups.insert(0, credentials.gid);
    groups
}

/// Two ends that keep the bounds of messages.
pub(crate) fn pair() -> Result<(OwnedFd, OwnedFd), HostError> {
    let pair = rustix::net::socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None);
    pair.map_err(error::call("make a pair of sockets"))
}

/// A listening socket in the file system.
#[derive(Debug)]
pub struct Listener {
    fd: OwnedFd,
    /// Time since boot at which nobody waited.
    empty_ns: Cell<u64>,
}

/// The kind of a socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sort {
    /// `SOCK_SEQPACKET`: one message a packet.
    Packets,
    /// `SOCK_STREAM`.
    Stream,
}

impl Sort {
    fn kind(self) -> SocketType {
        match self {
            Self::Packets => SocketType::SEQPACKET,
            Self::Stream => SocketType::STREAM,
        }
    }
}

impl Listener {
    /// Binds and listens at `path`, replacing any socket there: the caller holds the directory's
    /// lock.
    pub fn bind(path: &Path, sort: Sort) -> Result<Self, HostError> {
        Self::bind_with(path, sort, None)
    }

    /// The same, and every user may connect.
    pub fn bind_for_all(path: &Path, sort: Sort) -> Result<Self, HostError> {
        Self::bind_with(path, sort, Some(0o666))
    }

    /// One that listens already, close-on-exec and non-blocking.
    pub(crate) fn of_descriptor(fd: OwnedFd) -> Self {
        Self { fd, empty_ns: Cell::new(0) }
    }

    fn bind_with(path: &Path, sort: Sort, mode: Option<u32>) -> Result<Self, HostError> {
        let _ = std::fs::remove_file(path);
        let empty_ns = Cell::new(boot_ns());
        let fd = open(sort, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK)?;
        let address = SocketAddrUnix::new(path).map_err(error::file("name a socket", path))?;
        rustix::net::bind(&fd, &address).map_err(error::file("bind a socket at", path))?;
        if let Some(mode) = mode {
            // Before anybody could be let in, so that nobody is refused for the wrong reason.
            let mode = std::os::unix::fs::PermissionsExt::from_mode(mode);
            std::fs::set_permissions(path, mode).map_err(error::file("open to everybody", path))?;
        }
        rustix::net::listen(&fd, 1024).map_err(error::file("listen at", path))?;
        Ok(Self { fd, empty_ns })
    }

    /// The next connection, or `None` if nobody waits.
    pub fn accept(&self) -> Result<Option<OwnedFd>, HostError> {
        let now = boot_ns();
        loop {
            match rustix::net::accept_with(&self.fd, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK) {
                Ok(fd) => return Ok(Some(fd)),
                Err(rustix::io::Errno::AGAIN) => {
                    self.empty_ns.set(now);
                    return Ok(None);
                }
                // The peer went away while it waited.
                Err(rustix::io::Errno::INTR | rustix::io::Errno::CONNABORTED) => {}
                Err(other) => return Err(error::call("accept a connection")(other)),
            }
        }
    }

    /// A time since boot, nanoseconds, at which whoever was accepted last had not connected yet.
    pub fn empty_ns(&self) -> u64 {
        self.empty_ns.get()
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

fn open(sort: Sort, flags: SocketFlags) -> Result<OwnedFd, HostError> {
    rustix::net::socket_with(AddressFamily::UNIX, sort.kind(), flags, None).map_err(error::call("open a socket"))
}

/// Connects to a listener; blocks while its queue is full.
pub fn connect(path: &Path, sort: Sort) -> Result<OwnedFd, HostError> {
    let fd = open(sort, SocketFlags::CLOEXEC)?;
    let address = SocketAddrUnix::new(path).map_err(error::file("name a socket", path))?;
    rustix::net::connect(&fd, &address).map_err(error::file("connect to", path))?;
    Ok(fd)
}

unsafe extern "C" {
    fn nm_is_trusted(fd: c_int, path: *const c_char) -> bool;
}

/// Connects to a manager's socket, if nobody else than root or our own user can be behind it: as
/// programs decide it, too (`client/src/trust.c`).
pub fn connect_trusted(path: &Path, sort: Sort) -> Result<OwnedFd, HostError> {
    let fd = connect(path, sort)?;
    let name = CString::new(path.as_os_str().as_bytes()).map_err(error::file("name a socket", path))?;
    // SAFETY: both live until the call returns, and the text ends with a zero.
    if unsafe { nm_is_trusted(fd.as_raw_fd(), name.as_ptr()) } {
        return Ok(fd);
    }
    let reason = "it, or its directory, is another user's, who could pretend to be the manager";
    let denied = std::io::Error::new(std::io::ErrorKind::PermissionDenied, reason);
    Err(error::file("believe who listens at", path)(denied))
}

/// Sends one packet, with a descriptor if there is one; never blocks on a non-blocking socket,
/// never raises `SIGPIPE`.
pub fn send(socket: BorrowedFd<'_>, message: &[u8], descriptor: Option<BorrowedFd<'_>>) -> Result<(), HostError> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    let descriptors: Vec<BorrowedFd<'_>> = descriptor.into_iter().collect();
    if !descriptors.is_empty() {
        control.push(SendAncillaryMessage::ScmRights(&descriptors));
    }
    rustix::net::sendmsg(socket, &[IoSlice::new(message)], &mut control, SendFlags::NOSIGNAL)
        .map_err(error::call("send a message"))?;
    Ok(())
}

/// Writes as much as there is room for to a non-blocking stream; 0 if there is none. Never raises
/// `SIGPIPE`.
pub fn send_some(socket: BorrowedFd<'_>, bytes: &[u8]) -> Result<usize, HostError> {
    match rustix::net::send(socket, bytes, SendFlags::NOSIGNAL | SendFlags::DONTWAIT) {
        Ok(sent) => Ok(sent),
        Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => Ok(0),
        Err(other) => Err(error::call("send")(other)),
    }
}

/// Writes at least one byte to a stream, waiting for room if it is blocking. Never raises
/// `SIGPIPE`.
pub fn send_waiting(socket: BorrowedFd<'_>, bytes: &[u8]) -> Result<usize, HostError> {
    loop {
        match rustix::net::send(socket, bytes, SendFlags::NOSIGNAL) {
            Err(rustix::io::Errno::INTR) => {}
            other => return other.map_err(error::call("send")),
        }
    }
}

/// The result of [`receive`].
#[derive(Debug)]
pub enum Received {
    /// A packet of this length, with the descriptor that came with it.
    Packet(usize, Option<OwnedFd>),
    /// Nothing yet.
    Nothing,
    /// The other end has closed.
    Closed,
}

/// Receives one packet into `buffer`. A packet that is larger is cut, and its length is that of the
/// buffer.
pub fn receive(socket: BorrowedFd<'_>, buffer: &mut [u8]) -> Result<Received, HostError> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(4))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let flags = RecvFlags::CMSG_CLOEXEC;
    let result = loop {
        match rustix::net::recvmsg(socket, &mut [IoSliceMut::new(buffer)], &mut control, flags) {
            Err(rustix::io::Errno::INTR) => {}
            other => break other,
        }
    };
    let received = match result {
        Err(rustix::io::Errno::AGAIN) => return Ok(Received::Nothing),
        Err(rustix::io::Errno::CONNRESET | rustix::io::Errno::PIPE) => return Ok(Received::Closed),
        other => other.map_err(error::call("receive a message"))?,
    };
    if received.bytes == 0 {
        return Ok(Received::Closed);
    }
    let mut descriptor = None;
    for message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(descriptors) = message {
            // Any beyond the first are closed here.
            descriptor = descriptors.into_iter().next().or(descriptor);
        }
    }
    Ok(Received::Packet(received.bytes, descriptor))
}

/// A descriptor kept in reserve, so that there is one with which to refuse a connection when all
/// others are in use.
#[derive(Debug)]
pub struct Spare(Option<OwnedFd>);

impl Spare {
    /// Takes one.
    pub fn new() -> Self {
        let mut spare = Self(None);
        spare.refill();
        spare
    }

    /// Gives it up, so that the next call that needs a descriptor succeeds.
    pub fn release(&mut self) {
        self.0 = None;
    }

    /// Takes one again if there is none.
    pub fn refill(&mut self) {
        if self.0.is_none() {
            // SAFETY: a plain system call without memory.
            let fd = unsafe { libc::eventfd(0, libc::EFD_CLOEXEC) };
            // SAFETY: the descriptor is new and nobody else's.
            self.0 = (fd >= 0).then(|| unsafe { OwnedFd::from_raw_fd(fd) });
        }
    }
}

impl Default for Spare {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_with_a_descriptor_arrives() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("attach");
        let listener = Listener::bind(&path, Sort::Packets).unwrap();
        assert!(listener.accept().unwrap().is_none());
        let client = connect(&path, Sort::Packets).unwrap();
        let server = listener.accept().unwrap().unwrap();
        let who = peer(server.as_fd()).unwrap();
        assert_eq!(who.pid, std::process::id());
        assert_eq!(peer_groups(server.as_fd()).first(), Some(&rustix::process::getegid().as_raw()));

        let mut buffer = [0; 16];
        assert!(matches!(receive(server.as_fd(), &mut buffer).unwrap(), Received::Nothing));
        send(client.as_fd(), b"hello", Some(client.as_fd())).unwrap();
        let Received::Packet(5, Some(_)) = receive(server.as_fd(), &mut buffer).unwrap() else {
            panic!("no descriptor")
        };
        assert_eq!(&buffer[..5], b"hello");
        drop(client);
        assert!(matches!(receive(server.as_fd(), &mut buffer).unwrap(), Received::Closed));
        assert!(send(server.as_fd(), b"x", None).is_err());
    }

    #[test]
    fn a_stale_socket_is_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("control");
        drop(Listener::bind(&path, Sort::Stream).unwrap());
        assert!(path.exists());
        assert!(connect(&path, Sort::Stream).is_err());
        let _listener = Listener::bind(&path, Sort::Stream).unwrap();
        assert!(connect(&path, Sort::Stream).is_ok());
    }

    #[test]
    fn another_users_listener_is_not_believed() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("control");
        let _own = Listener::bind_for_all(&path, Sort::Stream).unwrap();
        assert!(connect_trusted(&path, Sort::Stream).is_ok());
        let open = |mode| std::fs::set_permissions(dir.path(), std::os::unix::fs::PermissionsExt::from_mode(mode));
        open(0o777).unwrap();
        let refused = connect_trusted(&path, Sort::Stream).unwrap_err();
        assert_eq!(refused.kind(), Some(std::io::ErrorKind::PermissionDenied), "{refused}");
        open(0o755).unwrap();
        if rustix::process::geteuid().is_root() {
            std::os::unix::fs::chown(dir.path(), Some(12345), None).unwrap();
            assert!(connect_trusted(&path, Sort::Stream).is_err(), "a directory of somebody else");
        }
    }
}
