//! The threads of one application whose rates are sampled, and when they are read again.

use numaestro_host::procfs;
use numaestro_host::sense::{Rung, Sample, Team, ThreadUse};

/// Threads of one application that are looked at.
const THREADS_MAX: usize = 4096;
/// Threads of a program with a declared rate are read this often at least, nanoseconds.
const REREAD_NS: u64 = 5_000_000_000;

/// See the file's header.
#[derive(Debug, Default)]
pub(super) struct Threads {
    team: Team,
    /// If a declared rate came out for each of them: how many there were, and when they were read,
    /// nanoseconds.
    declared: Option<(u64, u64)>,
}

impl Threads {
    /// The threads now. A declared rate is the same for all threads and at all times, so while they
    /// are as many as before, nobody needs to read their times: that is most of a sample's cost.
    pub(super) fn look(&mut self, pids: &[u32], declared: bool, now_ns: u64) -> Vec<Option<ThreadUse>> {
        let count = if declared { pids.iter().filter_map(|pid| procfs::thread_count(*pid)).sum() } else { 0 };
        let known = |(then, at_ns): (u64, u64)| then == count && now_ns.saturating_sub(at_ns) < REREAD_NS;
        if !(declared && self.declared.is_some_and(known)) {
            let times = pids.iter().flat_map(|pid| procfs::run_times(*pid).unwrap_or_default());
            self.team.look(times, THREADS_MAX);
            self.declared = Some((count, now_ns));
        }
        self.team.threads().to_vec()
    }

    /// Their rates came out.
    pub(super) fn came_out(&mut self, sample: &Sample) {
        let all = !sample.rates.is_empty() && sample.rates.iter().all(Option::is_some);
        if sample.rung != Some(Rung::Declared) || !all {
            self.declared = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_with_declared_rates_are_read_when_they_are_others() {
        let read_at = |threads: &Threads| threads.declared.map(|(_, at_ns)| at_ns);
        let sample = |rates: &[Option<u32>], rung| Sample { rates: rates.to_vec(), rung: Some(rung) };
        let (me, mut threads) = ([std::process::id()], Threads::default());
        threads.look(&me, true, 1);
        threads.came_out(&sample(&[Some(7)], Rung::Declared));
        let (tell, told) = std::sync::mpsc::channel::<()>();
        // Other tests begin and end threads in this process.
        let again = (0..100).any(|_| {
            let before = read_at(&threads);
            threads.look(&me, true, 2);
            threads.came_out(&sample(&[Some(7)], Rung::Declared));
            read_at(&threads) == before
        });
        assert!(again, "each time anew, although nothing is new");
        let other = std::thread::spawn(move || told.recv());
        let mut anew = || {
            threads.look(&me, true, 3);
            read_at(&threads) == Some(3)
        };
        assert!((0..100).any(|_| anew()), "one more has begun");
        drop(tell);
        let _ = other.join();
        threads.look(&me, true, 4 + REREAD_NS);
        assert_eq!(read_at(&threads), Some(4 + REREAD_NS), "in any case now and then");
        for bad in
            [sample(&[Some(7)], Rung::Perf), sample(&[Some(7), None], Rung::Declared), sample(&[], Rung::Declared)]
        {
            threads.declared = Some((1, 1));
            threads.came_out(&bad);
            assert_eq!(threads.declared, None, "{bad:?}");
        }
    }
}
