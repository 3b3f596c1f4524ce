//! `numaestro bench record`: measures what a program notices of a manager that records.
//!
//! Two managers, of which one records. In turn, a program under each gets limits that are in force
//! after some time (decision and adoption), and runs empty regions. Each round gives one quotient
//! of medians, recording by not recording.

use std::process::ExitCode;

use anyhow::{Result, bail};

use super::super::args::ProbeArgs;
use super::super::bounds::RECORDING;
use super::super::coexec::find_places;
use super::super::launch::processors;
use super::super::managed::Managed;
use super::super::stats;
use super::regions::Regions;
use super::{Quantity, conclude, set, shim};

/// Limits of a round, each set and taken back.
const FLIPS: u32 = 15;
/// Runs of empty regions in a round.
const RUNS: u32 = 3;

/// Measures libgomp and libomp.
pub fn record(args: &ProbeArgs) -> Result<ExitCode> {
    let threads = processors()?.len();
    if threads < 2 {
        bail!("a limit changes nothing on a machine with one processor");
    }
    let places = find_places(&args.places)?;
    let managers = [Managed::start_undisturbed(&places.numaestro)?, Managed::start_undisturbed(&places.numaestro)?];
    managers[1].record()?;
    let mut quantities = Vec::new();
    Regions::of_each_compiler(&places, |compiler, regions| {
        let [mut limits, mut shims] = [Both::default(), Both::default()];
        for round in 0..args.runs.unwrap_or(20) {
            // Each comes first in half of the rounds.
            for with in if round % 2 == 0 { [0, 1] } else { [1, 0] } {
                limits.add(with, set::flipping(&managers[with], regions, FLIPS)?.requests());
                let empty = (0..RUNS).map(|_| {
                    let mut command = managers[with].run(&[], &regions.path());
                    shim::nanoseconds(&mut command, threads, true)
                });
                shims.add(with, empty.collect::<Result<_>>()?);
            }
        }
        quantities.extend(limits.sum_up(&format!("{compiler}, request to limit in force"), "us"));
        quantities.extend(shims.sum_up(&format!("{compiler}, {threads} threads, empty region"), "ns"));
        Ok(())
    })?;
    if quantities.is_empty() {
        bail!("no program was measured: run `numaestro doctor`");
    }
    conclude(args, &quantities)
}

/// Samples by rounds, under the manager that does not record and under the one that does.
#[derive(Debug, Default)]
struct Both {
    rounds: [Vec<Vec<f64>>; 2],
}

impl Both {
    fn add(&mut self, with: usize, samples: Vec<f64>) {
        self.rounds[with].push(samples);
    }

    fn sum_up(&self, what: &str, unit: &'static str) -> Vec<Quantity> {
        let pairs = self.rounds[0].iter().zip(&self.rounds[1]);
        let quotients = pairs.filter_map(|(without, with)| stats::ratio_of_medians(with, without)).collect();
        let quantities = [
            Quantity::new(&format!("{what}, not recording"), unit, self.rounds[0].concat()),
            Quantity::new(&format!("{what}, recording"), unit, self.rounds[1].concat()),
            Quantity::new(&format!("{what}, quotient"), "x", quotients)
                .map(|quantity| quantity.promised("p50", RECORDING)),
        ];
        quantities.into_iter().flatten().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_quotient_is_of_the_medians_of_a_round() {
        let mut both = Both::default();
        both.add(1, vec![2.0, 2.0, 90.0]);
        both.add(0, vec![1.0, 1.0, 1.0]);
        both.add(0, vec![1.0]);
        both.add(1, vec![1.0]);
        let quantities = both.sum_up("x", "us");
        let quotient = quantities.iter().find(|quantity| quantity.name == "x, quotient").expect("there");
        assert_eq!(quotient.samples, [2.0, 1.0]);
        assert_eq!(quotient.holds, Some(false));
        assert_eq!(quantities[0].samples.len(), 4);
    }
}
