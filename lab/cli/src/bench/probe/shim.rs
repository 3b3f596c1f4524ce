//! `numaestro bench shim`: measures the extra cost of one parallel region under numaestro when
//! nothing changes.
//!
//! The same binary with empty regions, bare and under `numaestro run`, in turn; the difference of
//! each neighbouring pair.

use std::process::{Command, ExitCode};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::super::args::ProbeArgs;
use super::super::bounds::SHIM_NS;
use super::super::coexec::find_places;
use super::super::launch::{clean_command, processors};
use super::super::managed::Managed;
use super::super::stats;
use super::regions::{Regions, report};
use super::{Quantity, conclude};

/// Blocks of a run, and regions of a block.
const BLOCKS: [&str; 2] = ["60", "2000"];
/// The quantile of a run's blocks that stands for it: low, because a disturbance makes a block
/// longer.
const QUANTILE: f64 = 0.25;

/// Measures both runtimes with one thread and with as many as there are processors.
pub fn shim(args: &ProbeArgs) -> Result<ExitCode> {
    let places = find_places(&args.places)?;
    let managed = Managed::start_undisturbed(&places.numaestro)?;
    let runs = args.runs.unwrap_or(15);
    let mut quantities = Vec::new();
    for (compiler, bound) in ["gcc", "clang"].into_iter().zip(SHIM_NS) {
        let regions = match Regions::build(&places, compiler) {
            Ok(regions) => regions,
            Err(error) => {
                eprintln!("skipped {compiler}: {error:#}");
                continue;
            }
        };
        for threads in [1, processors()?.len()] {
            quantities.extend(compare(&managed, &regions, compiler, threads, runs, bound)?);
        }
    }
    conclude(args, &quantities)
}

fn compare(
    managed: &Managed,
    regions: &Regions,
    compiler: &str,
    threads: usize,
    runs: u32,
    bound: f64,
) -> Result<Vec<Quantity>> {
    let (mut bare, mut shimmed, mut added) = (Vec::new(), Vec::new(), Vec::new());
    for run in 0..runs {
        let mut pair = [0.0; 2];
        // Each comes first in half of the pairs.
        for with in if run % 2 == 0 { [0, 1] } else { [1, 0] } {
            let mut command =
                if with == 1 { managed.run(&[], &regions.path()) } else { clean_command(&regions.path()) };
            pair[with] = nanoseconds(&mut command, threads, with == 1)?;
        }
        bare.push(pair[0]);
        shimmed.push(pair[1]);
        added.push(pair[1] - pair[0]);
    }
    let name = |what: &str| format!("{compiler}, {threads} threads, {what}");
    let quantities = [
        Quantity::new(&name("bare region"), "ns", bare),
        Quantity::new(&name("region under numaestro"), "ns", shimmed),
        Quantity::new(&name("added by numaestro"), "ns", added).map(|quantity| quantity.promised("p50", bound)),
    ];
    Ok(quantities.into_iter().flatten().collect())
}

pub(super) fn nanoseconds(command: &mut Command, threads: usize, managed: bool) -> Result<f64> {
    let report = report(command.arg("empty").args(BLOCKS).env("OMP_NUM_THREADS", threads.to_string()))?;
    if report.get("managed").and_then(Value::as_bool) != Some(managed) {
        bail!("a program under `numaestro run` did not attach to the manager: run `numaestro doctor`");
    }
    // Bare, the runtime follows OMP_NUM_THREADS; under numaestro, the page tells the smallest team.
    if managed && report.get("team").and_then(Value::as_u64) != Some(threads as u64) {
        bail!("the regions of a program alone have not the {threads} threads they should have: {}", report["team"]);
    }
    let blocks = report.get("ns").and_then(Value::as_array).context("no times in the report")?;
    let blocks: Vec<f64> = blocks.iter().filter_map(Value::as_f64).collect();
    stats::quantile(&blocks, QUANTILE).context("no times in the report")
}
