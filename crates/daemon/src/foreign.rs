//! Load that is not managed: how many processors other programs keep busy, measured from their processor time over a window. Windows are
//! opened when a program arrives and when the kernel reports pressure; while such load is there, every quarter of a second.
//! Without pressure reports a slow timer stands in for them, while it could matter.

use std::collections::BTreeMap;
use std::os::fd::AsFd;

use numaestro_engine::Event;
use numaestro_host::poll::Interest;
use numaestro_host::{PidFd, affinity, monotonic_ns, procfs};
use tracing::info;

use crate::manager::{Manager, token};
use crate::timers::Due;

/// Length of a window. The processes' clocks are precise, so it need not be long.
const WINDOW_NS: u64 = 50_000_000;
/// Length of the one at an arrival: a program that comes beside a hog shall not suffer from it for long.
const WINDOW_AT_ARRIVAL_NS: u64 = 20_000_000;
/// While such load is there.
const RECHECK_NS: u64 = 250_000_000;
/// Without pressure reports: first and longest time between windows.
const BLIND_NS_MIN: u64 = 100_000_000;
const BLIND_NS_MAX: u64 = 1_000_000_000;
/// The part of a processor from which on load counts as one: on a saturated machine a hog gets no more than its fair share.
const COUNTS_PERMILLE: u64 = 400;
/// While it is counted, it counts until it falls below this.
const COUNTS_STILL_PERMILLE: u64 = 250;
/// One process below this is noise, however many there are: the system's own work.
const NOISE_PERMILLE: u64 = 30;

/// What is known of such load.
#[derive(Debug, Default)]
pub(crate) struct Foreign {
    /// Processor time of every process at the opening of the window.
    times: BTreeMap<u32, u64>,
    opened_ns: u64,
    /// A window is open.
    open: bool,
    /// One window is enough: it was opened by an arrival.
    at_arrival: bool,
    /// The former window's result, which the next one has to agree with.
    former: Option<u32>,
    /// What the engine was told.
    pub(crate) told: u32,
    /// The process that used most.
    heaviest: Option<PidFd>,
    blind_ns: u64,
    /// The pressure trigger is being watched.
    watched: bool,
}

/// Processor time of every process.
fn times_of_all() -> BTreeMap<u32, u64> {
    let all = procfs::all().unwrap_or_default();
    all.into_iter().filter_map(|pid| Some((pid, procfs::cpu_time_ns(pid).ok()?))).collect()
}

/// Processors to leave to load of this size, in thousandths of a processor, when `told` are left to it now.
fn processors_of(permille: u64, told: u32) -> u32 {
    let threshold = if told > 0 { COUNTS_STILL_PERMILLE } else { COUNTS_PERMILLE };
    if permille < threshold { 0 } else { ((permille - threshold) / 1000 + 1) as u32 }
}

impl Manager {
    /// Opens a window because a program has arrived.
    pub(crate) fn foreign_after_arrival(&mut self) {
        self.consider_foreign();
        self.foreign.blind_ns = 0;
        if self.config.unmanaged && !self.foreign.open {
            self.open_window(true);
        }
    }

    /// Listens to pressure, or runs the slow timer, exactly while there is something managed.
    pub(crate) fn consider_foreign(&mut self) {
        if !self.config.unmanaged {
            return;
        }
        let wanted = !self.apps.is_empty();
        if let Some(pressure) = &self.pressure {
            if wanted && !self.foreign.watched {
                self.foreign.watched = self.poller.add(pressure.as_fd(), token::PRESSURE, Interest::Priority).is_ok();
            } else if !wanted && self.foreign.watched {
                let _ = self.poller.remove(pressure.as_fd());
                self.foreign.watched = false;
            }
        }
        if !wanted {
            self.forget_foreign();
        }
    }

    fn forget_foreign(&mut self) {
        self.timers.clear(Due::Foreign);
        if let Some(heaviest) = self.foreign.heaviest.take() {
            let _ = self.poller.remove(heaviest.as_fd());
        }
        let (told, watched) = (self.foreign.told, self.foreign.watched);
        self.foreign = Foreign { watched, ..Foreign::default() };
        if told > 0 {
            self.feed(Event::Unmanaged { processors: 0 });
        }
    }

