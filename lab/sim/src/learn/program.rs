//! A program that was learned: its stretches in order, and the speedup of its parallel ones.

use super::measured::Activity;
use crate::Nanos;
use crate::program::PhaseSource;

/// More stretches than this are written as one cycle of mean stretches, repeated.
const STRETCHES_MOST: usize = 64;

/// A time in which a program does one thing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stretch {
    /// The activity.
    pub activity: Activity,
    /// Nanoseconds; of a parallel stretch: its work, as time on one processor.
    pub amount_ns: Nanos,
}

/// The pace at which a program measures its own speedup.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Analysis {
    /// Time from the beginning of its parallel work to its first report, nanoseconds.
    pub first_ns: Nanos,
}

/// See the file's header.
#[derive(Debug, Clone, PartialEq)]
pub struct LearnedProgram {
    /// Its name for people.
    pub name: String,
    /// Most processors that it was measured with. It asks for so many, as `numaestro run` does on
    /// its behalf.
    pub processors: u32,
    /// From its start to its end.
    pub stretches: Vec<Stretch>,
    /// The number of times that the stretches follow each other.
    pub times: u32,
    /// Speedup of its parallel stretches by processors, from 1 on.
    pub curve: Vec<(u32, f64)>,
    /// Numbers of processors whose speedup nobody has measured or reported.
    pub assumed: Vec<u32>,
    /// Meetings of its team in the whole run; 0: not known.
    pub regions: u64,
    /// It is simulated without threads: its parallel stretches go on at the rate of its curve.
    pub is_curve: bool,
    /// By whom its serial stretches and pauses become known in a mix.
    pub phase_source: PhaseSource,
    /// Its measurement of its own speedup; `None`: it reports nothing.
    pub analysis: Option<Analysis>,
    /// Largest difference between a measured run and the same run as learned, as a share of it.
    pub residual: f64,
}

impl LearnedProgram {
    /// All amounts of this activity, nanoseconds.
    pub fn amount_of(&self, activity: Activity) -> Nanos {
        let those = self.stretches.iter().filter(|stretch| stretch.activity == activity);
        those.map(|stretch| stretch.amount_ns).sum::<Nanos>() * u64::from(self.times)
    }

    /// Speedup of its parallel stretches on so many processors: that of the largest number in the
    /// curve that is not larger.
    pub fn speedup(&self, processors: u32) -> f64 {
        let points = self.curve.iter().rev();
        points.clone().find(|(point, _)| *point <= processors).map_or(1.0, |(_, speedup)| *speedup)
    }

    /// The length of a run alone on so many processors, nanoseconds.
    pub fn length_on(&self, processors: u32) -> f64 {
        let [serial, paused, parallel] =
            [Activity::Serial, Activity::Paused, Activity::Parallel].map(|activity| self.amount_of(activity) as f64);
        serial + paused + parallel / self.speedup(processors)
    }

    /// The same program with stretches that a person can read: very many become the mean of all
    /// cycles, where a cycle ends with a parallel stretch.
    #[must_use]
    pub(super) fn compressed(self) -> Self {
        if self.stretches.len() <= STRETCHES_MOST { self } else { self.in_one_cycle() }
    }

    /// The same program as the mean of its cycles, repeated; one whose stretches are repeated
    /// already stays.
    #[must_use]
    pub(super) fn in_one_cycle(mut self) -> Self {
        if self.times > 1 {
            return self;
        }
        let parallel = self.stretches.iter().filter(|stretch| stretch.activity == Activity::Parallel).count();
        let cycles = parallel.max(1) as u64;
        let mean = [Activity::Paused, Activity::Serial, Activity::Parallel]
            .map(|activity| Stretch { activity, amount_ns: self.amount_of(activity) / cycles });
        self.stretches = mean.into_iter().filter(|stretch| stretch.amount_ns > 0).collect();
        self.times *= cycles as u32;
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn very_many_stretches_become_a_cycle_of_the_same_length() {
        let pair = |number: u64| {
            let serial = Stretch { activity: Activity::Serial, amount_ns: 900 + number % 3 * 100 };
            [serial, Stretch { activity: Activity::Parallel, amount_ns: 8000 }]
        };
        let program = LearnedProgram {
            name: "p".to_owned(),
            processors: 2,
            stretches: (0..90).flat_map(pair).collect(),
            times: 1,
            curve: vec![(1, 1.0), (2, 1.6)],
            assumed: Vec::new(),
            regions: 0,
            is_curve: false,
            phase_source: PhaseSource::Threads,
            analysis: None,
            residual: 0.0,
        };
        let short = program.clone().compressed();
        assert_eq!((short.stretches.len(), short.times), (2, 90));
        assert!((short.length_on(2) - program.length_on(2)).abs() < 1.0);
        assert!((program.length_on(1) - 90.0 * 9000.0).abs() < 1.0);
    }
}
