//! The sensor of load that is not managed: how many processors other programs keep busy, measured
//! from their processor time over a window.
//!
//! It opens a window when a program arrives and when the kernel reports pressure; while such load
//! is there, it opens one every quarter of a second. Without pressure reports a slow timer stands
//! in for them, while such load could matter.

use std::collections::BTreeMap;

use numaestro_engine::Event;
use numaestro_host::poll::{CpuPressure, Interest};
use numaestro_host::{PidFd, affinity, monotonic_ns, procfs};
use numaestro_topology::CpuSet;
use tracing::info;

use crate::wakeups::{ShellDue, ShellSource, Wakeups};

/// Threads that wait this long of a window are a reason to look: 0.2 of 2 s, the shortest window
/// without root.
const PRESSURE_STALL_US: u32 = 400_000;
const PRESSURE_WINDOW_US: u32 = 2_000_000;
/// Length of a window. The processes' clocks are precise, so it need not be long.
const WINDOW_NS: u64 = 50_000_000;
/// Length of the one at an arrival: a program that comes beside a hog shall not suffer from it for
/// long.
const WINDOW_AT_ARRIVAL_NS: u64 = 20_000_000;
/// While such load is there.
const RECHECK_NS: u64 = 250_000_000;
/// Without pressure reports: first and longest time between windows.
const BLIND_NS_MIN: u64 = 100_000_000;
const BLIND_NS_MAX: u64 = 1_000_000_000;
/// The part of a processor from which on load counts as one: on a saturated machine a hog gets no
/// more than its fair share.
const COUNTS_PERMILLE: u64 = 400;
/// While it is counted, it counts until it falls below this.
const COUNTS_STILL_PERMILLE: u64 = 250;
/// One process below this is noise, however many there are: the system's own work.
const NOISE_PERMILLE: u64 = 30;

/// The facts of the applications that the sensor needs.
pub(crate) struct Managed<'a> {
    /// Processors that may be given out.
    pub(crate) usable: &'a CpuSet,
    /// The most processors that an application has.
    pub(crate) most: u32,
    /// Says whether a process is the manager or belongs to an application.
    pub(crate) contains: &'a dyn Fn(u32) -> bool,
}

/// The result of a look.
#[derive(Debug, Default)]
pub(crate) struct Load {
    pub(crate) event: Option<Event>,
    /// Processes that are busy and not managed.
    pub(crate) busy: Vec<u32>,
}

/// See the file's header.
#[derive(Debug, Default)]
pub(crate) struct Foreign {
    /// The configuration wants it.
    wanted: bool,
    pressure: Option<CpuPressure>,
    /// The pressure trigger is being watched.
    watched: bool,
    window: Window,
    /// The former window's result, which the next one has to agree with.
    former: Option<u32>,
    /// Processors that the engine was told of.
    told: u32,
    /// The process that used most.
    heaviest: Option<PidFd>,
    /// Without pressure reports: time between windows, nanoseconds.
    blind_ns: u64,
}

/// A time over which the use of processors is measured.
#[derive(Debug, Default)]
struct Window {
    /// Processor time of every process at the opening, nanoseconds.
    times: BTreeMap<u32, u64>,
    opened_ns: u64,
    open: bool,
    /// One window is enough: an arrival has opened it.
    at_arrival: bool,
}

/// Processor time of every process.
fn times_of_all() -> BTreeMap<u32, u64> {
    let all = procfs::all().unwrap_or_default();
    all.into_iter().filter_map(|pid| Some((pid, procfs::cpu_time_ns(pid).ok()?))).collect()
}

/// Processors to leave to load of this size, in thousandths of a processor, when `told`
/// are left to it now.
fn processors_of(permille: u64, told: u32) -> u32 {
    let threshold = if told > 0 { COUNTS_STILL_PERMILLE } else { COUNTS_PERMILLE };
    if permille < threshold { 0 } else { ((permille - threshold) / 1000 + 1) as u32 }
}

impl Foreign {
    /// The sensor; one that is not `wanted` never sees anything.
    pub(crate) fn new(wanted: bool) -> Self {
        let pressure = wanted.then(|| CpuPressure::watch(PRESSURE_STALL_US, PRESSURE_WINDOW_US).ok()).flatten();
        Self { wanted, pressure, ..Self::default() }
    }

    /// Processors that are left to such load now.
    pub(crate) fn processors(&self) -> u32 {
        self.told
    }

    /// A program has arrived: opens a window.
    pub(crate) fn arrived(&mut self, wakeups: &mut Wakeups) {
        self.watch(true, wakeups);
        self.blind_ns = 0;
        if self.wanted && !self.window.open {
            self.open(true, wakeups);
        }
    }

