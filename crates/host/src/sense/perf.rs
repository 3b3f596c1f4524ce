//! Counters of the processor, one for each thread (`perf_event_open(2)`): misses of the last cache,
//! in user mode; an unprivileged user may count these of his own programs. A counter that had to
//! share the hardware with others is scaled by the time it really counted. Counters can be refused
//! (containers, virtual machines) or vanish in mid-run; both are said once, and the next rung takes
//! over.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use super::{Moment, Outcome, RAN_NS_MIN, Rung, Source, Subject};
use crate::limits;

/// Samples of an application in a row without any counter of it running until counters are given
/// up.
const STALLS_MAX: u32 = 3;

/// The reading of a counter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Count {
    /// Events.
    pub value: u64,
    /// Time of execution since it was opened, nanoseconds.
    pub enabled_ns: u64,
    /// The part of it in which the hardware counted.
    pub running_ns: u64,
}

/// One open counter of one thread.
pub trait Counter: Debug + Send {
    /// Reads it now.
    fn read(&mut self) -> io::Result<Count>;
}

/// The source of counters.
pub trait Counters: Debug + Send {
    /// Begins counting for a thread; 0 is the calling one.
    fn open(&mut self, tid: u32) -> io::Result<Box<dyn Counter>>;
}

#[derive(Debug)]
struct Open {
    app: u64,
    counter: Box<dyn Counter>,
    before: Option<Count>,
}

/// See the file's header.
#[derive(Debug)]
pub struct Perf {
    counters: Box<dyn Counters>,
    /// Counters that may be open at a time.
    most: usize,
    /// By thread id.
    open: BTreeMap<u32, Open>,
    /// Samples in a row in which no counter of the application ran.
    stalls: BTreeMap<u64, u32>,
}

/// The reading of one thread's counter.
enum Seen {
    Rate(f64),
    /// The first reading, or the thread has not run.
    Silent,
    /// The thread ran and the hardware did not count.
    Stalled,
}

impl Perf {
    /// Tries a counter on the calling thread. There are never more than `most` open at a time.
    ///
    /// # Errors
    /// The reason why there are none, one clause.
    pub fn new(mut counters: Box<dyn Counters>, most: usize) -> Result<Self, String> {
        let mut tried = counters.open(0).map_err(|cause| refusal(&cause))?;
        tried.read().map_err(|cause| format!("a counter cannot be read: {cause}"))?;
        Ok(Self { counters, most, open: BTreeMap::new(), stalls: BTreeMap::new() })
    }

    /// The machine's own counters.
    ///
    /// # Errors
    /// The reason why there are none, one clause.
    pub fn here() -> Result<Self, String> {
        // Each takes a descriptor, and connections to the manager need some too.
        let most = usize::try_from(limits::descriptors() / 2).unwrap_or(usize::MAX);
        Self::new(Box::new(Kernel::default()), most)
    }

    fn thread(&mut self, app: u64, tid: u32, used_ns: u64) -> Result<Seen, io::Error> {
        let open = match self.open.get_mut(&tid) {
            Some(open) if open.app == app => open,
            _ => {
                // An id that was another application's belongs to another thread now.
                self.open.remove(&tid);
                if self.open.len() >= self.most {
                    return Err(io::Error::from_raw_os_error(libc::EMFILE));
                }
                let counter = self.counters.open(tid)?;
                self.open.entry(tid).or_insert(Open { app, counter, before: None })
            }
        };
        let now = open.counter.read().map_err(|cause| io::Error::new(io::ErrorKind::BrokenPipe, cause))?;
        let Some(before) = open.before.replace(now) else { return Ok(Seen::Silent) };
        let enabled = now.enabled_ns.saturating_sub(before.enabled_ns);
        let running = now.running_ns.saturating_sub(before.running_ns);
        if enabled == 0 && used_ns >= RAN_NS_MIN {
            // The thread it was opened for has ended and its id is another one's now.
            self.open.remove(&tid);
            return Ok(Seen::Silent);
        }
        if running == 0 {
            return Ok(if enabled >= RAN_NS_MIN { Seen::Stalled } else { Seen::Silent });
        }
        if running < RAN_NS_MIN {
            return Ok(Seen::Silent);
        }
        // Counted per time of counting is counted per time of execution: the scaling by
        // enabled/running cancels out.
        Ok(Seen::Rate(now.value.saturating_sub(before.value) as f64 / (running as f64 / 1e6)))
    }

    fn stalled(&mut self, app: u64) -> Outcome {
        let stalls = self.stalls.entry(app).or_default();
        *stalls += 1;
        if *stalls >= STALLS_MAX {
            return self.gone("counters have stopped: something else uses the hardware".to_owned());
        }
        Outcome::Nothing("its counters did not run".to_owned())
    }

    fn gone(&mut self, why: String) -> Outcome {
        self.open.clear();
        Outcome::Gone(why)
    }
}

impl Source for Perf {
    fn rung(&self) -> Rung {
        Rung::Perf
    }

