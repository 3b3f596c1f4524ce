//! `numaestro bench set`: measures how long it takes until a limit that a person sets is in force
//! in a program in regions of 50 µs.
//!
//! The time begins when the request is sent, on a connection that is open, and ends when the
//! program adopts the decision: it writes that time into its page, after it has moved its pool. So
//! nobody looks meanwhile and takes a processor from the program and the manager. The same is
//! measured with the whole command `numaestro set`, for comparison.

use std::process::{ExitCode, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use numaestro_abi::control::{AppName, Most, NewWishes};
use numaestro_host::monotonic_ns;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::super::args::ProbeArgs;
use super::super::bounds::SET_US;
use super::super::coexec::find_places;
use super::super::launch;
use super::super::managed::Managed;
use super::regions::{Regions, allowed, report_after, until};
use super::{Quantity, conclude};

/// Between two looks whether a change has come, and the longest wait for it.
const PAUSE: Duration = Duration::from_millis(5);
const PATIENCE: Duration = Duration::from_secs(2);
/// Of so many changes one is made by the whole command.
const COMMAND_EACH: u32 = 10;
/// Seconds after which the program ends by itself.
const LONGEST_S: &str = "600";
/// Length of a region in microseconds.
const WORK_US: &str = "50";

/// Measures libgomp and libomp.
pub fn set(args: &ProbeArgs) -> Result<ExitCode> {
    if launch::processors()?.len() < 2 {
        bail!("a limit changes nothing on a machine with one processor");
    }
    let places = find_places(&args.places)?;
    let managed = Managed::start_undisturbed(&places.numaestro)?;
    let mut quantities = Vec::new();
    Regions::of_each_compiler(&places, |compiler, regions| {
        quantities.extend(flipping(&managed, regions, args.runs.unwrap_or(300))?.sum_up(compiler));
        Ok(())
    })?;
    if quantities.is_empty() {
        bail!("no limit came into force: run `numaestro doctor`");
    }
    conclude(args, &quantities)
}

/// Microseconds from the request until the limit was in force.
#[derive(Debug, Default)]
pub(super) struct Samples {
    lower: Vec<f64>,
    higher: Vec<f64>,
    /// From the start of the command.
    command: Vec<f64>,
}

impl Samples {
    /// Of the changes that were asked for on a connection that was open.
    pub(super) fn requests(self) -> Vec<f64> {
        [self.lower, self.higher].concat()
    }

    fn sum_up(self, compiler: &str) -> Vec<Quantity> {
        let all = self.lower.iter().chain(&self.higher).copied().collect();
        let named = |what: &str, samples| Quantity::new(&format!("{compiler}, {what}"), "us", samples);
        let all = named("request to limit in force", all).map(|quantity| quantity.promised("p99", SET_US));
        let parts = [
            named("lower limit", self.lower),
            named("no limit again", self.higher),
            named("whole command", self.command),
        ];
        all.into_iter().chain(parts.into_iter().flatten()).collect()
    }
}

pub(super) fn flipping(managed: &Managed, regions: &Regions, flips: u32) -> Result<Samples> {
    managed.settle();
    let mut command = managed.run(&[], &regions.path());
    let program = launch::start(command.args(["watch", LONGEST_S, WORK_US]), None)?;
    let number = launch::number(program.pid);
    // It begins on the processors that it is given before its first region.
    std::thread::sleep(Duration::from_millis(100));
    let alone = allowed(number).unwrap_or(0);
    let mut asked = Vec::new();
    for flip in 0..flips {
        let by_command = flip % COMMAND_EACH == COMMAND_EACH - 1;
        for (most, size) in [(Most::Processors(1), 1), (Most::All, alone)] {
            asked.push((once(managed, number, most, by_command, size)?, most, by_command, size));
        }
    }
    // The kernel shows the last change before the program has noted it.
    std::thread::sleep(4 * PAUSE);
    kill_process(number, Signal::TERM)?;
    let report = report_after(program, "regions watch")?;
    let adopted = report.get("samples").and_then(Value::as_array).context("no samples in the report")?;
    let adopted: Vec<(u64, u64)> =
        adopted.iter().filter_map(|sample| Some((sample.get(2)?.as_u64()?, sample.get(0)?.as_u64()?))).collect();
    let mut samples = Samples::default();
    for (begin, most, by_command, size) in asked {
        let taken = until_adopted(&adopted, begin, size).context("a limit in force was not adopted")?;
        match (by_command, most) {
            (true, _) => samples.command.push(taken),
            (false, Most::All) => samples.higher.push(taken),
            (false, Most::Processors(_)) => samples.lower.push(taken),
        }
    }
    Ok(samples)
}

/// Microseconds from `begin` until the program has adopted this many processors. `adopted`: times
/// and processors.
fn until_adopted(adopted: &[(u64, u64)], begin: u64, size: u32) -> Option<f64> {
    let (at, _) = adopted.iter().find(|(at, processors)| *at >= begin && *processors == u64::from(size))?;
    Some((at - begin) as f64 / 1e3)
}

/// Sets one limit, and waits until the program has this many processors. Gives the time of the
/// request.
fn once(managed: &Managed, program: Pid, most: Most, by_command: bool, size: u32) -> Result<u64> {
    let pid = program.as_raw_nonzero().to_string();
    let mut connection = managed.connect().context("the manager does not answer")?;
    let begin = monotonic_ns();
    if by_command {
        let word = if let Most::Processors(number) = most { number.to_string() } else { "none".to_owned() };
        let mut command = managed.command();
        let status = command.args(["set", &pid, "--max", &word]).stdout(Stdio::null()).status()?;
        anyhow::ensure!(status.success(), "`numaestro set {pid} --max {word}` fails");
    } else {
        connection.set(AppName::Word(pid), NewWishes { max: Some(most), ..NewWishes::default() })?;
    }
    std::thread::sleep(PAUSE);
    let in_force = until(PAUSE, PATIENCE, || allowed(program) == Some(size));
    in_force.context("a limit that was set does not come into force: run `numaestro doctor`")?;
    Ok(begin)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_adoption_of_this_size_after_the_request_counts() {
        let adopted = [(1_000, 2), (5_000, 1), (9_000, 2), (12_000, 1)];
        assert_eq!(until_adopted(&adopted, 2_000, 1), Some(3.0));
        assert_eq!(until_adopted(&adopted, 6_000, 1), Some(6.0));
        assert_eq!(until_adopted(&adopted, 10_000, 2), None);
    }

    #[test]
    fn the_bound_is_about_the_request_not_about_the_start_of_a_command() {
        let samples = Samples { lower: vec![10.0, 20.0], higher: vec![30.0], command: vec![9000.0] };
        let quantities = samples.sum_up("gcc");
        let bound: Vec<_> = quantities.iter().filter(|quantity| quantity.bound.is_some()).collect();
        assert_eq!((bound.len(), bound[0].samples.len(), bound[0].holds), (1, 3, Some(true)));
        assert_eq!(quantities.len(), 4);
    }
}