    /// Listens to pressure, or runs the slow timer, exactly while there are applications.
    pub(crate) fn watch(&mut self, applications: bool, wakeups: &mut Wakeups) -> Option<Event> {
        if !self.wanted {
            return None;
        }
        if let Some(pressure) = &self.pressure {
            if applications && !self.watched {
                self.watched = wakeups.watch(pressure, ShellSource::Pressure, Interest::Priority).is_ok();
            } else if !applications && self.watched {
                wakeups.forget(pressure);
                self.watched = false;
            }
        }
        if applications {
            return None;
        }
        wakeups.clear(ShellDue::Foreign);
        self.let_heaviest_go(wakeups);
        let told = std::mem::take(&mut self.told);
        (self.window, self.former, self.blind_ns) = (Window::default(), None, 0);
        (told > 0).then_some(Event::Unmanaged { processors: 0 })
    }

    /// The kernel says that threads wait for processors. `owned`: an application has some.
    pub(crate) fn pressed(&mut self, owned: bool, wakeups: &mut Wakeups) {
        if !self.window.open && owned {
            self.open(false, wakeups);
        }
    }

    /// The process that used most has ended: looks at once.
    pub(crate) fn heaviest_ended(&mut self, wakeups: &mut Wakeups) {
        if self.heaviest.is_some() {
            self.let_heaviest_go(wakeups);
            self.open(true, wakeups);
        }
    }

    fn open(&mut self, at_arrival: bool, wakeups: &mut Wakeups) {
        let now = monotonic_ns();
        self.window = Window { times: times_of_all(), opened_ns: now, open: true, at_arrival };
        let length = if at_arrival { WINDOW_AT_ARRIVAL_NS } else { WINDOW_NS };
        wakeups.set(ShellDue::Foreign, now + length);
    }

    /// The time of a window is over, or the next one is to be opened.
    pub(crate) fn look(&mut self, managed: &Managed<'_>, wakeups: &mut Wakeups) -> Load {
        if !self.window.open {
            self.open(false, wakeups);
            return Load::default();
        }
        let at_arrival = self.window.at_arrival;
        let (found, busy) = self.close(managed, wakeups);
        let agreed = at_arrival || self.former == Some(found) || found == self.told;
        self.former = Some(found);
        let mut event = None;
        if agreed && found != self.told {
            info!(processors = found, before = self.told, "load that is not managed");
            self.told = found;
            event = Some(Event::Unmanaged { processors: found });
        }
        self.open_next(agreed, managed.most, wakeups);
        Load { event, busy }
    }

    fn open_next(&mut self, agreed: bool, most: u32, wakeups: &mut Wakeups) {
        let now = monotonic_ns();
        if !agreed {
            self.open(false, wakeups);
        } else if self.told > 0 {
            wakeups.set(ShellDue::Foreign, now + RECHECK_NS);
        } else if self.pressure.is_none() && most >= 2 {
            self.blind_ns = (self.blind_ns * 2).clamp(BLIND_NS_MIN, BLIND_NS_MAX);
            wakeups.set(ShellDue::Foreign, now + self.blind_ns);
        }
    }

    /// Processors that foreign processes kept busy during the window, and these processes.
    fn close(&mut self, managed: &Managed<'_>, wakeups: &Wakeups) -> (u32, Vec<u32>) {
        let Window { times: before, opened_ns, .. } = std::mem::take(&mut self.window);
        let length = monotonic_ns().saturating_sub(opened_ns).max(1);
        let in_our_way = |pid| affinity::get(pid).map_or(true, |cpus| cpus.intersects(managed.usable));
        let (mut sum, mut heaviest, mut busy) = (0, (0, 0), Vec::new());
        for (pid, time) in times_of_all() {
            // A process that is new has used all its time in this window.
            let used = time.saturating_sub(before.get(&pid).copied().unwrap_or(0));
            let permille = used * 1000 / length;
            // Only the few that matter are asked where they belong.
            if permille >= NOISE_PERMILLE && !(managed.contains)(pid) && in_our_way(pid) {
                sum += permille;
                heaviest = heaviest.max((permille, pid));
                busy.push(pid);
            }
        }
        let found = processors_of(sum, self.told).min(managed.usable.len() as u32);
        self.watch_heaviest((found > 0).then_some(heaviest.1), wakeups);
        (found, busy)
    }

    fn watch_heaviest(&mut self, pid: Option<u32>, wakeups: &Wakeups) {
        if self.heaviest.as_ref().map(PidFd::pid) == pid {
            return;
        }
        self.let_heaviest_go(wakeups);
        self.heaviest = pid.and_then(|pid| PidFd::open(pid).ok());
        if let Some(heaviest) = &self.heaviest {
            let _ = wakeups.watch(heaviest, ShellSource::Foreign, Interest::Read);
        }
    }

    fn let_heaviest_go(&mut self, wakeups: &Wakeups) {
        if let Some(former) = self.heaviest.take() {
            wakeups.forget(&former);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::processors_of;

    #[test]
    fn a_hog_counts_even_where_it_only_gets_its_fair_share() {
        for (permille, told, expected) in [
            (0, 0, 0),
            (399, 0, 0),
            (500, 0, 1),
            (1000, 0, 1),
            (1390, 0, 1),
            (1500, 0, 2),
            // It stays counted while it is a little less busy.
            (300, 1, 1),
            (249, 1, 0),
            (1000, 1, 1),
        ] {
            assert_eq!(processors_of(permille, told), expected, "{permille} permille, {told} told");
        }
    }
}
