//! Reads the kernel's own notices, over the proc connector, of processes that become another
//! program (`exec`) or another user's.
//!
//! The kernel counts no listener by right before Linux 6.6 without `CAP_NET_ADMIN`, and none
//! outside the first process-id namespace. The kernel filters out other notices (forks, ends), so a
//! storm of them costs the reader nothing.
//!
//! Source: `linux/cn_proc.h`, `linux/connector.h`, `drivers/connector/cn_proc.c`.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use crate::error::{self, HostError};

const CN_IDX_PROC: u32 = 1;
const CN_VAL_PROC: u32 = 1;
const MCAST_LISTEN: u32 = 1;
const MCAST_IGNORE: u32 = 2;
/// The answer to [`MCAST_LISTEN`].
const EVENT_NONE: u32 = 0;
const EVENT_EXEC: u32 = 2;
const EVENT_UID: u32 = 4;

/// Offset of the fields of `proc_event`, which follows `nlmsghdr` and `cn_msg`, bytes.
const EVENT_AT: usize = 16 + 20;
/// `process_tgid` of an exec or uid event; the first word of the data is the error number of an
/// answer.
const DATA_AT: usize = EVENT_AT + 16;
const PROCESS_AT: usize = DATA_AT + 4;

/// Room for the longest message the kernel sends here (76 bytes today).
const MESSAGE_BYTES: usize = 128;
/// Messages taken with one system call.
const BATCH: usize = 64;
/// Room for some thousands of messages, as the kernel counts them: a storm leaves so many between
/// two looks.
const BUFFER_BYTES: libc::c_int = 8 << 20;

/// A subscription. Readable (epoll) while there are notices.
#[derive(Debug)]
pub struct ExecWatch {
    fd: OwnedFd,
}

impl ExecWatch {
    /// Subscribes. The error names the call that the kernel did not allow.
    pub fn open() -> Result<Self, HostError> {
        let kind = libc::SOCK_DGRAM | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
        // SAFETY: no memory is passed.
        let raw = unsafe { libc::socket(libc::AF_NETLINK, kind, libc::NETLINK_CONNECTOR) };
        if raw < 0 {
            return Err(failed("open the proc connector"));
        }
        // SAFETY: the descriptor is new and nobody else's.
        let watch = Self { fd: unsafe { OwnedFd::from_raw_fd(raw) } };
        watch.enlarge();
        watch.filter()?;
        watch.join()?;
        watch.order(MCAST_LISTEN)?;
        watch.expect_answer()?;
        Ok(watch)
    }

    /// Appends the ids of processes that have executed a program or changed their user. True if
    /// notices were lost: then everything has to be looked at once.
    pub fn drain(&self, found: &mut Vec<u32>) -> Result<bool, HostError> {
        let mut lost = false;
        loop {
            match self.receive(|event, process| {
                if matches!(event, EVENT_EXEC | EVENT_UID) {
                    found.push(process);
                }
            }) {
                Ok(BATCH) => {}
                Ok(_) => return Ok(lost),
                Err(cause) if cause.raw_os_error() == Some(libc::ENOBUFS) => lost = true,
                Err(cause) if cause.kind() == std::io::ErrorKind::Interrupted => {}
                Err(cause) if cause.kind() == std::io::ErrorKind::WouldBlock => return Ok(lost),
                Err(cause) => return Err(error::call("read the proc connector")(cause)),
            }
        }
    }

    fn enlarge(&self) {
        // Without the capability it stays as large as anybody may have; then notices are lost a
        // little earlier.
        for option in [libc::SO_RCVBUF, libc::SO_RCVBUFFORCE] {
            let _ = self.option(libc::SOL_SOCKET, option, &BUFFER_BYTES);
        }
    }

    /// Lets answers, exec and uid events pass and nothing else: a program of classic BPF, which
    /// reads words in network order.
    fn filter(&self) -> Result<(), HostError> {
        let code = |code: u32, jt: u8, jf: u8, k: u32| libc::sock_filter { code: code as u16, jt, jf, k };
        let equals = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
        let mut program = [
            code(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, EVENT_AT as u32),
            code(equals, 3, 0, EVENT_NONE.to_be()),
            code(equals, 2, 0, EVENT_EXEC.to_be()),
            code(equals, 1, 0, EVENT_UID.to_be()),
            code(libc::BPF_RET | libc::BPF_K, 0, 0, 0),
            code(libc::BPF_RET | libc::BPF_K, 0, 0, u32::MAX),
        ];
        let filter = libc::sock_fprog { len: program.len() as u16, filter: program.as_mut_ptr() };
        self.option(libc::SOL_SOCKET, libc::SO_ATTACH_FILTER, &filter).map_err(error::call("filter the proc connector"))
    }