    fn sample(&mut self, subject: &Subject<'_>, _moment: &Moment) -> Outcome {
        let alive = |tid: &u32| subject.threads.iter().flatten().any(|thread| thread.tid == *tid);
        self.open.retain(|tid, open| open.app != subject.app || alive(tid));
        let mut rates = vec![None; subject.threads.len()];
        let (mut counted, mut stalled, mut refused) = (0, 0, None);
        for (rate, thread) in rates.iter_mut().zip(subject.threads) {
            let Some(thread) = thread else { continue };
            match self.thread(subject.app, thread.tid, thread.used_ns) {
                Ok(Seen::Rate(seen)) => {
                    *rate = Some(seen);
                    counted += 1;
                }
                Ok(Seen::Silent) => {}
                Ok(Seen::Stalled) => stalled += 1,
                Err(cause) if cause.kind() == io::ErrorKind::BrokenPipe => {
                    return self.gone(format!("counters cannot be read any more: {cause}"));
                }
                // The thread has just ended.
                Err(cause) if cause.raw_os_error() == Some(libc::ESRCH) => {}
                Err(cause) => refused = Some(refusal(&cause)),
            }
        }
        if let Some(why) = refused {
            return Outcome::Nothing(why);
        }
        if counted == 0 && stalled > 0 {
            return self.stalled(subject.app);
        }
        self.stalls.remove(&subject.app);
        if counted == 0 { Outcome::Pending } else { Outcome::Rates(rates) }
    }

    fn forget(&mut self, app: u64) {
        self.open.retain(|_, open| open.app != app);
        self.stalls.remove(&app);
    }
}

/// The reason why a counter was refused, for people.
fn refusal(cause: &io::Error) -> String {
    match cause.raw_os_error() {
        Some(libc::EACCES | libc::EPERM) => {
            format!("the system does not let us count ({cause}); see kernel.perf_event_paranoid")
        }
        Some(libc::ENOENT | libc::ENODEV | libc::EOPNOTSUPP) => {
            format!("the machine shows no such counter ({cause})")
        }
        Some(libc::ENOSYS) => format!("the kernel has no perf events ({cause})"),
        Some(libc::EMFILE | libc::ENFILE) => format!("no descriptors are left for counters ({cause})"),
        _ => format!("counters cannot be opened: {cause}"),
    }
}

/// `struct perf_event_attr` in its first version (`PERF_ATTR_SIZE_VER0`), which every kernel takes.
#[repr(C)]
#[derive(Debug, Default)]
struct Attributes {
    kind: u32,
    size: u32,
    config: u64,
    sample_period: u64,
    sample_type: u64,
    read_format: u64,
    flags: u64,
    wakeup_events: u32,
    breakpoint_type: u32,
    breakpoint_address: u64,
}

const _: () = assert!(size_of::<Attributes>() == 64);

/// `PERF_TYPE_HARDWARE`, `PERF_COUNT_HW_CACHE_MISSES`.
const CACHE_MISSES: (u32, u64) = (0, 3);
/// `PERF_TYPE_HW_CACHE`, last level, reads, misses.
const LAST_LEVEL_MISSES: (u32, u64) = (3, 2 | 1 << 16);
/// `PERF_FORMAT_TOTAL_TIME_ENABLED`, `PERF_FORMAT_TOTAL_TIME_RUNNING`.
const BOTH_TIMES: u64 = 1 | 2;
/// `exclude_kernel`, `exclude_hv`; neither `inherit` nor `disabled`.
const USER_ONLY: u64 = 1 << 5 | 1 << 6;
/// `PERF_FLAG_FD_CLOEXEC`.
const CLOSE_ON_EXEC: libc::c_ulong = 8;

/// The kernel's counters. The first event that can be opened is used from then on.
#[derive(Debug, Default)]
struct Kernel {
    event: Option<(u32, u64)>,
}

#[derive(Debug)]
struct KernelCounter {
    fd: OwnedFd,
}

impl Counters for Kernel {
    fn open(&mut self, tid: u32) -> io::Result<Box<dyn Counter>> {
        let events = self.event.map_or(vec![CACHE_MISSES, LAST_LEVEL_MISSES], |event| vec![event]);
        let mut refused = io::Error::from_raw_os_error(libc::ENOENT);
        for event in events {
            match open(event, tid) {
                Ok(fd) => {
                    self.event = Some(event);
                    return Ok(Box::new(KernelCounter { fd }));
                }
                Err(cause) => refused = cause,
            }
        }
        Err(refused)
    }
}

fn open((kind, config): (u32, u64), tid: u32) -> io::Result<OwnedFd> {
    let attributes = Attributes {
        kind,
        size: size_of::<Attributes>() as u32,
        config,
        read_format: BOTH_TIMES,
        flags: USER_ONLY,
        ..Attributes::default()
    };
    let (any_cpu, no_group): (libc::c_int, libc::c_int) = (-1, -1);
    // SAFETY: the attributes are valid for reading of the size that they state, and the kernel
    // keeps no pointer to them.
    let result = unsafe {
        libc::syscall(libc::SYS_perf_event_open, &raw const attributes, tid, any_cpu, no_group, CLOSE_ON_EXEC)
    };
    match i32::try_from(result) {
        // SAFETY: the descriptor is new and nobody else's.
        Ok(fd) if fd >= 0 => Ok(unsafe { OwnedFd::from_raw_fd(fd) }),
        _ => Err(io::Error::last_os_error()),
    }
}

impl Counter for KernelCounter {
    fn read(&mut self) -> io::Result<Count> {
        let mut words = [0_u64; 3];
        // SAFETY: the buffer is valid for writing of as many bytes as are announced.
        let bytes = unsafe { libc::read(self.fd.as_raw_fd(), words.as_mut_ptr().cast(), size_of_val(&words)) };
        match usize::try_from(bytes) {
            Ok(bytes) if bytes == size_of_val(&words) => {
                Ok(Count { value: words[0], enabled_ns: words[1], running_ns: words[2] })
            }
            // An event in error state reads as the end of a file.
            Ok(_) => Err(io::ErrorKind::UnexpectedEof.into()),
            Err(_) => Err(io::Error::last_os_error()),
        }
    }
}

#[cfg(test)]
mod tests;
