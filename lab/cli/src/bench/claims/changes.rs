//! N-switch: the policy can be changed at run time without overhead.
//!
//! The policies divide alike, so that a difference is the cost of the change and not of another
//! division. The control stops the programs for a moment at each change, as a manager would that
//! cannot change its policy while programs run: if that is not seen, a change's cost cannot be seen
//! either.

use std::time::Duration;

use anyhow::Result;
use numaestro_repro::measured::Samples;
use rustix::process::{Signal, kill_process_group};

use super::super::launch::number;
use super::super::live::{Job, Running};
use super::super::managed::Managed;
use super::{Measurement, RUN_LIMIT, quotients, whole};

/// A second more than the last change.
const JOB: Job = Job { kernel: "sor", arguments: &[], work_s: 4.0 };
const POLICIES: [&str; 3] = ["nanos-equip", "equi", "nanos-dss"];
/// The policy of programs under which nothing changes, and the last one of each change.
const STILL: &str = POLICIES[2];
/// Time between two changes.
const BETWEEN: Duration = Duration::from_secs(1);
/// The control's stop.
const STOP: Duration = Duration::from_millis(100);

/// Measures the time of two programs.
pub fn changes(of: &mut Measurement) -> Result<Vec<Samples>> {
    let bench = of.bench(RUN_LIMIT, [JOB].iter())?;
    let managed = Managed::start_undisturbed(&bench.places.numaestro)?;
    let [still, changed, stopped] = of.rounds.run::<3>(|which| {
        managed.set_policy(STILL)?;
        let jobs = [(&JOB, Vec::new()), (&JOB, Vec::new())];
        let mut refused = None;
        let round = whole(bench.run(&managed, &jobs, |running| {
            refused = match which {
                0 => None,
                1 => each_second(running, |policy| running.managed.set_policy(policy)).err(),
                _ => each_second(running, |_| stop(running.groups)).err(),
            };
        })?)?;
        match refused {
            Some(error) => Err(error),
            None => Ok((round.makespan_s(), round.window)),
        }
    })?;
    Ok(vec![Samples { name: "time".to_owned(), on: quotients(&changed, &still), off: quotients(&stopped, &still) }])
}

/// Calls `change` with each policy in turn, a second apart, as often as the programs outlive it for
/// sure: they take four seconds at least.
fn each_second(running: &Running, mut change: impl FnMut(&str) -> Result<()>) -> Result<()> {
    for (policy, after) in POLICIES.into_iter().zip(1..) {
        std::thread::sleep((BETWEEN * after).saturating_sub(running.origin.elapsed()));
        change(policy)?;
    }
    Ok(())
}

/// Stops the programs, whatever their manager does, and lets all of them go on.
fn stop(groups: &[u32]) -> Result<()> {
    let signal = |signal| groups.iter().map(|&group| kill_process_group(number(group), signal)).collect::<Vec<_>>();
    let stopped = signal(Signal::STOP);
    std::thread::sleep(STOP);
    let continued = signal(Signal::CONT);
    Ok(stopped.into_iter().chain(continued).collect::<Result<(), _>>()?)
}
