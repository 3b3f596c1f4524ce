//! Runs scenarios on all processors of this machine. The order in which runs end changes nothing in
//! the results.

use super::progress::Progress;
use super::recorder::Recorder;
use super::results::Cell;
use super::state::{self, Done};
use super::summary::Summary;
use crate::finished::Finished;
use crate::say::Failure;
use crate::say::WRONG_FILE;
use anyhow::Context;
use numaestro_sim::outcome::Outcome;
use numaestro_sim::scenario::Scenario;
use numaestro_sim::world::World;
use numaestro_topology::{PuId, PuSet};
use rayon::prelude::*;
use std::sync::atomic::{AtomicBool, Ordering};

/// A cell and its scenario.
#[derive(Debug, Clone)]
pub struct Planned {
    /// Under which name its results are kept.
    pub cell: Cell,
    /// The scenario to run.
    pub scenario: Scenario,
}

/// The settings that all runs share.
#[derive(Clone, Copy)]
pub struct Runner<'a> {
    /// Told of everything that ends.
    pub progress: &'a Progress,
    /// The file that keeps finished runs.
    pub state: Option<&'a Finished>,
    /// Set when no more runs should begin, and the present ones should end.
    pub stop: &'a AtomicBool,
    /// Conservation is checked at every event.
    pub checks: bool,
}

/// Refuses runs that cannot begin, before any begins.
///
/// # Errors
/// Exit code 2: the reason why the engine refuses the policy.
pub fn check(planned: &[Planned]) -> anyhow::Result<()> {
    for one in planned {
        world(one, one.scenario.seed)?;
    }
    Ok(())
}

/// The world of a run, before its first event.
///
/// # Errors
/// Exit code 2: the reason why the engine refuses the policy.
pub fn world(planned: &Planned, seed: u64) -> anyhow::Result<World> {
    let scenario = &planned.scenario;
    World::new(scenario.setup(seed), scenario.source(seed))
        .map_err(|rejected| refused(&planned.cell.policy, &rejected.to_string()))
}

/// A policy that cannot run; exit code 2.
pub fn refused(policy: &str, reason: &str) -> anyhow::Error {
    Failure::error(WRONG_FILE, format!("policy `{policy}`: {reason}"), "`numaestro policy list` names all")
}

/// All runs: cell by cell, in order of seeds.
pub fn runs<'a>(planned: &'a [Planned], seeds: &[u64]) -> Vec<(&'a Planned, u64)> {
    planned.iter().flat_map(|one| seeds.iter().map(move |&seed| (one, seed))).collect()
}

/// Processors that applications may have.
pub fn managed(scenario: &Scenario) -> PuSet {
    let reserved = &scenario.settings.reserved;
    let pus = 0..scenario.machine.topology.pu_count();
    pus.map(|pu| PuId(u32::try_from(pu).unwrap_or(u32::MAX))).filter(|&pu| !reserved.contains(pu)).collect()
}

/// The threads for `workers` runs at the same time.
pub fn pool(workers: Option<u16>) -> anyhow::Result<rayon::ThreadPool> {
    // 0 = as many as there are processors that this process may use.
    let pool = rayon::ThreadPoolBuilder::new().num_threads(usize::from(workers.unwrap_or(0)));
    pool.thread_name(|number| format!("sim-{number}")).build().context("cannot start workers")
}

impl Runner<'_> {
    /// Runs all of these seeds of all of these cells except the done ones; one list for each cell,
    /// in order of seeds.
    ///
    /// # Errors
    /// A state file that cannot be written. `Ok(None)` if it was stopped.
    pub fn all(&self, planned: &[Planned], seeds: &[u64], done: &Done) -> anyhow::Result<Option<Vec<Vec<Summary>>>> {
        let Some(all) = self.these(&runs(planned, seeds), done)? else { return Ok(None) };
        Ok(Some(all.chunks(seeds.len().max(1)).map(<[Summary]>::to_vec).collect()))
    }

    /// Runs these except the done ones; the results of all of them.
    ///
    /// # Errors
    /// A state file that cannot be written. `Ok(None)` if it was stopped.
    pub fn these(&self, runs: &[(&Planned, u64)], done: &Done) -> anyhow::Result<Option<Vec<Summary>>> {
        let one = |&(planned, seed): &(&Planned, u64)| -> anyhow::Result<Option<Summary>> {
            if let Some(found) = done.get(&(planned.cell.clone(), seed)) {
                self.progress.had();
                return Ok(Some(found.clone()));
            }
            let tick = || self.progress.job();
            let mut recorder = Recorder::default();
            recorder.tick = Some(&tick);
            let Some(summary) = self.run(planned, seed, &mut recorder)?.map(|(summary, _)| summary) else {
                return Ok(None);
            };
            if let Some(state) = self.state {
                state::add_run(state, &planned.cell, &summary)?;
            }
            self.progress.run();
            Ok(Some(summary))
        };
        let found = runs.par_iter().map(one).collect::<anyhow::Result<Vec<Option<Summary>>>>()?;
        Ok(found.into_iter().collect())
    }

    /// One run. `Ok(None)` if it was stopped.
    pub fn run(
        &self,
        planned: &Planned,
        seed: u64,
        recorder: &mut Recorder,
    ) -> anyhow::Result<Option<(Summary, Outcome)>> {
        let scenario = &planned.scenario;
        let mut setup = scenario.setup(seed);
        setup.checks = self.checks;
        let mut world = World::new(setup, scenario.source(seed))
            .map_err(|rejected| refused(&planned.cell.policy, &rejected.to_string()))?;
        // Steps are short; looking at the flag after each few thousand is often enough.
        loop {
            if self.stop.load(Ordering::Relaxed) {
                return Ok(None);
            }
            if !(0..4096).all(|_| world.step(recorder)) {
                break;
            }
        }
        let outcome = world.outcome();
        Ok(Some((Summary::of(&outcome, seed, scenario.warmup, &managed(scenario)), outcome)))
    }
}
