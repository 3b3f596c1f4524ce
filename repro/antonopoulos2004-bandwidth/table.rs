//! Turnaround of every workload under every policy with every rate, and the improvements of one
//! policy over another.
//!
//! The paper compares the "workload turnaround time" (figures 4 and 5): the time in which a
//! workload as a whole is done. A mean over instances would be another quantity. It rewards a
//! policy that lets some instances end early at the cost of others, and so rewards unfairness.

use super::model::{AS_ASSUMED, Rates, machine};
use super::workloads::{WORKLOADS, Workload};
use crate::finding::Demand;
use crate::{Estimate, Experiment, Judge, Lab, Trouble};
use numaestro_engine::Settings;
use numaestro_sim::memory::Contention;
use numaestro_sim::outcome::Outcome;
use numaestro_sim::workload::{Order, StreamPlan, Streams};
use numaestro_sim::world::{Noise, Setup};
use std::sync::Arc;

/// Runs of each point, with seeds of their own.
pub const RUNS: u32 = 5;
/// The part of all combinations of rates in which a demand must hold: two thirds.
const ENOUGH: usize = 2;
const OF: usize = 3;

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

/// Streams under a policy.
pub fn experiment(name: String, processors: u32, policy: &str, plans: Vec<StreamPlan>) -> Result<Experiment, Trouble> {
    let setup = Setup {
        settings: Settings { policy: policy.to_owned(), ..Settings::default() },
        contention: Contention::Stretch,
        noise: Noise { rates: 0.05, ..Noise::default() },
        ..Setup::new(machine(processors)?)
    };
    let source = move |seed| -> Box<dyn numaestro_sim::workload::Source> {
        Box::new(Streams::new(plans.clone(), Order::Given, seed))
    };
    Ok(Experiment { name, setup, source: Arc::new(source), runs: RUNS })
}

/// The results of one point.
#[derive(Debug, Clone, Default)]
struct Cell {
    /// Seconds from the start of the workload to its end, of each run.
    turnaround: Vec<f64>,
    /// Share of processor time that was not idle, mean over runs.
    busy: f64,
}

/// The results of all points, on a machine of one size.
#[derive(Debug)]
pub struct Table {
    cells: Vec<Cell>,
}

const RATES: usize = 9;

fn place(workload: usize, under: Under, rates: &Rates) -> usize {
    let [first, second] = WORKLOADS[workload].programs.map(|program| rates[program]);
    (workload * Under::ALL.len() + under as usize) * RATES + first * 3 + second
}

impl Table {
    /// The table on the paper's machine.
    pub fn new(lab: &Lab) -> Result<Self, Trouble> {
        Self::of(lab, 4, &Under::ALL)
    }

    /// The table of these policies; on eight processors with every stream twice.
    pub fn of(lab: &Lab, processors: u32, policies: &[Under]) -> Result<Self, Trouble> {
        let (mut places, mut experiments) = (Vec::new(), Vec::new());
        for (number, workload) in WORKLOADS.iter().enumerate() {
            for (&under, pair) in policies.iter().flat_map(|under| (0..RATES).map(move |pair| (under, pair))) {
                let mut rates = AS_ASSUMED;
                (rates[workload.programs[0]], rates[workload.programs[1]]) = (pair / 3, pair % 3);
                places.push(place(number, under, &rates));
                experiments.push(point(workload, under, &rates, processors)?);
            }
        }
        let mut cells = vec![Cell::default(); WORKLOADS.len() * Under::ALL.len() * RATES];
        for (place, outcomes) in places.into_iter().zip(lab.all(&experiments)?) {
            let busy = outcomes.iter().map(busy).sum::<f64>() / outcomes.len() as f64;
            cells[place] = Cell { turnaround: outcomes.iter().map(turnaround).collect(), busy };
        }
        Ok(Self { cells })
    }

    fn cell(&self, workload: usize, under: Under, rates: &Rates) -> &Cell {
        &self.cells[place(workload, under, rates)]
    }

