//! The sensor of demand of programs without a page: it counts the processors that their threads can
//! use. It looks only after a reason to look, and while a program is held below its wish.

use std::collections::BTreeMap;

use numaestro_host::{monotonic_ns, procfs};

use crate::wakeups::{ShellDue, Wakeups};

/// Times after a reason to look; then [`LOOK_AGAIN_NS`].
const LOOKS_NS: [u64; 4] = [20_000_000, 80_000_000, 300_000_000, 1_200_000_000];
/// While an application is held below its wish.
const LOOK_AGAIN_NS: u64 = 3_200_000_000;
/// While it has fewer processors than it wishes, and one of its threads works at most.
const LOOK_ALONE_NS: u64 = 800_000_000;
/// A thread that has used a hundredth of the time counts, even if it sleeps at the moment of the
/// look.
const ACTIVE_DIVISOR: u64 = 100;

/// The observations of one program.
#[derive(Debug, Default)]
struct Activity {
    /// Processor time of every thread at the latest look, nanoseconds.
    times: BTreeMap<u32, u64>,
    /// Time of the latest look, nanoseconds.
    looked_ns: Option<u64>,
    /// Looks since the latest reason to look.
    looks: usize,
    /// It was stopped when it was to be looked at.
    missed: bool,
    /// One of its threads worked at most at the latest look.
    alone: bool,
}

/// See the file's header.
#[derive(Debug, Default)]
pub(crate) struct Demands {
    by_app: BTreeMap<u64, Activity>,
}

impl Demands {
    /// There is a reason to look: begins a row of looks.
    pub(crate) fn begin(&mut self, app: u64, wakeups: &mut Wakeups) {
        self.by_app.entry(app).or_default().looks = 0;
        wakeups.set_earlier(ShellDue::Demand(app), monotonic_ns() + LOOKS_NS[0]);
    }

    /// Threads of these processes that run, are ready to, or have used processor time since the
    /// latest look; `arrived_ns` stands for that look before the first one.
    pub(crate) fn look(&mut self, app: u64, pids: &[u32], arrived_ns: u64) -> u32 {
        let now = monotonic_ns();
        let activity = self.by_app.entry(app).or_default();
        let since = activity.looked_ns.unwrap_or(arrived_ns);
        let enough = (now.saturating_sub(since) / ACTIVE_DIVISOR).max(1);
        let mut times = BTreeMap::new();
        let mut active = 0;
        for pid in pids {
            for (tid, time, runs) in procfs::thread_times(*pid).unwrap_or_default() {
                // A thread that is new has used all its time since the latest look.
                let used = time.saturating_sub(activity.times.get(&tid).copied().unwrap_or(0));
                active += u32::from(runs || used >= enough);
                times.insert(tid, time);
            }
        }
        (activity.times, activity.looked_ns) = (times, Some(now));
        active
    }

    /// At the latest look it could not have used a second processor.
    pub(crate) fn is_alone(&self, app: u64) -> bool {
        self.by_app.get(&app).is_some_and(|activity| activity.alone)
    }

    /// Sets the time of the next look, if there is to be one; the latest found `active` threads. An
    /// application that is alone has all that it could want; the arrival of another one begins a
    /// new row. `below_wish`: the engine was asked for fewer processors than it wishes, and it has
    /// fewer.
    pub(crate) fn go_on(
        &mut self,
        (app, active): (u64, u32),
        contended: bool,
        (asked_below_wish, below_wish): (bool, bool),
        wakeups: &mut Wakeups,
    ) {
        let activity = self.by_app.entry(app).or_default();
        activity.looks += 1;
        activity.alone = active <= 1;
        let row = LOOKS_NS.get(activity.looks).copied().filter(|_| contended);
        let alone = (activity.alone && below_wish).then_some(LOOK_ALONE_NS);
        let held = (asked_below_wish && contended).then_some(LOOK_AGAIN_NS);
        if let Some(delay) = row.or(alone).or(held) {
            wakeups.set(ShellDue::Demand(app), monotonic_ns() + delay);
        }
    }

    /// It is stopped at a time when it was to be looked at.
    pub(crate) fn miss(&mut self, app: u64) {
        self.by_app.entry(app).or_default().missed = true;
    }

    /// It continues: a look that was missed is made up for.
    pub(crate) fn resume(&mut self, app: u64, wakeups: &mut Wakeups) {
        if self.by_app.get_mut(&app).is_some_and(|activity| std::mem::take(&mut activity.missed)) {
            wakeups.set_earlier(ShellDue::Demand(app), monotonic_ns() + LOOKS_NS[0]);
        }
    }

    /// The program says by itself how many processors it can use.
    pub(crate) fn end(&mut self, app: u64, wakeups: &mut Wakeups) {
        self.by_app.remove(&app);
        wakeups.clear(ShellDue::Demand(app));
    }

    /// An application has gone.
    pub(crate) fn forget(&mut self, app: u64, wakeups: &mut Wakeups) {
        self.end(app, wakeups);
    }
}
