//! The process at the other end of a connection, where the kernel names it by a number only (before
//! Linux 6.5). A process of this number that holds the other end itself is no successor of it: the
//! number is all that a successor has.

use std::fs;
use std::os::fd::BorrowedFd;

use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, netlink};

use crate::procfs;

/// `SOCK_DIAG_BY_FAMILY` of `linux/sock_diag.h`.
const SOCK_DIAG_BY_FAMILY: u16 = 20;
/// `NLM_F_REQUEST` of `linux/netlink.h`.
const REQUEST: u16 = 1;
/// `UDIAG_SHOW_PEER` of `linux/unix_diag.h`.
const SHOW_PEER: u32 = 4;
/// `UNIX_DIAG_PEER`.
const PEER: u16 = 2;
/// Length of `struct nlmsghdr`, and of `struct unix_diag_msg` behind it.
const HEAD_BYTES: usize = 16;
const ANSWER_BYTES: usize = 16;
/// Most descriptors that are looked at: the manager has other things to do.
const LOOKS_MAX: usize = 16 * 1024;

/// One of the descriptors of the process is the other end of this Unix socket.
pub(crate) fn is_held_by(socket: BorrowedFd<'_>, pid: u32) -> bool {
    let Some(inode) = other_end(socket) else { return false };
    let wanted = format!("socket:[{inode}]");
    let mut threads = procfs::threads(pid).unwrap_or_default();
    // A thread may have descriptors of its own, like the one that speaks for a whole program: that
    // is one of the youngest.
    threads.sort_unstable_by_key(|tid| (*tid != pid, std::cmp::Reverse(*tid)));
    let links = threads.iter().filter_map(|tid| fs::read_dir(format!("/proc/{pid}/task/{tid}/fd")).ok());
    let links = links.flatten().flatten().take(LOOKS_MAX);
    links.filter_map(|entry| fs::read_link(entry.path()).ok()).any(|link| link.as_os_str() == wanted.as_str())
}

/// The inode of the socket at the other end, as the kernel's diagnosis of sockets has it.
fn other_end(socket: BorrowedFd<'_>) -> Option<u32> {
    let inode = u32::try_from(rustix::fs::fstat(socket).ok()?.st_ino).ok()?;
    let (raw, flags) = (SocketType::RAW, SocketFlags::CLOEXEC);
    let kernel = rustix::net::socket_with(AddressFamily::NETLINK, raw, flags, Some(netlink::SOCK_DIAG)).ok()?;
    rustix::net::send(&kernel, &question(inode), SendFlags::empty()).ok()?;
    let mut answer = [0; 256];
    let (_, length) = rustix::net::recv(&kernel, &mut answer[..], RecvFlags::DONTWAIT).ok()?;
    peer_in(answer.get(..length)?)
}

/// `struct nlmsghdr`, and `struct unix_diag_req` behind it.
fn question(inode: u32) -> Vec<u8> {
    let family = u8::try_from(libc::AF_UNIX).unwrap_or_default();
    let mut bytes = Vec::with_capacity(40);
    bytes.extend(40_u32.to_ne_bytes());
    bytes.extend([SOCK_DIAG_BY_FAMILY.to_ne_bytes(), REQUEST.to_ne_bytes()].concat());
    bytes.extend([0; 8]);
    bytes.extend([family, 0, 0, 0]);
    // All states; no cookie.
    for word in [u32::MAX, inode, SHOW_PEER, u32::MAX, u32::MAX] {
        bytes.extend(word.to_ne_bytes());
    }
    bytes
}

fn peer_in(answer: &[u8]) -> Option<u32> {
    let short = |at: usize| Some(u16::from_ne_bytes(answer.get(at..at + 2)?.try_into().ok()?));
    if short(4)? != SOCK_DIAG_BY_FAMILY {
        return None;
    }
    let mut at = HEAD_BYTES + ANSWER_BYTES;
    loop {
        let (length, kind) = (usize::from(short(at)?), short(at + 2)?);
        if kind == PEER {
            let peer = u32::from_ne_bytes(answer.get(at + 4..at + 8)?.try_into().ok()?);
            return (peer != 0).then_some(peer);
        }
        at += length.max(4).next_multiple_of(4);
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;
    use std::os::unix::net::UnixStream;

    use numaestro_skip::skip;

    use super::*;

    #[test]
    fn whoever_holds_the_other_end_is_known() {
        let (here, there) = UnixStream::pair().unwrap();
        let Some(inode) = other_end(here.as_fd()) else { skip!("the kernel has no diagnosis of Unix sockets") };
        assert_eq!(u64::from(inode), rustix::fs::fstat(&there).unwrap().st_ino);
        assert!(is_held_by(here.as_fd(), std::process::id()));
        // It has inherited neither.
        let mut child = std::process::Command::new("sleep").arg("100").spawn().unwrap();
        assert!(!is_held_by(here.as_fd(), child.id()));
        child.kill().unwrap();
        child.wait().unwrap();
        drop(there);
        assert!(!is_held_by(here.as_fd(), std::process::id()), "nobody holds it");
    }

    #[test]
    fn an_answer_that_is_cut_says_nothing() {
        assert_eq!(question(1).len(), 40);
        let mut whole = [0; 48];
        whole[4..6].copy_from_slice(&SOCK_DIAG_BY_FAMILY.to_ne_bytes());
        whole[32..34].copy_from_slice(&8_u16.to_ne_bytes());
        whole[34..36].copy_from_slice(&7_u16.to_ne_bytes());
        whole[40..42].copy_from_slice(&8_u16.to_ne_bytes());
        whole[42..44].copy_from_slice(&PEER.to_ne_bytes());
        whole[44..].copy_from_slice(&9_u32.to_ne_bytes());
        assert_eq!(peer_in(&whole), Some(9));
        for length in 0..whole.len() {
            assert_eq!(peer_in(&whole[..length]), None, "{length}");
        }
    }
}