    /// Share of processor time that is not idle.
    pub fn busy(&self, workload: usize, under: Under, rates: &Rates) -> f64 {
        self.cell(workload, under, rates).busy
    }

    /// Improvement of a workload's turnaround, percent, of each run.
    fn gains(&self, workload: usize, (new, old): (Under, Under), rates: &Rates) -> Vec<f64> {
        let (new, old) = (self.cell(workload, new, rates), self.cell(workload, old, rates));
        new.turnaround.iter().zip(&old.turnaround).map(|(new, old)| 100.0 * (1.0 - new / old)).collect()
    }

    /// Improvement of a workload's turnaround, percent, with its interval.
    pub fn gain(&self, workload: usize, pair: (Under, Under), rates: &Rates) -> Estimate {
        Estimate::of(&self.gains(workload, pair, rates))
    }

    /// Improvements of all workloads, percent, in the order of table 1.
    pub fn each(&self, pair: (Under, Under), rates: &Rates) -> Vec<f64> {
        (0..WORKLOADS.len()).map(|workload| mean(&self.gains(workload, pair, rates))).collect()
    }

    /// Mean improvement over workloads, without its interval: fast enough for all combinations.
    pub fn mean_only(&self, pair: (Under, Under), rates: &Rates) -> f64 {
        mean(&self.each(pair, rates))
    }

    /// Mean improvement over workloads.
    pub fn mean(&self, pair: (Under, Under), rates: &Rates) -> Estimate {
        let all: Vec<Vec<f64>> = (0..WORKLOADS.len()).map(|workload| self.gains(workload, pair, rates)).collect();
        let of_run = |run: usize| all.iter().map(|gains| gains[run]).sum::<f64>() / all.len() as f64;
        Estimate::of(&(0..all[0].len()).map(of_run).collect::<Vec<_>>())
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

fn point(workload: &Workload, under: Under, rates: &Rates, processors: u32) -> Result<Experiment, Trouble> {
    let [first, second] = workload.programs.map(|program| rates[program]);
    let name = format!("{} under {}, {processors} processors, rates {first} {second}", workload.id, under.policy());
    let plans = workload.plans(rates, under != Under::Linux, processors as usize / 4)?;
    experiment(name, processors, under.policy(), plans)
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

/// One demand.
#[allow(clippy::needless_pass_by_value)] // Texts and numbers alike, without a `&` at every call.
pub fn demand(what: impl Into<String>, paper: &str, ours: impl ToString, holds: bool) -> Demand {
    Demand::new(what, paper, ours, holds)
}

/// Demands all of these with the rates as assumed, and in two thirds of all combinations of rates.
pub fn over_rates(judge: &mut Judge, demands: impl Fn(&Rates) -> Vec<Demand>) {
    for one in demands(&AS_ASSUMED) {
        judge.demand(one.what, one.paper, one.ours, one.holds);
    }
    let all: Vec<Rates> = super::model::combinations().collect();
    let holding = all.iter().filter(|rates| demands(rates).iter().all(|one| one.holds)).count();
    judge.demand(
        "in two thirds of the combinations of rates",
        "",
        format!("{holding} of {}", all.len()),
        holding * OF >= all.len() * ENOUGH,
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lab::Statistics;

    /// Two single threads on four processors do not disturb each other: the workload is done when
    /// the later one is done. The mean of both would be less.
    #[test]
    fn a_workload_is_done_when_its_last_instance_is() {
        let alone = |name: &str| super::super::model::program(name, 1, 1, true).unwrap();
        let plans = vec![super::super::workloads::plan(vec![alone("BT"), alone("BT")])];
        let plans = [plans, vec![super::super::workloads::plan(vec![alone("BT")])]].concat();
        let one = experiment("a stream of two beside one".to_owned(), 4, "rr", plans).unwrap();
        let outcomes = Lab::new(Statistics::Quick).outcomes(&one).unwrap();
        for outcome in outcomes.iter() {
            // Each takes 12 s, and the second of a stream follows the first.
            let turnaround = turnaround(outcome);
            assert!((23.9..26.0).contains(&turnaround), "{turnaround}");
        }
    }
}
