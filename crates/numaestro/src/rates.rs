//! What changes with time, found from two readings: parallel regions per second, and processor
//! time. It reads no clock: times are arguments.

use numaestro_abi::control::Status;
use numaestro_host::procfs;
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

/// Rates over less than this are mostly noise.
const INTERVAL_MIN: Duration = Duration::from_millis(500);

/// Processor time of a second that is one percent of a processor, nanoseconds.
pub const NS_PER_PERCENT: f64 = 1e7;

/// A counter that grows, and the rate found between its two latest readings.
#[derive(Debug, Clone, Copy)]
struct Counter {
    value: u64,
    read: Instant,
    per_second: Option<f64>,
}

/// One counter of each application.
#[derive(Debug, Default)]
pub struct Rates {
    by_app: BTreeMap<u64, Counter>,
}

impl Rates {
    /// The counters at `now`; applications that are not among them are gone.
    pub fn read(&mut self, counters: impl Iterator<Item = (u64, u64)>, now: Instant) {
        let former = std::mem::take(&mut self.by_app);
        for (app, value) in counters {
            let fresh = Counter { value, read: now, per_second: None };
            let counter = former.get(&app).map_or(fresh, |before| before.next(fresh));
            self.by_app.insert(app, counter);
        }
    }

    /// What an application's counter grows by in a second, once known.
    pub fn per_second(&self, app: u64) -> Option<f64> {
        self.by_app.get(&app)?.per_second
    }
}

impl Counter {
    /// The counter after another reading; too soon, it stays as it was.
    fn next(self, fresh: Self) -> Self {
        let passed = fresh.read.saturating_duration_since(self.read);
        if passed < INTERVAL_MIN {
            return self;
        }
        // Processes that have ended take their processor time with them.
        let grown = fresh.value.saturating_sub(self.value) as f64;
        Self { per_second: Some(grown / passed.as_secs_f64()), ..fresh }
    }
}

/// The processor time that each application has used, nanoseconds: its processes without those that
/// are other applications.
pub fn processor_times(status: &Status) -> Vec<(u64, u64)> {
    let roots: BTreeSet<u32> = status.apps.iter().map(|app| app.pid).collect();
    let time = |pid: u32| {
        let pids = procfs::tree(pid, &roots).unwrap_or_default();
        pids.into_iter().filter_map(|pid| procfs::cpu_time_ns(pid).ok()).sum()
    };
    status.apps.iter().map(|app| (app.app, time(app.pid))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_come_from_two_readings() {
        let begin = Instant::now();
        let mut rates = Rates::default();
        let mut read = |value: Option<u64>, after: Duration| {
            rates.read(value.map(|value| (7, value)).into_iter(), begin + after);
            rates.per_second(7)
        };
        assert_eq!(read(Some(1000), Duration::ZERO), None);
        assert_eq!(read(Some(4000), Duration::from_millis(1)), None, "too soon");
        assert_eq!(read(Some(4000), Duration::from_secs(2)), Some(1500.0));
        assert_eq!(read(Some(100), Duration::from_secs(3)), Some(0.0), "it never goes back");
        assert_eq!(read(None, Duration::from_secs(4)), None);
        assert_eq!(read(Some(100), Duration::from_secs(5)), None, "a number again that was gone");
    }
}
