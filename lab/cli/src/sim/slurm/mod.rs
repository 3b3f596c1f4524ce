//! A comparison on a Slurm cluster. This program submits an array job whose tasks run parts of the
//! comparison, collects their finished runs into the one state file, and submits parts again whose
//! tasks have failed. Results are made of the state file, as on one machine.
//!
//! Nothing is lost when this program dies: the tasks run on, and the next call with --resume
//! follows them.

mod cluster;
mod directory;
mod parts;
mod script;
mod sweep;

use super::args::CompareArgs;
use super::progress::Progress;
use super::runner::Planned;
use super::state::{Done, Kept};
use super::stop::Stop;
use crate::finished::fingerprint;
use crate::say::{self, Failure};
use cluster::Partition;
use directory::Directory;
use script::Script;
use std::path::Path;
use sweep::Sweep;

/// Tasks for each processor, and for each whole node: where one takes longer, others do the rest.
const TASKS_PER_PROCESSOR: u32 = 2;
const TASKS_PER_NODE: u32 = 4;
/// Tasks that nobody has asked for by name, at most.
const TASKS_MAX: u32 = 500;

/// Refuses impossible wishes, before there is a state file.
///
/// # Errors
/// No Slurm, no such partition, more nodes or tasks than there can be.
pub fn check(args: &CompareArgs, runs: usize) -> anyhow::Result<u32> {
    if args.state.is_none() && args.html.is_none() && args.json.is_none() && args.csv.is_none() {
        let next = "add --state FILE, in a directory that the nodes share, or an output there";
        return Err(Failure::error(say::USAGE, "--slurm keeps finished runs in a file that the nodes share", next));
    }
    let partition = cluster::partition(args.slurm.partition.as_deref())?;
    let name = &partition.name;
    if args.slurm.nodes.is_some_and(|nodes| nodes > partition.nodes) {
        let what = format!("partition `{name}` has {}", say::counted(partition.nodes as usize, "node"));
        return Err(Failure::error(say::USAGE, what, "give fewer by --nodes, or leave it out"));
    }
    let most = cluster::largest_task();
    if args.slurm.tasks.is_some_and(|tasks| tasks > most) {
        let what = format!("this cluster has array jobs of {most} tasks at most (MaxArraySize)");
        return Err(Failure::error(say::USAGE, what, "give fewer by --tasks: each does more runs then"));
    }
    if partition.processors == 0 {
        say::warn(&format!("no node of partition `{name}` works now: the tasks wait"));
    }
    Ok(tasks(args, &partition, runs).clamp(1, most.max(1)))
}

fn tasks(args: &CompareArgs, partition: &Partition, runs: usize) -> u32 {
    let runs = u32::try_from(runs).unwrap_or(u32::MAX);
    let workers = u32::from(args.what.workers.unwrap_or(1));
    let usual = match args.slurm.nodes {
        Some(nodes) => nodes.saturating_mul(TASKS_PER_NODE),
        None => partition.processors.saturating_mul(TASKS_PER_PROCESSOR) / workers,
    };
    args.slurm.tasks.unwrap_or(usual.min(TASKS_MAX)).clamp(1, runs.max(1))
}

/// Runs everything that is not done on the cluster, in so many parts; false if it was stopped.
///
/// # Errors
/// sbatch refuses, parts fail again and again, Slurm does not answer for minutes.
pub fn run(
    args: &CompareArgs,
    runs: &[(&Planned, u64)],
    parts: u32,
    kept: Kept,
    done: &mut Done,
    stop: &Stop,
) -> anyhow::Result<bool> {
    let keys: Vec<_> = runs.iter().map(|(planned, seed)| (planned.cell.clone(), *seed)).collect();
    if !args.resume {
        sweep::clear(kept.state.path())?;
    }
    let directory = Directory::beside(kept.state.path())?;
    let list = fingerprint(&serde_json::to_vec(&keys)?);
    let parts = sweep::parts_under_way(&directory, list)?.unwrap_or(parts);
    let script = Script::new(args, parts, kept.state.path(), &directory)?;
    let progress = Progress::new(keys.len() as u64, None);
    let mut sweep = Sweep::new(keys, (parts, list), script, directory, &progress, stop)?;
    match sweep.follow(kept, done) {
        Ok(whole) => {
            sweep.finish();
            Ok(whole)
        }
        Err(error) => {
            sweep.abandon();
            Err(error)
        }
    }
}

/// Whether tasks or their files are left of an earlier call.
pub fn is_under_way(state: &Path) -> bool {
    directory::place(state).is_dir()
}
