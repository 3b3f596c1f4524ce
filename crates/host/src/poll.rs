//! One place to sleep: epoll over all descriptors, one timer for all deadlines, the signals that
//! end the manager, and the kernel's pressure report.

use std::os::fd::{AsFd, BorrowedFd, FromRawFd, OwnedFd};
use std::path::Path;

use rustix::event::epoll;
use rustix::time::{Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec};

use crate::error::{self, HostError};

/// The readiness that a caller waits for on a descriptor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interest {
    /// Something to read, or the end.
    Read,
    /// Room to write, or the end.
    Write,
    /// A pressure trigger (`EPOLLPRI`).
    Priority,
}

impl Interest {
    fn flags(self) -> epoll::EventFlags {
        match self {
            Self::Read => epoll::EventFlags::IN,
            Self::Write => epoll::EventFlags::OUT,
            Self::Priority => epoll::EventFlags::PRI,
        }
    }
}

/// Something has happened on the descriptor that was added with this token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ready {
    /// As given to [`Poller::add`].
    pub token: u64,
    /// There is something to read, or an end or error to be found by reading.
    pub readable: bool,
    /// There is room to write.
    pub writable: bool,
    /// A pressure trigger has fired.
    pub priority: bool,
}

/// An epoll instance, level-triggered.
pub struct Poller {
    fd: OwnedFd,
    events: Vec<epoll::Event>,
}

impl std::fmt::Debug for Poller {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Poller").field("fd", &self.fd).finish_non_exhaustive()
    }
}

impl Poller {
    /// Makes a poller without descriptors.
    pub fn new() -> Result<Self, HostError> {
        let fd = epoll::create(epoll::CreateFlags::CLOEXEC).map_err(error::call("open epoll"))?;
        Ok(Self { fd, events: Vec::with_capacity(128) })
    }

    /// Watches `source` and reports it as `token`, until it is removed or closed.
    pub fn add(&self, source: BorrowedFd<'_>, token: u64, interest: Interest) -> Result<(), HostError> {
        epoll::add(&self.fd, source, epoll::EventData::new_u64(token), interest.flags())
            .map_err(error::call("watch a descriptor"))
    }

    /// Watches for something else.
    pub fn change(&self, source: BorrowedFd<'_>, token: u64, interest: Interest) -> Result<(), HostError> {
        epoll::modify(&self.fd, source, epoll::EventData::new_u64(token), interest.flags())
            .map_err(error::call("watch a descriptor"))
    }

    /// Watches it no more.
    pub fn remove(&self, source: BorrowedFd<'_>) -> Result<(), HostError> {
        epoll::delete(&self.fd, source).map_err(error::call("forget a descriptor"))
    }

    /// Sleeps until something happens and appends it to `found`. A signal that interrupts the sleep
    /// ends it with nothing.
    pub fn wait(&mut self, found: &mut Vec<Ready>) -> Result<(), HostError> {
        self.find(None, found)
    }

    /// Appends what has happened, without sleep.
    pub fn look(&mut self, found: &mut Vec<Ready>) -> Result<(), HostError> {
        self.find(Some(&Timespec::default()), found)
    }

    fn find(&mut self, timeout: Option<&Timespec>, found: &mut Vec<Ready>) -> Result<(), HostError> {
        self.events.clear();
        match epoll::wait(&self.fd, rustix::buffer::spare_capacity(&mut self.events), timeout) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(other) => return Err(error::call("wait for events")(other)),
        }
        found.extend(self.events.iter().map(|event| {
            let flags = event.flags;
            let ended = flags.intersects(epoll::EventFlags::ERR | epoll::EventFlags::HUP);
            Ready {
                token: event.data.u64(),
                readable: flags.contains(epoll::EventFlags::IN) || ended,
                writable: flags.contains(epoll::EventFlags::OUT),
                priority: flags.contains(epoll::EventFlags::PRI),
            }
        }));
        Ok(())
    }
}

/// Lets other threads of this process end the sleep.
#[derive(Debug)]
pub struct Wake {
    fd: OwnedFd,
}

impl Wake {
    /// Makes one that nobody has called.
    pub fn new() -> Result<Self, HostError> {
        let flags = rustix::event::EventfdFlags::CLOEXEC | rustix::event::EventfdFlags::NONBLOCK;
        Ok(Self { fd: rustix::event::eventfd(0, flags).map_err(error::call("make a wake-up call"))? })
    }

    /// Makes it readable.
    pub fn call(&self) {
        // The only failure is a count that overflows; then it is readable anyway.
        let _ = rustix::io::write(&self.fd, &1_u64.to_ne_bytes());
    }

    /// Makes it unreadable after it was seen to be readable. All that callers of [`Self::call`] did
    /// before is visible to the caller of this from now on.
    pub fn clear(&self) {
        let _ = rustix::io::read(&self.fd, &mut [0; 8]);
    }
}

impl AsFd for Wake {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// One timer on `CLOCK_MONOTONIC`.
#[derive(Debug)]
pub struct Timer {
    fd: OwnedFd,
    armed_ns: Option<u64>,
}

impl Timer {
    /// Makes a timer that is not armed.
    pub fn new() -> Result<Self, HostError> {
        let flags = TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK;
        let fd = rustix::time::timerfd_create(TimerfdClockId::Monotonic, flags).map_err(error::call("make a timer"))?;
        Ok(Self { fd, armed_ns: None })
    }

