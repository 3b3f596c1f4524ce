//! Simulates a scene under a policy, and keeps the times of its programs.

use super::scene::Scene;
use crate::say::Failure;
use crate::say::WRONG_FILE;
use crate::sim::files::quoted;
use numaestro_engine::Nanos;
use numaestro_sim::learn::mix::Member;
use numaestro_sim::outcome::JobRecord;
use numaestro_sim::world::World;
use std::collections::BTreeMap;

/// The times of one run, real or simulated.
#[derive(Debug, Clone, PartialEq)]
pub struct Times {
    /// Nanoseconds from the first arrival to the last end.
    pub makespan: f64,
    /// Nanoseconds from arrival to end, by member; `None` for one that has not run as a whole.
    pub turnarounds: Vec<Option<f64>>,
}

impl Times {
    /// As it was.
    pub fn recorded(members: &[Member]) -> Self {
        let turnaround = |member: &Member| {
            let recorded = &member.recorded;
            let whole = recorded.ended.filter(|_| !recorded.had_begun)?;
            Some((whole - recorded.arrived) as f64)
        };
        let begin = members.iter().map(|member| member.recorded.arrived).min().unwrap_or_default();
        let end = members.iter().filter_map(|member| member.recorded.ended).max().unwrap_or(begin);
        Self { makespan: (end - begin) as f64, turnarounds: members.iter().map(turnaround).collect() }
    }

    /// Mean of the turnarounds, nanoseconds; `None`: no program ran as a whole.
    pub fn mean_turnaround(&self) -> Option<f64> {
        let whole: Vec<f64> = self.turnarounds.iter().flatten().copied().collect();
        (!whole.is_empty()).then(|| whole.iter().sum::<f64>() / whole.len() as f64)
    }

    /// The same of several runs.
    pub fn mean(runs: &[Self]) -> Self {
        let count = runs.len().max(1) as f64;
        let first = runs.first().map_or(0, |run| run.turnarounds.len());
        let turnaround = |place: usize| {
            let all: Option<Vec<f64>> = runs.iter().map(|run| run.turnarounds[place]).collect();
            all.map(|all| all.iter().sum::<f64>() / count)
        };
        Self {
            makespan: runs.iter().map(|run| run.makespan).sum::<f64>() / count,
            turnarounds: (0..first).map(turnaround).collect(),
        }
    }
}

/// Simulates it under this policy; absent: under the one that ran, with its switches.
///
/// # Errors
/// Exit code 2: the policy cannot run there, or a change is wrong.
pub fn simulate(
    scene: &Scene,
    policy: Option<&str>,
    sets: &[(String, String)],
    seeds: u32,
) -> anyhow::Result<Vec<Times>> {
    let mut changes = sets.to_vec();
    if let Some(policy) = policy {
        changes.push(("policy".to_owned(), quoted(policy)));
        changes.push(("switches".to_owned(), "[]".to_owned()));
    }
    let scenario = scene.scenario(&changes).map_err(|problem| {
        let what = match (scene.scenario(sets), policy) {
            (Err(problem), _) if !sets.is_empty() => format!("{}: {problem}", in_words(sets)),
            (_, Some(policy)) if !problem.contains(policy) => format!("policy `{policy}`: {problem}"),
            _ => problem,
        };
        Failure::error(WRONG_FILE, what, "")
    })?;
    let real = Times::recorded(&scene.members);
    let mut runs = Vec::new();
    for seed in scenario.seed..scenario.seed + u64::from(seeds) {
        let world = World::new(scenario.setup(seed), scenario.source(seed));
        let wrong = |rejected| Failure::error(WRONG_FILE, format!("{}: {rejected}", policy.unwrap_or("as it was")), "");
        let outcome = world.map_err(wrong)?.run(&mut ());
        let by_name: BTreeMap<&str, &JobRecord> = outcome.jobs.iter().map(|job| (&*job.program, job)).collect();
        let of = |member: &Member| by_name.get(member.program.name.as_str()).copied();
        let ended = |place: usize| of(&scene.members[place]).map(|job| job.ended);
        let places = 0..scene.members.len();
        let whole = places.clone().filter(|&place| scene.members[place].recorded.ended.is_some());
        let last: Nanos = whole.filter_map(ended).max().unwrap_or_default();
        let turnaround = |place: usize| {
            real.turnarounds[place]?;
            of(&scene.members[place]).map(|job| job.response() as f64)
        };
        runs.push(Times { makespan: last as f64, turnarounds: places.map(turnaround).collect() });
    }
    Ok(runs)
}

/// As the user has given them.
fn in_words(sets: &[(String, String)]) -> String {
    sets.iter().map(|(path, value)| format!("--set {path}={value}")).collect::<Vec<_>>().join(" ")
}
