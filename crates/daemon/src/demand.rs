//! How many processors a program without a page can use, from what its threads do. Looked at only while others want more than they have:
//! else a program that is alone would be held to what it needed while it was starting.

use numaestro_host::{monotonic_ns, procfs};

use crate::manager::Manager;
use crate::timers::Due;

/// Times after a reason to look; then [`LOOK_AGAIN_NS`].
const LOOKS_NS: [u64; 4] = [20_000_000, 80_000_000, 300_000_000, 1_200_000_000];
/// While an application is held below its wish.
const LOOK_AGAIN_NS: u64 = 3_200_000_000;
/// A thread that has used a hundredth of the time counts, even if it sleeps at the moment of the look.
const ACTIVE_DIVISOR: u64 = 100;

impl Manager {
    /// Something has changed that gives reason to look at all programs without a page.
    pub(crate) fn consider_everybodys_demand(&mut self) {
        let apps: Vec<u64> = self.apps.keys().copied().collect();
        for app in apps {
            self.consider_demand(app);
        }
    }

    /// Begins a row of looks at one application.
    pub(crate) fn consider_demand(&mut self, app: u64) {
        let now = monotonic_ns();
        let Some(entry) = self.apps.get_mut(&app) else { return };
        if entry.page.is_none() && !entry.is_wrapper() && entry.asker.is_none() {
            entry.demand.looks = 0;
            self.timers.set_earlier(Due::Demand(app), now + LOOKS_NS[0]);
        }
    }

    pub(crate) fn look_at_demand(&mut self, app: u64) {
        let Some(entry) = self.apps.get_mut(&app) else { return };
        if entry.page.is_some() || entry.is_wrapper() {
            return;
        }
        if entry.is_stopped() {
            entry.demand.missed = true;
            return;
        }
        let pid = entry.pid();
        let others = self.other_roots(pid);
        let pids = procfs::tree(pid, &others).unwrap_or_default();
        self.note_members(app, &pids);
        let active = self.active_threads(app, &pids);
        self.tend_strays(app, &pids);
        let contended = self.apps.values().any(|other| other.number != app && other.wants_more());
        let Some(entry) = self.apps.get_mut(&app) else { return };
        // Processes that have come since, and a command that set its own affinity after it was told an older one.
        Self::move_tree(entry, &others);
        let most = entry.wish;
        let contended = contended || entry.target.as_ref().is_some_and(|target| target.shared);
        let request = if contended { active.clamp(1, most) } else { most };
        let looks = entry.demand.looks as usize;
        entry.demand.looks += 1;
        let delay = LOOKS_NS.get(looks + 1).copied().or_else(|| (request < most).then_some(LOOK_AGAIN_NS));
        // Alone it has all it could want; who comes and wants some of it begins a new row of looks.
        if let Some(delay) = delay.filter(|_| contended) {
            self.timers.set(Due::Demand(app), monotonic_ns() + delay);
        }
        self.ask_for(app, request);
    }

    /// An application goes on that was stopped, perhaps at a time when it was to be looked at.
    pub(crate) fn resume_demand(&mut self, app: u64) {
        let missed = self.apps.get_mut(&app).is_some_and(|entry| std::mem::take(&mut entry.demand.missed));
        if missed {
            self.timers.set_earlier(Due::Demand(app), monotonic_ns() + LOOKS_NS[0]);
        }
    }

    /// Threads of these processes that run, are ready to, or have used processor time since the latest look.
    fn active_threads(&mut self, app: u64, pids: &[u32]) -> u32 {
        let now = monotonic_ns();
        let Some(entry) = self.apps.get_mut(&app) else { return 1 };
        let since = if entry.demand.looked_ns == 0 { entry.arrived_ns } else { entry.demand.looked_ns };
        let enough = (now.saturating_sub(since) / ACTIVE_DIVISOR).max(1);
        let mut times = std::collections::BTreeMap::new();
        let mut active = 0;
        for pid in pids {
            for (tid, time, runs) in procfs::thread_times(*pid).unwrap_or_default() {
                let before = entry.demand.times.get(&tid).copied();
                // A thread that is new has used all its time since the latest look.
                let used = time.saturating_sub(before.unwrap_or(0));
                active += u32::from(runs || used >= enough);
                times.insert(tid, time);
            }
        }
        entry.demand.times = times;
        entry.demand.looked_ns = now;
        active
    }
}