    fn option<T>(&self, level: libc::c_int, name: libc::c_int, value: &T) -> std::io::Result<()> {
        let length = size_of::<T>() as libc::socklen_t;
        // SAFETY: `value` is valid for reading of `length` bytes; the filter that it points to
        // outlives the call.
        let result =
            unsafe { libc::setsockopt(self.fd.as_raw_fd(), level, name, std::ptr::from_ref(value).cast(), length) };
        if result == 0 { Ok(()) } else { Err(std::io::Error::last_os_error()) }
    }

    fn join(&self) -> Result<(), HostError> {
        let mut address = netlink_address();
        address.nl_groups = CN_IDX_PROC;
        let length = size_of::<libc::sockaddr_nl>() as libc::socklen_t;
        // SAFETY: `address` is valid for reading of `length` bytes.
        let result = unsafe { libc::bind(self.fd.as_raw_fd(), (&raw const address).cast(), length) };
        if result == 0 { Ok(()) } else { Err(failed("listen to the proc connector")) }
    }

    /// Sends one `proc_cn_mcast_op`.
    fn order(&self, operation: u32) -> Result<(), HostError> {
        let mut message = Vec::with_capacity(MESSAGE_BYTES);
        let length: u32 = (EVENT_AT + 4) as u32;
        // nlmsghdr: length, type, flags, sequence, port.
        message.extend(length.to_ne_bytes());
        message.extend((libc::NLMSG_DONE as u16).to_ne_bytes());
        message.extend([0; 2 + 4 + 4]);
        // cn_msg: index, value, sequence, acknowledgement, length, flags.
        for word in [CN_IDX_PROC, CN_VAL_PROC, 0, 0] {
            message.extend(word.to_ne_bytes());
        }
        message.extend(4_u16.to_ne_bytes());
        message.extend([0; 2]);
        message.extend(operation.to_ne_bytes());
        // SAFETY: the message is valid for reading of its length.
        let sent = unsafe { libc::send(self.fd.as_raw_fd(), message.as_ptr().cast(), message.len(), 0) };
        if sent < 0 { Err(failed("ask the proc connector")) } else { Ok(()) }
    }

    /// The kernel answers before the order returns, or never: it is silent to processes outside the
    /// first namespaces.
    fn expect_answer(&self) -> Result<(), HostError> {
        let mut answer = None;
        loop {
            let took = self.receive(|event, code| {
                if event == EVENT_NONE {
                    answer = Some(code);
                }
            });
            if answer.is_some() || !matches!(took, Ok(BATCH)) {
                break;
            }
        }
        let refused =
            |code: i32| error::call("subscribe to the proc connector")(std::io::Error::from_raw_os_error(code));
        match answer {
            Some(0) => Ok(()),
            Some(code) => Err(refused(code.cast_signed())),
            None => Err(refused(libc::ENOTCONN)),
        }
    }

    /// Takes up to [`BATCH`] messages. `each` gets the kind of the event and its process (of an
    /// answer: its error number).
    fn receive(&self, mut each: impl FnMut(u32, u32)) -> std::io::Result<usize> {
        let mut room = [[0_u8; MESSAGE_BYTES]; BATCH];
        let mut senders = [netlink_address(); BATCH];
        let mut parts: [libc::iovec; BATCH] = std::array::from_fn(|index| libc::iovec {
            iov_base: (&raw mut room[index]).cast(),
            iov_len: MESSAGE_BYTES,
        });
        let mut messages: [libc::mmsghdr; BATCH] = std::array::from_fn(|index| {
            // SAFETY: all zeros is a valid mmsghdr; every pointer that is set is to an array that
            // lives until the end of this function.
            let mut message: libc::mmsghdr = unsafe { std::mem::zeroed() };
            message.msg_hdr.msg_name = (&raw mut senders[index]).cast();
            message.msg_hdr.msg_namelen = size_of::<libc::sockaddr_nl>() as libc::socklen_t;
            message.msg_hdr.msg_iov = &raw mut parts[index];
            message.msg_hdr.msg_iovlen = 1;
            message
        });
        // SAFETY: the headers are valid for writing, and describe buffers that are.
        let taken = unsafe {
            libc::recvmmsg(
                self.fd.as_raw_fd(),
                messages.as_mut_ptr(),
                BATCH as libc::c_uint,
                libc::MSG_DONTWAIT,
                std::ptr::null_mut(),
            )
        };
        let taken = usize::try_from(taken).map_err(|_| std::io::Error::last_os_error())?;
        for (index, message) in messages.iter().enumerate().take(taken) {
            // Only messages that the kernel itself has sent.
            if senders[index].nl_pid == 0
                && let Some((event, word)) = parse(&room[index][..(message.msg_len as usize).min(MESSAGE_BYTES)])
            {
                each(event, word);
            }
        }
        Ok(taken)
    }
}

