//! Collects which application ran on which processor, over time, in bounded memory while a run goes
//! on.
//!
//! Time is divided into bins; when a run outgrows them, each two become one. So the length of the
//! run need not be known, and a long run costs no more than a short one.

use numaestro_sim::Nanos;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Bins of a processor; at least half of them are in use at the end.
const BINS: u64 = 1024;
/// Applications remembered of one bin; the applications with the least time are forgotten.
const KEPT: usize = 6;

/// Times that applications had on a processor in one bin.
type Bin = Vec<(u64, Nanos)>;

/// The collector.
#[derive(Debug)]
pub struct Occupancy {
    /// Length of a bin.
    bin_ns: Nanos,
    rows: Vec<Row>,
    programs: BTreeMap<u64, Arc<str>>,
}

#[derive(Debug, Default)]
struct Row {
    since: Nanos,
    job: Option<u64>,
    bins: Vec<Bin>,
}

/// The grid of processors and times that is drawn.
#[derive(Debug, Clone, PartialEq)]
pub struct Grid {
    /// For each processor, by column, the application that had most of that time; `None` = it was
    /// mostly idle.
    pub rows: Vec<Vec<Option<u64>>>,
    /// Length of all columns together.
    pub end: Nanos,
    /// The applications in the grid by their numbers, and their programs; empty text for one that
    /// has not ended.
    pub jobs: Vec<(u64, Arc<str>)>,
}

impl Occupancy {
    /// For this many processors.
    pub fn new(processors: usize) -> Self {
        Self { bin_ns: 1, rows: (0..processors).map(|_| Row::default()).collect(), programs: BTreeMap::new() }
    }

    /// From now on this application runs on this processor, or nobody.
    pub fn runs(&mut self, at: Nanos, pu: usize, job: Option<u64>) {
        self.grow(at);
        let bin_ns = self.bin_ns;
        let Some(row) = self.rows.get_mut(pu) else { return };
        if row.job != job {
            row.close(at, bin_ns);
            row.job = job;
        }
    }

    /// An application has ended: its program's name.
    pub fn ended(&mut self, job: u64, program: &Arc<str>) {
        self.programs.insert(job, Arc::clone(program));
    }

    /// Everything up to `end`, in this many columns.
    pub fn grid(&mut self, end: Nanos, columns: usize) -> Grid {
        self.grow(end);
        let bin_ns = self.bin_ns;
        for row in &mut self.rows {
            row.close(end, bin_ns);
        }
        let rows: Vec<Vec<Option<u64>>> = self.rows.iter().map(|row| row.columns(end, columns, bin_ns)).collect();
        let mut jobs: Vec<u64> = rows.iter().flatten().filter_map(|&job| job).collect();
        jobs.sort_unstable();
        jobs.dedup();
        let name = |job| (job, self.programs.get(&job).cloned().unwrap_or_default());
        Grid { rows, end, jobs: jobs.into_iter().map(name).collect() }
    }

    /// Makes bins longer until `at` is in one.
    fn grow(&mut self, at: Nanos) {
        while at > self.bin_ns * BINS {
            for row in &mut self.rows {
                let pairs = row.bins.chunks(2).map(|pair| merged(pair.iter().flatten().copied()));
                row.bins = pairs.collect();
            }
            self.bin_ns *= 2;
        }
    }
}

impl Row {
    /// Writes down the application that had the processor until `now`.
    fn close(&mut self, now: Nanos, bin_ns: Nanos) {
        let from = std::mem::replace(&mut self.since, now);
        let Some(job) = self.job else { return };
        let mut at = from;
        while at < now {
            let bin = (at / bin_ns) as usize;
            let until = now.min((at / bin_ns + 1) * bin_ns);
            if self.bins.len() <= bin {
                self.bins.resize_with(bin + 1, Vec::new);
            }
            add(&mut self.bins[bin], job, until - at);
            at = until;
        }
    }

