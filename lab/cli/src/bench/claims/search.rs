//! N-search: the search for a number of processors brings no noticeable overhead.
//!
//! A program alone: PDPA tries one processor and all of them. Beside it runs the same program with
//! the number that is right from the beginning, fixed by hand. Without a search it would keep the
//! other number; that must be seen as a loss, or there was nothing to search for.

use std::time::Duration;

use anyhow::{Result, ensure};
use numaestro_repro::measured::Samples;

use super::super::live::Job;
use super::super::managed::Managed;
use super::{Measurement, quotients};

/// Seconds of a program with the right number.
const RIGHT_S: f64 = 3.0;
/// A run without a search is killed after this time, which is far beyond the limit of its ratio.
const LIMIT: Duration = Duration::from_millis(7500);
/// Only teams that follow the allocation are measured at several sizes.
const FREE: [&str; 2] = ["--class", "malleable"];
const ONE: [&str; 4] = ["--class", "malleable", "--max", "1"];

/// Measures a program that more processors make slower, and one that scales.
pub fn search(of: &mut Measurement) -> Result<Vec<Samples>> {
    let all = of.processors as f64;
    Ok(vec![program(of, "bounce", RIGHT_S, &ONE, &FREE)?, program(of, "mm", RIGHT_S * all, &FREE, &ONE)?])
}

/// `right` and `wrong` are options of `run` under equal shares.
fn program(of: &mut Measurement, kernel: &'static str, work_s: f64, right: &[&str], wrong: &[&str]) -> Result<Samples> {
    let job = Job { kernel, arguments: &[], work_s };
    let bench = of.bench(LIMIT, [job].iter())?;
    let manager = |policy: &str| {
        let managed = Managed::start_undisturbed(&bench.places.numaestro)?;
        managed.set_policy(policy)?;
        anyhow::Ok(managed)
    };
    let (pdpa, equi) = (manager("pdpa")?, manager("equi")?);
    let [found, right, wrong] = of.rounds.run::<3>(|which| {
        let (under, options) = [(&pdpa, &FREE[..]), (&equi, right), (&equi, wrong)][which];
        let round = bench.run(under, &[(&job, options.to_vec())], |_| {})?;
        // A time at the limit is a lower bound: enough for the others, which are compared with it.
        ensure!(which != 1 || !round.limited, "{kernel} takes more than twice its time here");
        Ok((round.makespan_s(), round.window))
    })?;
    Ok(Samples { name: kernel.to_owned(), on: quotients(&found, &right), off: quotients(&wrong, &right) })
}