impl Drop for ExecWatch {
    fn drop(&mut self) {
        // Before Linux 6.6 the kernel would go on making messages for nobody.
        let _ = self.order(MCAST_IGNORE);
    }
}

impl AsFd for ExecWatch {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// The kind of the event and its process; of an answer its error number.
fn parse(message: &[u8]) -> Option<(u32, u32)> {
    let word = |at: usize| Some(u32::from_ne_bytes(message.get(at..at + 4)?.try_into().ok()?));
    let event = word(EVENT_AT)?;
    let data = word(if event == EVENT_NONE { DATA_AT } else { PROCESS_AT })?;
    (word(16)? == CN_IDX_PROC && word(20)? == CN_VAL_PROC).then_some((event, data))
}

fn netlink_address() -> libc::sockaddr_nl {
    // SAFETY: all zeros is a valid address: that of the kernel.
    let mut address: libc::sockaddr_nl = unsafe { std::mem::zeroed() };
    address.nl_family = libc::AF_NETLINK as libc::sa_family_t;
    address
}

fn failed(operation: &'static str) -> HostError {
    error::call(operation)(std::io::Error::last_os_error())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cut_messages_are_left_out() {
        let mut message = vec![0_u8; 76];
        message[16..20].copy_from_slice(&1_u32.to_ne_bytes());
        message[20..24].copy_from_slice(&1_u32.to_ne_bytes());
        message[EVENT_AT..EVENT_AT + 4].copy_from_slice(&EVENT_EXEC.to_ne_bytes());
        message[PROCESS_AT..PROCESS_AT + 4].copy_from_slice(&42_u32.to_ne_bytes());
        assert_eq!(parse(&message), Some((EVENT_EXEC, 42)));
        for length in 0..PROCESS_AT + 4 {
            assert_eq!(parse(&message[..length]), None, "{length} bytes");
        }
        message[16] = 9;
        assert_eq!(parse(&message), None, "another connector's message");
    }

    #[test]
    fn every_program_that_is_started_is_noticed() {
        let watch = match ExecWatch::open() {
            Ok(watch) => watch,
            Err(cause) => numaestro_skip::skip!("no proc connector: {cause}"),
        };
        let mut started = Vec::new();
        for _ in 0..300 {
            let mut child = std::process::Command::new("true").spawn().unwrap();
            started.push(child.id());
            child.wait().unwrap();
        }
        let mut found = Vec::new();
        let lost = watch.drain(&mut found).unwrap();
        assert!(lost || started.iter().all(|pid| found.contains(pid)), "{started:?} not all in {found:?}");
        // Forks and ends are filtered out: no process twice, unless a number was used anew.
        let own = found.iter().filter(|pid| started.contains(pid)).count();
        assert!(own <= started.len() + 3, "{own} notices of {} programs", started.len());
    }

    #[test]
    fn a_flood_is_noticed_as_one() {
        let watch = match ExecWatch::open() {
            Ok(watch) => watch,
            Err(cause) => numaestro_skip::skip!("no proc connector: {cause}"),
        };
        // As small as the kernel lets it be.
        for option in [libc::SO_RCVBUF, libc::SO_RCVBUFFORCE] {
            let _ = watch.option(libc::SOL_SOCKET, option, &1_i32);
        }
        for _ in 0..50 {
            std::process::Command::new("true").status().unwrap();
        }
        let mut found = Vec::new();
        assert!(watch.drain(&mut found).unwrap(), "{} notices fitted into nothing", found.len());
        // And it goes on afterwards.
        let mut child = std::process::Command::new("true").spawn().unwrap();
        child.wait().unwrap();
        found.clear();
        let _ = watch.drain(&mut found).unwrap();
        assert!(found.contains(&child.id()));
    }
}
