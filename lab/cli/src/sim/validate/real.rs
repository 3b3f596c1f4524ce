//! Runs a mix for real: each program is started at its time by a thread of its own, which waits for
//! its end.

use super::mixes::Mix;
use crate::bench::launch;
use crate::bench::load::{Reading, Window};
use crate::bench::managed::Managed;
use crate::sim::learn::Subject;
use anyhow::{Context, anyhow};
use numaestro_sim::validation::Times;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// Runs `mix` under a manager: its times, and the load beside it.
///
/// # Errors
/// A program failed, or took longer than `limit`.
pub fn run(
    mix: &Mix,
    subjects: &BTreeMap<usize, Subject>,
    managed: &Managed,
    limit: Duration,
) -> anyhow::Result<(Times, Window)> {
    managed.settle();
    let (before, origin) = (Reading::take(managed.time()), Instant::now());
    let ended = std::thread::scope(|scope| {
        let threads: Vec<_> = mix
            .arrivals
            .iter()
            .map(|&(at, program)| {
                let subject = subjects.get(&program);
                scope.spawn(move || one(Duration::from_nanos(at), subject, managed, (origin, limit)))
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().map_err(|_| anyhow!("a thread failed"))?).collect::<Vec<_>>()
    });
    let ended = ended.into_iter().collect::<anyhow::Result<Vec<One>>>().with_context(|| format!("mix {}", mix.name))?;
    let children_s = ended.iter().map(|one| one.used_s).sum();
    let window = before.until(&Reading::take(managed.time()), children_s, launch::processors()?.len());
    let times: Vec<(u64, u64)> = ended.iter().map(|one| (nanos(one.began), nanos(one.ended))).collect();
    Ok((Times::of(&times).context("a mix without programs")?, window))
}

/// One program of a mix.
struct One {
    /// Since the start of the mix.
    began: Duration,
    ended: Duration,
    /// Seconds of processor time.
    used_s: f64,
}

fn one(
    at: Duration,
    subject: Option<&Subject>,
    managed: &Managed,
    (origin, limit): (Instant, Duration),
) -> anyhow::Result<One> {
    let subject = subject.context("a program without a command")?;
    std::thread::sleep(at.saturating_sub(origin.elapsed()));
    let began = origin.elapsed();
    let started = launch::start(&mut subject.command(managed, &[]), None)?;
    let end = launch::wait_all(vec![started], origin, limit)?.remove(0);
    subject.check(&end, limit)?;
    Ok(One { began, ended: Duration::from_secs_f64(end.turnaround_s), used_s: end.cpu_s })
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
