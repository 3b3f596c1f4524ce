//! Measures the number of repetitions that take a program one second on one processor, so that
//! every mix lasts about as long as wanted.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use super::launch;
use super::measure::{report_of, says_ok};
use super::mix::Program;
use super::places::CommandLine;

/// Runs of which the shortest counts: a disturbance makes a run longer.
const TRIES: usize = 3;
/// A program that takes longer than this for its default work on one processor is broken.
const LIMIT: Duration = Duration::from_mins(1);

/// Measures each program on processor `cpu`.
pub fn calibrate(commands: &BTreeMap<Program, CommandLine>, cpu: usize) -> Result<BTreeMap<Program, f64>> {
    commands.iter().map(|(program, line)| Ok((program.clone(), one(line, cpu)?))).collect()
}

fn one(line: &CommandLine, cpu: usize) -> Result<f64> {
    let mut best: Option<f64> = None;
    for _ in 0..TRIES {
        let mut command = launch::clean_command(&line.executable);
        command.args(&line.arguments).arg("--json");
        for name in ["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "RAYON_NUM_THREADS"] {
            command.env(name, "1");
        }
        let origin = Instant::now();
        let ended = launch::wait_all(vec![launch::start(&mut command, Some(&[cpu]))?], origin, LIMIT)?;
        let output = &ended[0].output;
        if !ended[0].success || !says_ok(output) {
            bail!("{} fails alone on one processor: {}", line.executable.display(), output.trim());
        }
        let rate =
            rate(output).with_context(|| format!("{} reports no `reps` and `wall_s`", line.executable.display()))?;
        best = Some(best.map_or(rate, |best| best.max(rate)));
    }
    best.context("no calibration run")
}

/// Repetitions per second as a program reports them.
fn rate(output: &str) -> Option<f64> {
    let report = report_of(output)?;
    let (reps, seconds) = (report.get("reps")?.as_f64()?, report.get("wall_s")?.as_f64()?);
    (reps > 0.0 && seconds > 0.0).then(|| reps / seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_repetitions_by_seconds() {
        assert_eq!(rate("{\"reps\": 10, \"wall_s\": 0.25}"), Some(40.0));
        assert_eq!(rate("{\"reps\": 10}"), None);
        assert_eq!(rate("{\"reps\": 0, \"wall_s\": 0.0}"), None);
    }
}