    fn columns(&self, end: Nanos, columns: usize, bin_ns: Nanos) -> Vec<Option<u64>> {
        let share = |part: usize| (u128::from(end) * part as u128 / columns as u128) as Nanos;
        let column = |at: usize| {
            let (from, to) = (share(at), share(at + 1));
            let mut times = Bin::new();
            let mut start = from;
            while start < to {
                let bin = start / bin_ns;
                let stop = to.min((bin + 1) * bin_ns);
                for &(job, time) in self.bins.get(bin as usize).into_iter().flatten() {
                    // A bin that reaches over the column's edge counts by its part.
                    let part = u128::from(time) * u128::from(stop - start) / u128::from(bin_ns);
                    add(&mut times, job, part as Nanos);
                }
                start = stop;
            }
            let busy: Nanos = times.iter().map(|&(_, time)| time).sum();
            let most = times.into_iter().max_by_key(|&(job, time)| (time, std::cmp::Reverse(job)))?;
            (most.1 > 0 && most.1 >= (to - from).saturating_sub(busy)).then_some(most.0)
        };
        (0..columns).map(column).collect()
    }
}

fn add(bin: &mut Bin, job: u64, time: Nanos) {
    match bin.iter_mut().find(|(known, _)| *known == job) {
        Some((_, sum)) => *sum += time,
        None => bin.push((job, time)),
    }
}

fn merged(times: impl Iterator<Item = (u64, Nanos)>) -> Bin {
    let mut bin = Bin::new();
    times.for_each(|(job, time)| add(&mut bin, job, time));
    if bin.len() > KEPT {
        bin.sort_unstable_by_key(|&(job, time)| (std::cmp::Reverse(time), job));
        bin.truncate(KEPT);
    }
    bin
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_applications_share_two_processors() {
        let mut seen = Occupancy::new(2);
        seen.runs(0, 0, Some(1));
        seen.runs(0, 1, Some(1));
        seen.runs(500, 1, Some(2));
        seen.runs(800, 1, None);
        seen.ended(1, &"mm".into());
        let grid = seen.grid(1000, 10);
        assert_eq!(grid.rows[0], vec![Some(1); 10]);
        let expected: Vec<Option<u64>> = [Some(1); 5].into_iter().chain([Some(2); 3]).chain([None; 2]).collect();
        assert_eq!(grid.rows[1], expected);
        assert_eq!(grid.jobs.iter().map(|(job, name)| (*job, &**name)).collect::<Vec<_>>(), [(1, "mm"), (2, "")]);
    }

    #[test]
    fn a_long_run_keeps_its_picture_in_bounded_memory() {
        let mut seen = Occupancy::new(1);
        // A second each, for 2000 seconds: far more than bins of a nanosecond.
        for second in 0..2000_u64 {
            seen.runs(second * 1_000_000_000, 0, Some(second / 500));
        }
        let grid = seen.grid(2_000_000_000_000, 8);
        let expected: Vec<Option<u64>> = [0, 0, 1, 1, 2, 2, 3, 3].map(Some).to_vec();
        assert_eq!(grid.rows[0], expected);
        assert!(seen.rows[0].bins.len() as u64 <= BINS + 1, "{}", seen.rows[0].bins.len());
    }

    #[test]
    fn what_is_mostly_idle_is_idle() {
        let mut seen = Occupancy::new(1);
        for i in 0..100 {
            seen.runs(i * 1_000_000, 0, Some(7));
            seen.runs(i * 1_000_000 + if i < 50 { 400_000 } else { 600_000 }, 0, None);
        }
        let grid = seen.grid(100_000_000, 10);
        let expected: Vec<Option<u64>> = [None; 5].into_iter().chain([Some(7); 5]).collect();
        assert_eq!(grid.rows[0], expected);
    }

    #[test]
    fn nothing_that_happened_is_an_empty_grid() {
        let grid = Occupancy::new(3).grid(0, 4);
        assert_eq!(grid.rows, vec![vec![None; 4]; 3]);
        assert!(grid.jobs.is_empty());
    }
}
