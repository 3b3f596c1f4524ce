//! Programs that measure their own speedup while they run: iterations of a loop are timed, and what comes out is said to the engine. Knows no
//! policy.
//!
//! An iteration is one round of the innermost `repeat` of the program (if there are several of that depth, they should be alike); in a program without
//! any, one meeting of a region. Its time is that of its regions and serial phases; pauses, and phases for which the program has asked for fewer processors (input and output between two parallel
//! parts), do not count, because they are not what is to be sped up. It counts if the processors were the same from its beginning to its end and it was not stopped.
//!
//! A program that is only a curve knows what its work takes on one processor: its speedup is the work done per time.

use super::World;
use super::app::App;
use crate::Nanos;
use crate::program::{Analyzer, Body, Phase, Program};
use crate::random::{Purpose, Stream};
use numaestro_engine::Event;

/// Entities of the streams of noise above this are speedups, below it rates.
const SPEEDUPS: u64 = 1 << 40;

/// How far an application has measured itself.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Watch {
    rules: Option<Analyzer>,
    /// How deep the innermost repetition of its program is; 0: it has none.
    depth: u32,
    /// Since when a part of the iteration is timed that counts.
    since: Option<Nanos>,
    /// Time of the parts that have ended.
    measured: Nanos,
    /// Processors it had in them, and threads; 0 = none yet.
    count: u32,
    team: u32,
    disturbed: bool,
    /// Iterations so far.
    rounds: u32,
    /// Of those with few threads: how many threads, how many iterations, and their time.
    few: (u32, u32, Nanos),
    /// Threads of the baseline and mean time of an iteration with them.
    baseline: Option<(u32, f64)>,
    /// Reports so far.
    reports: u64,
}

impl Watch {
    /// Measures by these rules; `None`: does not.
    pub fn new(rules: Option<Analyzer>, program: &Program) -> Self {
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
        Self { rules, depth, ..Self::default() }
    }

    /// Whether its iterations are those of regions.
    pub fn has_no_loop(&self) -> bool {
        self.depth == 0
    }

    /// Something has happened that makes the iteration's time mean nothing.
    pub fn disturb(&mut self) {
        self.disturbed = true;
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

    /// Work between two reports of a curve with so much in all.
    pub fn chunk(&self, work: Nanos) -> Nanos {
        self.rules.map_or(work, |rules| (work / u64::from(rules.iterations.max(1))).max(1))
    }

    fn begin(&mut self, now: Nanos, count: u32, team: u32) {
        if self.count > 0 && self.count != count {
            self.disturbed = true;
        }
        (self.since, self.count, self.team) = (Some(now), count, self.team.max(team));
    }

    fn end(&mut self, now: Nanos) {
        if let Some(since) = self.since.take() {
            self.measured += now - since;
        }
    }

    /// An iteration has ended. Gives the speedup that it shows.
    fn round(&mut self) -> Option<(u32, f64)> {
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

impl App {
    /// Processors that it has, and whether what it does now is to be sped up.
    fn counts(&self) -> Option<u32> {
        let up = self.said.processors >= self.widest;
        (up && !self.told.shared && !self.list.is_empty()).then_some(self.list.len() as u32)
    }
}

impl World {
    /// How a program that arrives measures itself.
    pub(super) fn watch_of(&self, program: &Program) -> Watch {
        let wanted = self.engine.policy().needs().speedup;
        Watch::new(program.analyzer.filter(|_| wanted).or_else(|| wanted.then(Analyzer::default)), program)
    }

    /// A part begins that counts, with so many threads.
    pub(super) fn watch_begins(&mut self, app: u32, team: u32) {
        let now = self.now;
        let entry = &mut self.apps[app as usize];
        if entry.watch.is_on()
            && let Some(count) = entry.counts()
        {
            entry.watch.begin(now, count, team);
        }
    }

    /// It has ended.
    pub(super) fn watch_ends(&mut self, app: u32) {
        self.apps[app as usize].watch.end(self.now);
    }

    /// Its processors have changed: what is timed now means nothing.
    pub(super) fn watch_moves(&mut self, app: u32) {
        let watch = &mut self.apps[app as usize].watch;
        if watch.since.is_some() {
            watch.disturbed = true;
        }
    }

    /// It has gone from one phase to another: perhaps from one round of its loop to the next, or into the loop.
    pub(super) fn watch_steps(&mut self, app: u32, before: (u32, u32)) {
        let entry = &mut self.apps[app as usize];
        let (depth, after) = (entry.watch.depth, entry.cursor.round());
        if depth > 0 && before.0 == depth && before != after {
            self.watch_round(app);
        } else if depth > 0 && after.0 == depth && before.0 != depth {
            // What was before the loop is none of its iterations.
            let watch = &mut entry.watch;
            (watch.measured, watch.count, watch.team, watch.disturbed) = (0, 0, 0, false);
        }
    }

    /// An iteration of the outer loop has ended.
    pub(super) fn watch_round(&mut self, app: u32) {
        let entry = &mut self.apps[app as usize];
        if let Some((processors, speedup)) = entry.watch.round() {
            let cost = entry.watch.rules.map_or(0, |rules| rules.cost_ns);
            if let Some(&master) = entry.team.first() {
                self.threads[master as usize].overhead += cost;
            }
            self.say_speedup(app, processors, speedup);
        }
    }

    /// A curve has done a part of its work in `elapsed`.
    pub(super) fn watch_curve(&mut self, app: u32, work: Nanos, elapsed: Nanos) {
        let entry = &mut self.apps[app as usize];
        let disturbed = std::mem::take(&mut entry.watch.disturbed);
        if !disturbed && elapsed > 0 && !entry.told.shared && matches!(entry.program.body, Body::Curve { .. }) {
            let processors = entry.set.len() as u32;
            self.say_speedup(app, processors, work as f64 / elapsed as f64);
        }
    }

    fn say_speedup(&mut self, app: u32, processors: u32, mut speedup: f64) {
        let (noise, seed) = (self.noise.speedups, self.seed);
        let entry = &mut self.apps[app as usize];
        entry.watch.reports += 1;
        if noise > 0.0 {
            let entity = SPEEDUPS + (entry.record.job << 20) + entry.watch.reports;
            speedup *= (1.0 + noise * Stream::new(seed, Purpose::Measuring, entity).normal()).max(0.01);
        }
        let speedup_milli = libm::round(speedup * 1000.0).clamp(1.0, 1e9) as u32;
        entry.record.speedups += 1;
        self.events.push_back(Event::Speedup { app: entry.id, processors, speedup_milli });
    }
}
