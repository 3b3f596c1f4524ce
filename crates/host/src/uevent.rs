//! The kernel's own announcements that processors go offline or come back
//! (`NETLINK_KOBJECT_UEVENT`). Any user may listen. The kernel throws announcements of other
//! devices away, so that a plugged-in mouse wakes nobody up.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use crate::error::{self, HostError};

/// Multicast group of the kernel; 2 would be udev's.
const KERNEL_GROUP: u32 = 1;
/// Longer than any announcement (`UEVENT_BUFFER_SIZE` of Linux is 2048).
const BUFFER_BYTES: usize = 4096;

/// See the file's header.
#[derive(Debug)]
pub struct ProcessorEvents {
    fd: OwnedFd,
}

/// Lets through announcements that begin with `online@/` or `offline@`, and nothing else: classic
/// BPF over the bytes of the announcement.
fn filter() -> [libc::sock_filter; 9] {
    const LOAD_WORD: u16 = 0x20;
    const JUMP_IF_EQUAL: u16 = 0x15;
    const RETURN: u16 = 0x06;
    let line = |code, jt, jf, k| libc::sock_filter { code, jt, jf, k };
    let word = |text: &[u8; 4]| u32::from_be_bytes(*text);
    [
        line(LOAD_WORD, 0, 0, 0),
        line(JUMP_IF_EQUAL, 0, 2, word(b"onli")),
        line(LOAD_WORD, 0, 0, 4),
        line(JUMP_IF_EQUAL, 3, 4, word(b"ne@/")),
        line(JUMP_IF_EQUAL, 0, 3, word(b"offl")),
        line(LOAD_WORD, 0, 0, 4),
        line(JUMP_IF_EQUAL, 0, 1, word(b"ine@")),
        line(RETURN, 0, 0, 0xffff),
        line(RETURN, 0, 0, 0),
    ]
}

impl ProcessorEvents {
    /// Listens from now on. Readable when there may be something for [`Self::take`].
    pub fn listen() -> Result<Self, HostError> {
        let flags = libc::SOCK_DGRAM | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
        // SAFETY: no pointers are passed.
        let fd = unsafe { libc::socket(libc::AF_NETLINK, flags, libc::NETLINK_KOBJECT_UEVENT) };
        if fd < 0 {
            return Err(error::call("listen for processors")(std::io::Error::last_os_error()));
        }
        // SAFETY: the descriptor is new and nobody else's.
        let fd = unsafe { OwnedFd::from_raw_fd(fd) };
        let mut lines = filter();
        let program = libc::sock_fprog { len: lines.len() as u16, filter: lines.as_mut_ptr() };
        // Before it is bound, so that nothing else ever comes in. SAFETY: the program and its lines
        // are valid for reading during the call, and of the length that is announced.
        let attached = unsafe {
            let size = size_of::<libc::sock_fprog>() as libc::socklen_t;
            let value = (&raw const program).cast();
            libc::setsockopt(fd.as_raw_fd(), libc::SOL_SOCKET, libc::SO_ATTACH_FILTER, value, size)
        };
        if attached != 0 {
            return Err(error::call("filter announcements")(std::io::Error::last_os_error()));
        }
        // SAFETY: an all-zero address is a valid one: the kernel chooses the port.
        let mut address: libc::sockaddr_nl = unsafe { std::mem::zeroed() };
        address.nl_family = libc::AF_NETLINK as libc::sa_family_t;
        address.nl_groups = KERNEL_GROUP;
        // SAFETY: the address is valid for reading during the call, and of the length that is
        // announced.
        let bound = unsafe {
            let size = size_of::<libc::sockaddr_nl>() as libc::socklen_t;
            libc::bind(fd.as_raw_fd(), (&raw const address).cast(), size)
        };
        if bound != 0 {
            return Err(error::call("listen for processors")(std::io::Error::last_os_error()));
        }
        Ok(Self { fd })
    }

    /// Takes everything that is there. True if a processor has gone or come, or if announcements
    /// have been lost.
    pub fn take(&self) -> bool {
        let mut found = false;
        let mut buffer = [0_u8; BUFFER_BYTES];
        loop {
            // SAFETY: an all-zero address is a valid one.
            let mut sender: libc::sockaddr_nl = unsafe { std::mem::zeroed() };
            let mut size = size_of::<libc::sockaddr_nl>() as libc::socklen_t;
            // SAFETY: buffer and address are valid for writing of as many bytes as are announced.
            let got = unsafe {
                let (buffer, address) = (buffer.as_mut_ptr().cast(), (&raw mut sender).cast());
                libc::recvfrom(self.fd.as_raw_fd(), buffer, BUFFER_BYTES, 0, address, &raw mut size)
            };
            match usize::try_from(got) {
                // Only the kernel has port 0.
                Ok(bytes) => found |= sender.nl_pid == 0 && is_about_processor(&buffer[..bytes]),
                Err(_) => match std::io::Error::last_os_error().raw_os_error() {
                    Some(libc::EINTR) => {}
                    Some(libc::ENOBUFS) => found = true,
                    _ => return found,
                },
            }
        }
    }
}

impl AsFd for ProcessorEvents {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// `ACTION@PATH`, then `NAME=VALUE`, each with a zero byte at its end.
fn is_about_processor(announcement: &[u8]) -> bool {
    let mut fields = announcement.split(|byte| *byte == 0);
    let first = fields.next().unwrap_or_default();
    (first.starts_with(b"online@/") || first.starts_with(b"offline@/")) && fields.any(|field| field == b"SUBSYSTEM=cpu")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processors_are_told_from_other_devices() {
        let cpu =
            b"offline@/devices/system/cpu/cpu1\0ACTION=offline\0DEVPATH=/devices/system/cpu/cpu1\0SUBSYSTEM=cpu\0";
        assert!(is_about_processor(cpu));
        assert!(!is_about_processor(b"online@/devices/system/memory/memory3\0SUBSYSTEM=memory\0"));
        assert!(!is_about_processor(b"add@/devices/cpu\0SUBSYSTEM=cpu\0"));
        assert!(!is_about_processor(b""));
    }

    /// Runs classic BPF on a packet (bpf(4) of BSD): as much of it as the filter above needs.
    fn passes(packet: &[u8]) -> bool {
        let lines = filter();
        let (mut at, mut accumulator) = (0, 0);
        loop {
            let line = lines[at];
            at += 1;
            match line.code {
                0x20 => match packet.get(line.k as usize..line.k as usize + 4) {
                    Some(word) => accumulator = u32::from_be_bytes(word.try_into().unwrap()),
                    None => return false,
                },
                0x15 => at += usize::from(if accumulator == line.k { line.jt } else { line.jf }),
                _ => return line.k > 0,
            }
        }
    }

    #[test]
    fn the_filter_lets_through_what_counts() {
        for (packet, expected) in [
            (&b"online@/devices/system/cpu/cpu1"[..], true),
            (b"offline@/devices/system/cpu/cpu1", true),
            (b"change@/devices/virtual/net", false),
            (b"onlineXX", false),
            (b"offlX", false),
            (b"on", false),
            (b"", false),
        ] {
            assert_eq!(passes(packet), expected, "{}", String::from_utf8_lossy(packet));
        }
    }

    #[test]
    fn anybody_may_listen() {
        let events = ProcessorEvents::listen().unwrap();
        assert!(!events.take(), "nothing has happened yet");
    }
}