    /// Becomes readable at this time, or never. No system call if nothing changes.
    pub fn arm(&mut self, at_ns: Option<u64>) -> Result<(), HostError> {
        if at_ns == self.armed_ns {
            return Ok(());
        }
        // All zero would disarm: the past is 1 ns after boot.
        let at = at_ns.map_or(0, |at| at.max(1));
        let value =
            Timespec { tv_sec: (at / 1_000_000_000).cast_signed(), tv_nsec: (at % 1_000_000_000).cast_signed() };
        let setting = Itimerspec { it_interval: Timespec::default(), it_value: value };
        rustix::time::timerfd_settime(&self.fd, TimerfdTimerFlags::ABSTIME, &setting)
            .map_err(error::call("set a timer"))?;
        self.armed_ns = at_ns;
        Ok(())
    }

    /// It has been seen to be readable: makes it unreadable and unarmed.
    pub fn clear(&mut self) {
        let mut expirations = [0; 8];
        // Nothing to read means it was armed anew in between; then there is nothing to clear
        // either.
        let _ = rustix::io::read(&self.fd, &mut expirations);
        self.armed_ns = None;
    }
}

impl AsFd for Timer {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// The order that a signal gives the manager.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// `SIGTERM`, `SIGINT`: end in an orderly way.
    Stop,
    /// `SIGHUP`: read the configuration again.
    Reload,
}

/// The signals that people send to the manager, as a descriptor. `SIGPIPE` is ignored from then on.
#[derive(Debug)]
pub struct StopSignals {
    fd: OwnedFd,
}

impl StopSignals {
    /// Blocks `SIGTERM`, `SIGINT` and `SIGHUP` in the calling thread (and its later threads) and
    /// watches for them.
    pub fn block() -> Result<Self, HostError> {
        // SAFETY: a signal set is plain memory that `sigemptyset` initialises; all calls get valid
        // pointers.
        let fd = unsafe {
            let mut set: libc::sigset_t = std::mem::zeroed();
            libc::sigemptyset(&raw mut set);
            libc::sigaddset(&raw mut set, libc::SIGTERM);
            libc::sigaddset(&raw mut set, libc::SIGINT);
            libc::sigaddset(&raw mut set, libc::SIGHUP);
            libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut());
            // An ignored signal would not be seen; blocked ones are only looked at here.
            libc::signal(libc::SIGHUP, libc::SIG_DFL);
            libc::signal(libc::SIGPIPE, libc::SIG_IGN);
            libc::signalfd(-1, &raw const set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK)
        };
        if fd < 0 {
            return Err(error::call("watch for signals")(std::io::Error::last_os_error()));
        }
        // SAFETY: the descriptor is new and nobody else's.
        Ok(Self { fd: unsafe { OwnedFd::from_raw_fd(fd) } })
    }

    /// The next of them that has come.
    pub fn take(&self) -> Option<Order> {
        let mut info = [0_u8; size_of::<libc::signalfd_siginfo>()];
        rustix::io::read(&self.fd, &mut info).ok().filter(|bytes| *bytes == info.len())?;
        // `ssi_signo` is the first word.
        let number = u32::from_ne_bytes(info[..4].try_into().ok()?);
        Some(if number == libc::SIGHUP.cast_unsigned() { Order::Reload } else { Order::Stop })
    }
}

impl AsFd for StopSignals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// The kernel's report that threads wait for processors (PSI, Linux 5.2).
#[derive(Debug)]
pub struct CpuPressure {
    file: std::fs::File,
}

impl CpuPressure {
    /// Fires ([`Interest::Priority`]) when some thread has waited `stall_us` of a window of
    /// `window_us`. Without root the kernel accepts only windows of whole multiples of 2 s.
    pub fn watch(stall_us: u32, window_us: u32) -> Result<Self, HostError> {
        let path = Path::new("/proc/pressure/cpu");
        let open = std::fs::OpenOptions::new().read(true).write(true).open(path);
        let file = open.map_err(error::file("open", path))?;
        let text = format!("some {stall_us} {window_us}\0");
        rustix::io::write(&file, text.as_bytes()).map_err(error::file("set a trigger in", path))?;
        Ok(Self { file })
    }
}

impl AsFd for CpuPressure {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_thread_wakes() {
        let mut poller = Poller::new().unwrap();
        let wake = std::sync::Arc::new(Wake::new().unwrap());
        poller.add(wake.as_fd(), 3, Interest::Read).unwrap();
        let caller = wake.clone();
        std::thread::spawn(move || caller.call()).join().unwrap();
        wake.call();
        let mut found = Vec::new();
        poller.wait(&mut found).unwrap();
        assert_eq!(found, [Ready { token: 3, readable: true, writable: false, priority: false }]);
        wake.clear();
        wake.call();
        found.clear();
        poller.wait(&mut found).unwrap();
        assert_eq!(found.len(), 1, "it can be called again");
    }

    #[test]
    fn a_timer_wakes_and_is_cleared() {
        let mut poller = Poller::new().unwrap();
        let mut timer = Timer::new().unwrap();
        poller.add(timer.as_fd(), 7, Interest::Read).unwrap();
        timer.arm(Some(crate::monotonic_ns() + 1_000_000)).unwrap();
        let mut found = Vec::new();
        poller.wait(&mut found).unwrap();
        assert_eq!(found, [Ready { token: 7, readable: true, writable: false, priority: false }]);
        timer.clear();
        // A time in the past is due at once.
        timer.arm(Some(0)).unwrap();
        found.clear();
        poller.wait(&mut found).unwrap();
        assert_eq!(found.len(), 1);
    }
}
