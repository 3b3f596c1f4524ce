//! The jobs on the processors of Hector over time, in the papers' notation.

use crate::lab::{Experiment, Lab, Trouble};
use numaestro_sim::Nanos;
use numaestro_sim::world::{Observer, Occupant};
use numaestro_topology::PuId;
use std::collections::BTreeMap;

/// Processors of Hector.
const PROCESSORS: usize = 16;

/// The jobs on all processors at regular times.
#[derive(Debug, Clone)]
pub struct Snapshots {
    every: Nanos,
    next: Nanos,
    now: [Option<u64>; PROCESSORS],
    /// Jobs by processor, one entry for each time.
    pub taken: Vec<[Option<u64>; PROCESSORS]>,
}

impl Snapshots {
    fn new(every: Nanos) -> Self {
        Self { every, next: every, now: [None; PROCESSORS], taken: Vec::new() }
    }

    /// Jobs on a station at one time, each once.
    pub fn jobs_on(taken: &[Option<u64>; PROCESSORS], station: u32) -> Vec<u64> {
        let first = (station * super::STATION) as usize;
        let mut jobs: Vec<u64> = taken[first..first + super::STATION as usize].iter().flatten().copied().collect();
        jobs.sort_unstable();
        jobs.dedup();
        jobs
    }

    /// The line as in Brecht 1997, figure 6: a letter for each job, stations 1 to 3 separated by
    /// blanks.
    pub fn written(taken: &[Option<u64>; PROCESSORS]) -> String {
        let letter = |job: &Option<u64>| job.map_or('-', |job| char::from(b'a' + (job % 26) as u8));
        let stations = super::STATIONS.map(|station| {
            let first = (station * super::STATION) as usize;
            taken[first..first + super::STATION as usize].iter().map(letter).collect::<String>()
        });
        stations.collect::<Vec<_>>().join(" ")
    }
}

impl Observer for Snapshots {
    fn runs(&mut self, at: Nanos, pu: PuId, what: Occupant) {
        while self.next <= at {
            self.taken.push(self.now);
            self.next += self.every;
        }
        self.now[pu.index()] = what.map(|(_, job, _)| job);
    }
}

/// Snapshots of every run at regular times.
pub fn snapshots(lab: &Lab, experiment: &Experiment, every: Nanos) -> Result<Vec<Snapshots>, Trouble> {
    Ok(lab.observed(experiment, || Snapshots::new(every))?.into_iter().map(|(snapshots, _)| snapshots).collect())
}

/// The processors on which the processes of each job first ran.
#[derive(Debug, Clone, Default)]
pub struct Placed {
    /// Processor by process, by job; process 0 is the parent.
    pub jobs: BTreeMap<u64, BTreeMap<u32, PuId>>,
}

impl Placed {
    /// Processes of a job on each station.
    pub fn by_station(processes: &BTreeMap<u32, PuId>) -> [u32; 4] {
        let mut counts = [0; 4];
        for pu in processes.values() {
            counts[Self::station(*pu)] += 1;
        }
        counts
    }

    /// The station of a processor.
    pub const fn station(pu: PuId) -> usize {
        (pu.0 / super::STATION) as usize
    }
}

impl Observer for Placed {
    fn runs(&mut self, _at: Nanos, pu: PuId, what: Occupant) {
        if let Some((_, job, process)) = what {
            self.jobs.entry(job).or_default().entry(process).or_insert(pu);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_figure_6() {
        // Line 22: abab zbab zzaz, with a = 0, b = 1, z = 25.
        let line = [0, 1, 0, 1, 25, 1, 0, 1, 25, 25, 0, 25];
        let mut taken = [None; PROCESSORS];
        for (place, job) in line.into_iter().enumerate() {
            taken[4 + place] = Some(job);
        }
        assert_eq!(Snapshots::written(&taken), "abab zbab zzaz");
        assert_eq!(Snapshots::jobs_on(&taken, 2), [0, 1, 25]);
        taken[4] = None;
        assert!(Snapshots::written(&taken).starts_with("-bab"));
    }

    #[test]
    fn samples_are_what_was_there_before_them() {
        let mut snapshots = Snapshots::new(10);
        let app = |job| Some((numaestro_engine::AppId(1), job, 0));
        snapshots.runs(3, PuId(5), app(7));
        snapshots.runs(10, PuId(5), None);
        snapshots.runs(35, PuId(6), app(8));
        let seen: Vec<Option<u64>> = snapshots.taken.iter().map(|taken| taken[5]).collect();
        assert_eq!(seen, [Some(7), None, None]);
    }

    #[test]
    fn stations_of_a_job() {
        let processes = BTreeMap::from([(0, PuId(4)), (1, PuId(5)), (2, PuId(15))]);
        assert_eq!(Placed::by_station(&processes), [0, 2, 0, 1]);
    }
}
