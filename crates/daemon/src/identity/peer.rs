//! The process behind a connection, proven. The kernel names it by the number that it had when it
//! connected; it may have ended since, somebody may have kept the connection, and the number may be
//! another process's, with an application of another user.
//!
//! So whatever is done to an application because its process asks takes a [`LivePeer`], and there
//! is one way to get one.

use std::os::fd::BorrowedFd;

use numaestro_host::socket::Peer;
use numaestro_host::{HostError, PidFd, procfs};

/// A peer that lived, and was the process that has connected, when this was made.
#[derive(Debug)]
pub(crate) struct LivePeer {
    process: PidFd,
    uid: u32,
}

/// A connection, as far as it tells who is behind it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Evidence<'a> {
    pub(crate) socket: BorrowedFd<'a>,
    pub(crate) peer: Peer,
    /// Nobody had connected yet at this time since boot, nanoseconds.
    pub(crate) after_ns: u64,
}

impl Evidence<'_> {
    /// The process that has connected, if it lives. Its rights may be another user's by now.
    pub(crate) fn process(self) -> Result<PidFd, HostError> {
        PidFd::of_peer(self.socket, self.peer.pid, self.after_ns)
    }

    /// The process lives in a container. One that has ended could have been anything.
    pub(crate) fn is_contained(self) -> bool {
        let Ok(process) = self.process() else { return true };
        procfs::identity(self.peer.pid).map_or(true, |identity| identity.nested) || process.has_ended()
    }
}

impl LivePeer {
    /// Proves that the process behind a connection lives. `only`: and that it has no rights but
    /// those of the user who has connected.
    pub(crate) fn prove(evidence: Evidence<'_>, only: bool) -> Result<Self, HostError> {
        let (process, Peer { pid, uid }) = (evidence.process()?, evidence.peer);
        let failed = |operation, kind: std::io::ErrorKind| HostError::Process { operation, pid, cause: kind.into() };
        if only && procfs::identity(pid).ok().and_then(|uids| uids.only()) != Some(uid) {
            let operation = "manage what runs with another user's rights";
            return Err(failed(operation, std::io::ErrorKind::PermissionDenied));
        }
        // Looked at last: the number was this process's all the time then.
        if process.has_ended() {
            return Err(failed("find", std::io::ErrorKind::NotFound));
        }
        Ok(Self { process, uid })
    }

    pub(crate) fn pid(&self) -> u32 {
        self.process.pid()
    }

    /// The user who has connected.
    pub(crate) fn uid(&self) -> u32 {
        self.uid
    }

    /// It is this process, and not one of the same number.
    pub(crate) fn is(&self, process: &PidFd) -> bool {
        (process.pid(), process.start_time()) == (self.process.pid(), self.process.start_time())
    }

    pub(crate) fn process(&self) -> &PidFd {
        &self.process
    }

    pub(crate) fn into_process(self) -> PidFd {
        self.process
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;
    use std::os::unix::net::UnixStream;

    use super::*;

    #[test]
    fn only_a_living_process_of_the_user_is_a_peer() {
        let (here, _there) = UnixStream::pair().unwrap();
        let of = |pid, uid, only| {
            let peer = Peer { pid, uid };
            LivePeer::prove(Evidence { socket: here.as_fd(), peer, after_ns: 0 }, only)
        };
        let (me, uid) = (std::process::id(), numaestro_host::own_uid());
        assert_eq!(of(me, uid, true).unwrap().pid(), me);
        let kind = |outcome: Result<LivePeer, HostError>| outcome.unwrap_err().kind();
        assert_eq!(kind(of(me, uid + 1, true)), Some(std::io::ErrorKind::PermissionDenied));
        assert!(of(me, uid + 1, false).is_ok());
    }
}