    /// The kernel says that threads wait for processors.
    pub(crate) fn pressure_reported(&mut self) {
        if !self.foreign.open && self.apps.values().any(|entry| entry.count() > 0) {
            self.open_window(false);
        }
    }

    /// The heaviest foreign process has ended: look at once.
    pub(crate) fn foreign_ended(&mut self) {
        if let Some(heaviest) = self.foreign.heaviest.take() {
            let _ = self.poller.remove(heaviest.as_fd());
            self.open_window(true);
        }
    }

    fn open_window(&mut self, at_arrival: bool) {
        let now = monotonic_ns();
        self.foreign.times = times_of_all();
        self.foreign.opened_ns = now;
        self.foreign.open = true;
        self.foreign.at_arrival = at_arrival;
        let length = if at_arrival { WINDOW_AT_ARRIVAL_NS } else { WINDOW_NS };
        self.timers.set(Due::Foreign, now + length);
    }

    /// The time of a window is over, or the next one is to be opened.
    pub(crate) fn look_at_foreign(&mut self) {
        if !self.foreign.open {
            self.open_window(false);
            return;
        }
        self.foreign.open = false;
        let found = self.close_window();
        let agreed = self.foreign.at_arrival || self.foreign.former == Some(found) || found == self.foreign.told;
        self.foreign.former = Some(found);
        if agreed && found != self.foreign.told {
            info!(processors = found, before = self.foreign.told, "load that is not managed");
            self.foreign.told = found;
            self.feed(Event::Unmanaged { processors: found });
        }
        self.open_next_window(agreed);
    }

    fn open_next_window(&mut self, agreed: bool) {
        let now = monotonic_ns();
        if !agreed {
            self.open_window(false);
        } else if self.foreign.told > 0 {
            self.timers.set(Due::Foreign, now + RECHECK_NS);
        } else if self.pressure.is_none() && self.apps.values().any(|entry| entry.count() >= 2) {
            self.foreign.blind_ns = (self.foreign.blind_ns * 2).clamp(BLIND_NS_MIN, BLIND_NS_MAX);
            self.timers.set(Due::Foreign, now + self.foreign.blind_ns);
        }
    }

    /// Processors that foreign processes kept busy during the window.
    fn close_window(&mut self) -> u32 {
        let length = monotonic_ns().saturating_sub(self.foreign.opened_ns).max(1);
        let before = std::mem::take(&mut self.foreign.times);
        let mut sum = 0;
        let mut heaviest = (0, 0);
        for (pid, time) in times_of_all() {
            // A process that is new has used all its time in this window.
            let used = time.saturating_sub(before.get(&pid).copied().unwrap_or(0));
            let permille = used * 1000 / length;
            // Only the few that matter are asked where they belong.
            if permille >= NOISE_PERMILLE && !self.is_managed(pid) && self.is_in_our_way(pid) {
                sum += permille;
                heaviest = heaviest.max((permille, pid));
                self.notice_busy(pid);
            }
        }
        let found = processors_of(sum, self.foreign.told).min(self.usable.len() as u32);
        self.watch_heaviest((found > 0).then_some(heaviest.1));
        found
    }

    /// It is the manager, an application, or descends from one.
    fn is_managed(&self, pid: u32) -> bool {
        let ours =
            |pid: &u32| self.by_pid.contains_key(pid) || self.apps.values().any(|app| app.members.contains_key(pid));
        pid == std::process::id() || ours(&pid) || procfs::ancestors(pid).iter().any(ours)
    }

    /// It can run on processors that are ours to give out.
    fn is_in_our_way(&self, pid: u32) -> bool {
        affinity::get(pid).map_or(true, |cpus| cpus.intersects(&self.usable))
    }

    fn watch_heaviest(&mut self, pid: Option<u32>) {
        if self.foreign.heaviest.as_ref().map(PidFd::pid) == pid {
            return;
        }
        if let Some(former) = self.foreign.heaviest.take() {
            let _ = self.poller.remove(former.as_fd());
        }
        self.foreign.heaviest = pid.and_then(|pid| PidFd::open(pid).ok());
        if let Some(heaviest) = &self.foreign.heaviest {
            let _ = self.poller.add(heaviest.as_fd(), token::FOREIGN, Interest::Read);
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
