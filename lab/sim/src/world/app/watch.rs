//! A program that measures its own speedup while it runs: it times iterations of a loop, and
//! reports the speedup to the engine.
//!
//! An iteration is one round of the innermost `repeat` of the program (if there are several of that
//! depth, they should be alike); in a program without any, one meeting of a region. Its time is
//! that of its regions and serial phases. Pauses, and phases for which the program has asked for
//! fewer processors (input and output between two parallel parts), do not count, because the
//! speedup is not about them. An iteration counts if the processors were the same from its
//! beginning to its end and the program was not stopped.
//!
//! A program that is only a curve knows its work in time on one processor, so its speedup is that
//! work per elapsed time.

use crate::Nanos;
use crate::program::{Analyzer, Body, Phase, Program};
use crate::random::{Purpose, Stream};

/// Entities of the streams of noise above this are speedups, below it rates.
const SPEEDUPS: u64 = 1 << 40;

/// The errors of measured speedups.
#[derive(Debug, Clone, Copy, Default)]
pub struct Errors {
    /// Standard deviation as a share of the measured value.
    pub noise: f64,
    /// The run's seed.
    pub seed: u64,
    /// The application's number in the workload.
    pub job: u64,
}

/// The progress of an application's measurement of itself.
#[derive(Debug, Clone, Copy, Default)]
pub struct Watch {
    rules: Option<Analyzer>,
    /// Depth of the innermost repetition of its program; 0: it has none.
    depth: u32,
    /// Time since which it times a part of the iteration that counts, nanoseconds.
    since: Option<Nanos>,
    /// Time of the parts that have ended, nanoseconds.
    measured: Nanos,
    /// Processors it had in them, and threads; 0 = none yet.
    count: u32,
    team: u32,
    disturbed: bool,
    /// Iterations so far.
    rounds: u32,
    /// Threads, iterations, and nanoseconds of the iterations with few threads.
    few: (u32, u32, Nanos),
    /// Threads of the baseline and mean nanoseconds of an iteration with them.
    baseline: Option<(u32, f64)>,
    /// Reports so far.
    reports: u64,
    errors: Errors,
}

impl Watch {
    /// The watch of a program that arrives: it measures as the program says, or as usual, if that
    /// is wanted.
    pub fn new(wanted: bool, program: &Program, errors: Errors) -> Self {
        fn depth(phases: &[Phase]) -> u32 {
            let of = |phase: &Phase| match phase {
                Phase::Repeat { phases, .. } => 1 + depth(phases),
                _ => 0,
            };
            phases.iter().map(of).max().unwrap_or(0)
        }
        let depth = match &program.body {
            Body::Phases(phases) => depth(phases),
            Body::Curve { .. } => 0,
        };
        let rules = wanted.then(|| program.analyzer.unwrap_or_default());
        Self { rules, depth, errors, ..Self::default() }
    }

    /// Whether its iterations are those of regions.
    pub fn has_no_loop(&self) -> bool {
        self.depth == 0
    }

    /// An event has made the iteration's time meaningless.
    pub fn disturb(&mut self) {
        self.disturbed = true;
    }

    /// Its processors have changed: the present timing is meaningless.
    pub fn disturb_if_timed(&mut self) {
        self.disturbed |= self.since.is_some();
    }

    /// Whether it measures.
    pub fn is_on(&self) -> bool {
        self.rules.is_some()
    }

    /// Most threads of its teams just now: few while the baseline is measured.
    pub fn limit(&self) -> u32 {
        match self.rules {
            Some(rules) if self.baseline.is_none() && self.rounds >= rules.warm => rules.baseline.max(1),
            _ => u32::MAX,
        }
    }

    /// Work between two reports of a curve with so much parallel work in all, nanoseconds.
    pub fn chunk(&self, work: Nanos) -> Nanos {
        self.rules.map_or(work, |rules| (work / u64::from(rules.iterations.max(1))).max(1))
    }

    /// A part that counts begins, on so many processors and with so many threads.
    pub fn begin(&mut self, now: Nanos, count: u32, team: u32) {
        if self.count > 0 && self.count != count {
            self.disturbed = true;
        }
        (self.since, self.count, self.team) = (Some(now), count, self.team.max(team));
    }

    /// The part has ended.
    pub fn end(&mut self, now: Nanos) {
        if let Some(since) = self.since.take() {
            self.measured += now - since;
        }
    }

    /// The program has gone from one phase to another, in terms of [`super::Cursor::round`]:
    /// perhaps from one round of its loop to the next, or into the loop. True if an iteration has
    /// ended.
    pub fn steps(&mut self, before: (u32, u32), after: (u32, u32)) -> bool {
        if self.depth == 0 {
            return false;
        }
        let ended = before.0 == self.depth && before != after;
        if !ended && after.0 == self.depth && before.0 != self.depth {
            // Parts before the loop belong to none of its iterations.
            (self.measured, self.count, self.team, self.disturbed) = (0, 0, 0, false);
        }
        ended
    }

    /// Cost of a report to the master, nanoseconds.
    pub fn cost(&self) -> Nanos {
        self.rules.map_or(0, |rules| rules.cost_ns)
    }

    /// A curve has done a part of its work in `elapsed`. Returns the measured speedup.
    pub fn part(&mut self, work: Nanos, elapsed: Nanos) -> Option<f64> {
        let disturbed = std::mem::take(&mut self.disturbed);
        (!disturbed && elapsed > 0).then(|| work as f64 / elapsed as f64)
    }

    /// The report of a measured speedup, thousandths, with its error.
    pub fn report(&mut self, mut speedup: f64) -> u32 {
        let Errors { noise, seed, job } = self.errors;
        self.reports += 1;
        if noise > 0.0 {
            let entity = SPEEDUPS + (job << 20) + self.reports;
            speedup *= (1.0 + noise * Stream::new(seed, Purpose::Measuring, entity).normal()).max(0.01);
        }
        libm::round(speedup * 1000.0).clamp(1.0, 1e9) as u32
    }

    /// An iteration has ended. Returns its processors and the measured speedup.
    pub fn round(&mut self) -> Option<(u32, f64)> {
        let rules = self.rules?;
        let (time, count, team) = (std::mem::take(&mut self.measured), self.count, self.team);
        let disturbed = std::mem::take(&mut self.disturbed);
        (self.count, self.team) = (0, 0);
        if time == 0 || count == 0 {
            return None;
        }
        self.rounds = self.rounds.saturating_add(1);
        if self.rounds <= rules.warm || disturbed {
            return None;
        }
        if let Some((threads, mean)) = self.baseline {
            return Some((count, f64::from(threads) * rules.efficiency * mean / time as f64));
        }
        if self.few.0 != team {
            self.few = (team, 0, 0);
        }
        (self.few.1, self.few.2) = (self.few.1 + 1, self.few.2 + time);
        if self.few.1 < rules.measured {
            return None;
        }
        self.baseline = Some((team, self.few.2 as f64 / f64::from(self.few.1)));
        let speedup = if team == 1 { 1.0 } else { f64::from(team) * rules.efficiency };
        (team == count).then_some((count, speedup))
    }
}
