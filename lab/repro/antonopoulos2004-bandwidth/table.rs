//! Turnaround of every workload under every policy, and the improvements of one policy over
//! another, run by run.
//!
//! The paper compares the "workload turnaround time" (figures 4 and 5): the time in which a
//! workload as a whole is done. A mean over instances would be another quantity. It rewards a
//! policy that lets some instances end early at the cost of others, and so rewards unfairness.

use super::platform::{PROCESSORS, Platform};
use super::suite::Suite;
use super::workloads::{WORKLOADS, Workload};
use crate::{Estimate, Experiment, Lab, Trouble};
use numaestro_sim::outcome::Outcome;

/// The scheduler under which a turnaround was measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Under {
    /// No manager.
    Linux,
    Rr,
    Dss,
    Lqg,
    Qwg,
    B2arr,
    B2adss,
}

impl Under {
    /// All of them, in the order of their discriminants.
    pub const ALL: [Self; 7] = [Self::Linux, Self::Rr, Self::Dss, Self::Lqg, Self::Qwg, Self::B2arr, Self::B2adss];

    /// The policy as the engine takes it.
    pub const fn policy(self) -> &'static str {
        match self {
            Self::Linux => "linux24",
            Self::Rr => "rr",
            Self::Dss => "share=dss turns=b2adss(mult=1)",
            Self::Lqg => "lqg",
            Self::Qwg => "qwg",
            Self::B2arr => "b2arr",
            Self::B2adss => "b2adss",
        }
    }

    /// The name as the paper writes it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Linux => "Linux",
            Self::Rr => "RR",
            Self::Dss => "DSS",
            Self::Lqg => "LQG",
            Self::Qwg => "QWG",
            Self::B2arr => "B2ARR",
            Self::B2adss => "B2ADSS",
        }
    }
}

/// One policy over another.
pub type Over = (Under, Under);

/// The results of one workload under one policy.
#[derive(Debug, Clone, Default)]
struct Cell {
    /// Seconds from the start of the workload to its end, of each run.
    turnaround: Vec<f64>,
    /// Share of processor time that was not idle, mean over runs.
    busy: f64,
}

/// The results of all workloads, on a machine of one size.
#[derive(Debug)]
pub struct Table {
    cells: Vec<Cell>,
}

fn place(workload: usize, under: Under) -> usize {
    workload * Under::ALL.len() + under as usize
}

impl Table {
    /// These policies on the paper's machine.
    ///
    /// # Errors
    /// An experiment cannot be run.
    pub fn new(lab: &Lab, policies: &[Under]) -> Result<Self, Trouble> {
        Self::of(lab, PROCESSORS, policies)
    }

    /// These policies on so many processors, a multiple of the paper's, with every stream as many
    /// times.
    ///
    /// # Errors
    /// An experiment cannot be run.
    pub fn of(lab: &Lab, processors: u32, policies: &[Under]) -> Result<Self, Trouble> {
        let (platform, suite) = (Platform::of(lab)?, Suite::of(lab)?);
        let (mut places, mut experiments) = (Vec::new(), Vec::new());
        for (number, workload) in WORKLOADS.iter().enumerate() {
            for &under in policies {
                places.push(place(number, under));
                experiments.push(point(&platform, &suite, workload, under, processors)?);
            }
        }
        let mut cells = vec![Cell::default(); WORKLOADS.len() * Under::ALL.len()];
        for (place, outcomes) in places.into_iter().zip(lab.all(&experiments)?) {
            let busy = outcomes.iter().map(busy).sum::<f64>() / outcomes.len() as f64;
            cells[place] = Cell { turnaround: outcomes.iter().map(turnaround).collect(), busy };
        }
        Ok(Self { cells })
    }

    /// Share of processor time that is not idle.
    pub fn busy(&self, workload: usize, under: Under) -> f64 {
        self.cells[place(workload, under)].busy
    }

    /// Improvement of a workload's turnaround, percent, of each run.
    fn gains(&self, workload: usize, (new, old): Over) -> Vec<f64> {
        let (new, old) = (&self.cells[place(workload, new)], &self.cells[place(workload, old)]);
        new.turnaround.iter().zip(&old.turnaround).map(|(new, old)| 100.0 * (1.0 - new / old)).collect()
    }

    /// Improvement of a workload's turnaround, percent.
    pub fn gain(&self, workload: usize, over: Over) -> Estimate {
        Estimate::of(&self.gains(workload, over))
    }

    /// Workloads with their improvements, from the least to the largest.
    pub fn ranked(&self, over: Over) -> Vec<(usize, Estimate)> {
        let mut all: Vec<(usize, Estimate)> =
            (0..WORKLOADS.len()).map(|workload| (workload, self.gain(workload, over))).collect();
        all.sort_by(|a, b| a.1.mean.total_cmp(&b.1.mean));
        all
    }

    /// Mean improvement over these workloads, percent, of each run.
    pub fn runs_of(&self, workloads: &[usize], over: Over) -> Vec<f64> {
        let all: Vec<Vec<f64>> = workloads.iter().map(|&workload| self.gains(workload, over)).collect();
        let of_run = |run: usize| all.iter().map(|gains| gains[run]).sum::<f64>() / all.len() as f64;
        (0..all[0].len()).map(of_run).collect()
    }

    /// Mean improvement over all workloads, percent, of each run.
    pub fn runs(&self, over: Over) -> Vec<f64> {
        self.runs_of(&(0..WORKLOADS.len()).collect::<Vec<_>>(), over)
    }

    /// Mean improvement over all workloads, percent.
    pub fn mean(&self, over: Over) -> Estimate {
        Estimate::of(&self.runs(over))
    }
}

fn point(
    platform: &Platform,
    suite: &Suite,
    workload: &Workload,
    under: Under,
    processors: u32,
) -> Result<Experiment, Trouble> {
    let name = format!("{} under {}, {processors} processors", workload.id, under.policy());
    let plans = workload.plans(platform, suite, under != Under::Linux, processors)?;
    Ok(platform.experiment(name, processors, under.policy(), plans))
}

/// Time from the first arrival of a workload to the end of its last instance, seconds.
pub fn turnaround(outcome: &Outcome) -> f64 {
    let first = outcome.jobs.iter().map(|job| job.arrived).min().unwrap_or(0);
    let last = outcome.jobs.iter().map(|job| job.ended).max().unwrap_or(0);
    (last - first) as f64 / 1e9
}

fn busy(outcome: &Outcome) -> f64 {
    let idle: u64 = outcome.pus.iter().map(|pu| pu.idle).sum();
    1.0 - idle as f64 / (outcome.end as f64 * outcome.pus.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::antonopoulos2004_bandwidth::tests::lab;

    /// Two single threads on four processors do not disturb each other: the workload is done when
    /// the later one is done. The mean of both would be less.
    #[test]
    fn a_workload_is_done_when_its_last_instance_is() {
        let lab = lab(&[("work", 12.0)]);
        let (platform, suite) = (Platform::of(&lab).unwrap(), Suite::of(&lab).unwrap());
        let alone = || suite.program("BT", 1).unwrap();
        let plans = vec![platform.plan(vec![alone(), alone()]), platform.plan(vec![alone()])];
        let one = platform.experiment("a stream of two beside one".to_owned(), PROCESSORS, "rr", plans);
        let outcomes = lab.outcomes(&one).unwrap();
        for outcome in outcomes.iter() {
            // Each takes 12 s, and the second of a stream follows the first.
            let turnaround = turnaround(outcome);
            assert!((23.9..26.0).contains(&turnaround), "{turnaround}");
        }
    }
}
