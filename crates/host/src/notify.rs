//! Tells a service manager (systemd) the state of this process by `sd_notify(3)`: one datagram to
//! the socket that `NOTIFY_SOCKET` names.

use std::ffi::OsStr;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

use crate::error::{self, HostError};

/// The way to the service manager.
#[derive(Debug)]
pub struct Notifier {
    socket: UnixDatagram,
    address: SocketAddr,
}

impl Notifier {
    /// The one of the environment; `None` if nobody waits for notices.
    pub fn from_environment() -> Option<Self> {
        std::env::var_os("NOTIFY_SOCKET").filter(|name| !name.is_empty()).and_then(|name| Self::new(&name).ok())
    }

    /// To a socket in the file system, or in the abstract namespace if its name begins with `@`.
    pub fn new(name: &OsStr) -> Result<Self, HostError> {
        let address = match name.as_bytes() {
            [b'@', rest @ ..] => SocketAddr::from_abstract_name(rest),
            _ => SocketAddr::from_pathname(name),
        };
        let address = address.map_err(error::call("name the socket for notices"))?;
        let socket = UnixDatagram::unbound().map_err(error::call("open a socket for notices"))?;
        // A service manager that does not read must not hold us up.
        socket.set_nonblocking(true).map_err(error::call("open a socket for notices"))?;
        Ok(Self { socket, address })
    }

    /// Sends lines of `NAME=VALUE`. A notice that cannot be delivered is lost.
    pub fn send(&self, text: &str) -> Result<(), HostError> {
        self.socket.send_to_addr(text.as_bytes(), &self.address).map_err(error::call("tell the service manager"))?;
        Ok(())
    }
}

/// How often the service manager wants a sign of life at least, nanoseconds; `None` if it does not
/// (`sd_watchdog_enabled(3)`).
pub fn watchdog_ns() -> Option<u64> {
    let number = |name| std::env::var(name).ok().and_then(|text| text.trim().parse::<u64>().ok());
    let others =
        std::env::var_os("WATCHDOG_PID").is_some() && number("WATCHDOG_PID") != Some(u64::from(std::process::id()));
    number("WATCHDOG_USEC").filter(|usec| *usec > 0 && !others).map(|usec| usec.saturating_mul(1000))
}

/// Whether standard error goes to the system's journal: then messages can be sent there with their
/// fields (`sd-daemon(7)`, `JOURNAL_STREAM`).
pub fn error_output_is_the_journal() -> bool {
    let Ok(stream) = std::env::var("JOURNAL_STREAM") else { return false };
    let Some((device, inode)) = stream.split_once(':') else { return false };
    let found = rustix::fs::fstat(rustix::stdio::stderr());
    found.is_ok_and(|found| device.parse() == Ok(found.st_dev) && inode.parse() == Ok(found.st_ino))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notices_arrive_by_both_kinds_of_names() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("notify");
        let named = UnixDatagram::bind(&path).unwrap();
        let abstract_name = format!("numaestro-test-{}", std::process::id());
        let address = SocketAddr::from_abstract_name(&abstract_name).unwrap();
        let hidden = UnixDatagram::bind_addr(&address).unwrap();
        for (socket, name) in [(named, path.into_os_string()), (hidden, format!("@{abstract_name}").into())] {
            Notifier::new(&name).unwrap().send("READY=1\nSTATUS=well").unwrap();
            let mut buffer = [0; 64];
            let length = socket.recv(&mut buffer).unwrap();
            assert_eq!(&buffer[..length], b"READY=1\nSTATUS=well");
        }
    }

    #[test]
    fn nobody_listens() {
        let dir = tempfile::tempdir().unwrap();
        let notifier = Notifier::new(dir.path().join("none").as_os_str()).unwrap();
        assert!(notifier.send("READY=1").is_err(), "an error, and no more");
    }
}
