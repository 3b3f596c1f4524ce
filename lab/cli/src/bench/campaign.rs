//! The campaign: runs every mix under its set-ups in turn, so that a change of the machine meets
//! all set-ups alike.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Instant;

use anyhow::Result;
use serde::Serialize;

use super::load::{self, Gate, Verdict};
use super::managed::Managed;
use super::measure::{Bench, Run};
use super::mix::{Member, Mix};
use super::places::Places;
use super::setup::Setup;
use super::stats;

/// All runs of one mix under one set-up.
#[derive(Debug, Clone, Serialize)]
pub struct Cell {
    /// The set-up.
    pub setup: Setup,
    /// Every run, also the rejected ones.
    pub runs: Vec<Run>,
    /// Measured as this set-up, because the commands are the very same for this mix; the runs are
    /// the same ones.
    pub same_as: Option<Setup>,
    /// No quiet run could be had any more: the counted runs include runs beside foreign load.
    pub noisy: bool,
}

/// All cells of one mix.
#[derive(Debug, Clone, Serialize)]
pub struct MixResult {
    /// Its name.
    pub mix: String,
    /// Program and repetitions of each member.
    pub programs: Vec<(String, u64)>,
    /// The set-up the ratios refer to.
    pub reference: Setup,
    /// One per set-up.
    pub cells: Vec<Cell>,
}

impl Cell {
    fn new(setup: Setup) -> Self {
        Self { setup, runs: Vec::new(), same_as: None, noisy: false }
    }

    /// Runs that count.
    pub fn kept(&self) -> impl Iterator<Item = &Run> {
        self.runs.iter().filter(|run| !run.rejected && run.error.is_none())
    }

    /// Makespans in seconds of the runs that count.
    pub fn makespans(&self) -> Vec<f64> {
        self.kept().map(|run| run.makespan_s).collect()
    }

    /// Mean turnarounds in seconds of the runs that count.
    pub fn turnarounds(&self) -> Vec<f64> {
        self.kept().map(Run::mean_turnaround_s).collect()
    }

    /// The median is a lower bound: at least half of the runs that count reached the time limit.
    pub fn limited(&self) -> bool {
        let limited = self.kept().filter(|run| run.limited).count();
        limited > 0 && 2 * limited >= self.kept().count()
    }

    /// The error, if there was one.
    pub fn error(&self) -> Option<&str> {
        self.runs.iter().find_map(|run| run.error.as_deref())
    }

    /// Nothing is learned from another run: it failed, or further runs cannot change that the
    /// median is a lower bound.
    fn finished(&self, runs: usize) -> bool {
        let limited = self.kept().filter(|run| run.limited).count();
        self.error().is_some() || self.kept().count() >= runs || 2 * limited > runs
    }
}

impl MixResult {
    /// The cell of `setup`.
    pub fn cell(&self, setup: Setup) -> Option<&Cell> {
        self.cells.iter().find(|cell| cell.setup == setup)
    }

    /// Ratio of the median makespans of two set-ups; `None` if one was not measured.
    pub fn makespan_ratio(&self, above: Setup, below: Setup) -> Option<f64> {
        stats::ratio_of_medians(&self.cell(above)?.makespans(), &self.cell(below)?.makespans())
    }

    /// Relative standard error of that ratio; `None` with too few runs.
    pub fn makespan_ratio_error(&self, above: Setup, below: Setup) -> Option<f64> {
        let error = |setup| stats::median_error(&self.cell(setup)?.makespans());
        Some(error(above)?.hypot(error(below)?))
    }

    /// Relative standard error of the ratio of the mean turnarounds; `None` with too few runs.
    pub fn turnaround_ratio_error(&self, above: Setup, below: Setup) -> Option<f64> {
        let error = |setup| stats::median_error(&self.cell(setup)?.turnarounds());
        Some(error(above)?.hypot(error(below)?))
    }

    /// Ratio of the medians of the mean turnarounds of two set-ups; `None` if one was not measured.
    pub fn turnaround_ratio(&self, above: Setup, below: Setup) -> Option<f64> {
        stats::ratio_of_medians(&self.cell(above)?.turnarounds(), &self.cell(below)?.turnarounds())
    }
}

/// The plan of a campaign.
#[derive(Debug, Clone, Copy)]
pub struct Plan {
    /// Counted runs of each cell.
    pub runs: usize,
    /// Share of the machine (0 to 1) others may use during a run.
    pub foreign: f64,
    /// Rejected runs of one cell.
    pub tries: u32,
}

/// The managers, one per policy, started when first needed.
#[derive(Debug, Default)]
pub struct Managers {
    by_policy: BTreeMap<&'static str, Managed>,
    /// The directory for their journals, if they are wanted.
    journals: Option<PathBuf>,
}

impl Managers {
    /// None yet. Their journals go into the directory `journals`.
    pub fn new(journals: Option<PathBuf>) -> Self {
        Self { by_policy: BTreeMap::new(), journals }
    }

    fn of(&mut self, setup: Setup, places: &Places) -> Result<Option<&mut Managed>> {
        let Some(policy) = setup.policy() else { return Ok(None) };
        if !self.by_policy.contains_key(policy) {
            let journal = self.journals.as_ref().map(|dir| dir.join(format!("{policy}.journal")));
            self.by_policy.insert(policy, Managed::start(&places.numaestro, policy, journal.as_deref())?);
        }
        Ok(self.by_policy.get_mut(policy))
    }
}

