//! `numaestro bench adopt`: measures how long a program in regions of 50 µs takes to carry a
//! decision out.
//!
//! The program notes in itself, from its shared page, the time of each decision and of its
//! adoption, while a second application arrives, stays for some milliseconds and leaves.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use rustix::process::{Signal, kill_process};
use serde_json::Value;

use super::super::args::ProbeArgs;
use super::super::bounds::ADOPT_US;
use super::super::coexec::find_places;
use super::super::launch;
use super::super::managed::Managed;
use super::regions::{Regions, allowed, report_after, shell, until};
use super::{Quantity, conclude};

/// Time the second application stays, and again until the next one.
const FLIP: Duration = Duration::from_millis(5);
/// Between two looks at the program's affinity, and the longest wait for a change of it.
const PAUSE: Duration = Duration::from_micros(200);
const PATIENCE: Duration = Duration::from_secs(2);
/// Seconds after which the program ends by itself.
const LONGEST_S: &str = "600";
/// Length of a region in microseconds.
const WORK_US: &str = "50";

/// Measures libgomp and libomp, growing and shrinking apart.
pub fn adopt(args: &ProbeArgs) -> Result<ExitCode> {
    let places = find_places(&args.places)?;
    let managed = Managed::start_undisturbed(&places.numaestro)?;
    let flips = args.runs.unwrap_or(300);
    let mut quantities = Vec::new();
    Regions::of_each_compiler(&places, |compiler, regions| {
        quantities.extend(sum_up(compiler, &flipping(&managed, regions, flips)?));
        Ok(())
    })?;
    if quantities.is_empty() {
        bail!("no decision was adopted: run `numaestro doctor`");
    }
    conclude(args, &quantities)
}

/// Pairs of processors after the decision and microseconds to its adoption.
fn flipping(managed: &Managed, regions: &Regions, flips: u32) -> Result<Vec<(u64, f64)>> {
    managed.settle();
    let mut command = managed.run(&[], &regions.path());
    let program = launch::start(command.args(["watch", LONGEST_S, WORK_US]), None)?;
    let number = launch::number(program.pid);
    let size = || allowed(number).unwrap_or(0);
    // It begins on the processors that it is given before its first region; the processors that it
    // has then count.
    std::thread::sleep(Duration::from_millis(100));
    let alone = size();
    for _ in 0..flips {
        let mut visitor = managed.run(&["--class", "fold"], shell());
        let visitor = launch::start(visitor.args(["-c", "exec sleep 10"]), None)?;
        let shrunk = until(PAUSE, PATIENCE, || size() < alone);
        std::thread::sleep(FLIP);
        launch::kill(visitor)?;
        let grown = shrunk.and_then(|_| until(PAUSE, PATIENCE, || size() >= alone));
        if grown.is_none() {
            launch::kill(program)?;
            bail!("a program on {alone} processors does not shrink and grow again when another one comes and goes");
        }
        std::thread::sleep(FLIP);
    }
    kill_process(number, Signal::TERM)?;
    let report = report_after(program, "regions watch")?;
    if report.get("managed").and_then(Value::as_bool) != Some(true) {
        bail!("a program under `numaestro run` did not attach to the manager: run `numaestro doctor`");
    }
    let samples = report.get("samples").and_then(Value::as_array).context("no samples in the report")?;
    Ok(samples.iter().filter_map(|pair| Some((pair.get(0)?.as_u64()?, pair.get(1)?.as_f64()?))).collect())
}

fn sum_up(compiler: &str, samples: &[(u64, f64)]) -> Vec<Quantity> {
    let all = samples.iter().map(|sample| sample.1).collect();
    // The first sample has no predecessor: whether it grew is not known.
    let changed = |grown: bool| {
        let pairs = samples.windows(2).filter(|pair| if grown { pair[1].0 > pair[0].0 } else { pair[1].0 < pair[0].0 });
        pairs.map(|pair| pair[1].1).collect()
    };
    let all = Quantity::new(&format!("{compiler}, decision to adoption"), "us", all);
    let all =
        all.map(|quantity| [quantity.clone().promised("p50", ADOPT_US[0]), quantity.promised("p99", ADOPT_US[1])]);
    let parts = [(true, "growing"), (false, "shrinking")];
    let parts = parts
        .into_iter()
        .filter_map(|(grown, word)| Quantity::new(&format!("{compiler}, {word}"), "us", changed(grown)));
    all.into_iter().flatten().chain(parts).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn growing_and_shrinking_are_told_apart() {
        let quantities = sum_up("gcc", &[(2, 10.0), (1, 20.0), (2, 30.0), (2, 40.0), (1, 50.0)]);
        let samples = |name: &str| quantities.iter().find(|q| q.name.ends_with(name)).expect("there").samples.clone();
        assert_eq!(samples("growing"), [30.0]);
        assert_eq!(samples("shrinking"), [20.0, 50.0]);
        assert_eq!(samples("adoption").len(), 5);
    }
}