/// Measures `mix` under `setups`, round-robin; the set-up that begins changes with every round.
pub fn measure(
    bench: &Bench,
    mix: &Mix,
    setups: &[Setup],
    plan: Plan,
    places: &Places,
    managers: &mut Managers,
) -> Result<MixResult> {
    let wanted: Vec<Setup> = mix.setups.iter().copied().filter(|setup| setups.contains(setup)).collect();
    let mut cells: Vec<(Cell, Gate)> = Vec::new();
    for setup in wanted.iter().map(|setup| mix.same_as(*setup)) {
        if !cells.iter().any(|(cell, _)| cell.setup == setup) {
            cells.push((Cell::new(setup), Gate::new(plan.foreign, plan.tries)));
        }
    }
    // The promise for a program alone is a hundredth: more runs are needed to see it.
    let runs = if mix.parts() == 1 { 2 * plan.runs } else { plan.runs };
    let mut round = 0;
    while cells.iter().any(|(cell, _)| !cell.finished(runs)) {
        let count = cells.len();
        for offset in 0..count {
            let (cell, gate) = &mut cells[(round + offset) % count];
            if !cell.finished(runs) {
                let manager = managers.of(cell.setup, places)?;
                let (mut run, window) = bench.run(mix, cell.setup, manager)?;
                run.rejected = run.error.is_none() && !gate.admit(&window);
                cell.noisy |= !run.rejected && window.verdict(plan.foreign) == Verdict::Noisy;
                if run.rejected {
                    load::await_quiet(plan.foreign, bench.processors.len());
                }
                cell.runs.push(run);
            }
        }
        round += 1;
    }
    let program = |(index, member): (usize, &Member)| (member.program.name.clone(), bench.reps(mix, index));
    Ok(MixResult {
        mix: mix.name.clone(),
        programs: mix.members.iter().enumerate().map(program).collect(),
        reference: mix.reference(),
        cells: spread(mix, &wanted, &cells.into_iter().map(|(cell, _)| cell).collect::<Vec<_>>()),
    })
}

/// Gives set-ups that are the same for this mix the same runs.
fn spread(mix: &Mix, wanted: &[Setup], measured: &[Cell]) -> Vec<Cell> {
    let of = |setup: Setup| measured.iter().find(|cell| cell.setup == mix.same_as(setup)).cloned();
    let cell = |setup: Setup| {
        let measured = of(setup)?;
        let same_as = (measured.setup != setup).then_some(measured.setup);
        Some(Cell { setup, same_as, ..measured })
    };
    wanted.iter().filter_map(|&setup| cell(setup)).collect()
}

/// Tells people on stderr how far it is.
#[derive(Debug)]
pub struct Progress {
    since: Instant,
    total: usize,
    done: usize,
}

impl Progress {
    /// The progress over `total` mixes.
    pub fn new(total: usize) -> Self {
        Self { since: Instant::now(), total, done: 0 }
    }

    /// Before a mix.
    pub fn begin(&mut self, mix: &Mix) {
        let left = if self.done == 0 {
            String::new()
        } else {
            let seconds = self.since.elapsed().as_secs_f64() / self.done as f64 * (self.total - self.done) as f64;
            format!(", about {:.0} min left", (seconds / 60.0).ceil())
        };
        self.done += 1;
        eprintln!("[{}/{}] {}{left}", self.done, self.total, mix.name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(makespan_s: f64, limited: bool, rejected: bool) -> Run {
        Run {
            makespan_s,
            turnaround_s: vec![makespan_s / 2.0, makespan_s],
            cpu_s: vec![],
            foreign: 0.0,
            steal_s: 0.0,
            limited,
            error: None,
            rejected,
        }
    }

    fn cell(setup: Setup, runs: Vec<Run>) -> Cell {
        Cell { setup, runs, same_as: None, noisy: false }
    }

    #[test]
    fn rejected_runs_do_not_count() {
        let cell = cell(Setup::Plain, vec![run(1.0, false, false), run(9.0, false, true), run(1.2, false, false)]);
        assert_eq!(cell.makespans(), [1.0, 1.2]);
        assert!(!cell.finished(3) && cell.finished(2));
    }

    #[test]
    fn a_cell_whose_median_can_only_be_a_lower_bound_is_finished() {
        let one = cell(Setup::Plain, vec![run(20.0, true, false)]);
        assert!(one.limited() && !one.finished(3));
        let two = cell(Setup::Plain, vec![run(20.0, true, false), run(20.0, true, false)]);
        assert!(two.limited() && two.finished(3) && !two.finished(5));
    }

    #[test]
    fn an_error_ends_a_cell_and_is_seen() {
        let mut failed = run(1.0, false, false);
        failed.error = Some("sor: failed".to_owned());
        let cell = cell(Setup::Numaestro, vec![run(1.0, false, false), failed]);
        assert!(cell.finished(9) && cell.error() == Some("sor: failed") && cell.makespans().len() == 1);
    }

    #[test]
    fn ratios_are_of_medians() {
        let result = MixResult {
            mix: "pair/gcc/sor".to_owned(),
            programs: vec![],
            reference: Setup::Ideal,
            cells: vec![
                cell(Setup::Ideal, vec![run(1.0, false, false), run(1.0, false, false), run(7.0, false, false)]),
                cell(Setup::Plain, vec![run(20.0, false, false)]),
            ],
        };
        assert_eq!(result.makespan_ratio(Setup::Plain, Setup::Ideal), Some(20.0));
        assert_eq!(result.turnaround_ratio(Setup::Plain, Setup::Ideal), Some(20.0));
        assert_eq!(result.makespan_ratio(Setup::Numaestro, Setup::Ideal), None);
    }
}
