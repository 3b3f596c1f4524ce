//! Gives advice where no manager runs, on the processors that this process may use and that are
//! idle now. The advice is no promise.
//!
//! A fresh engine divides the processors that are not busy, so that the answer is that of a manager
//! which begins now.

use crate::{machine_here, say};
use anyhow::Context;
use numaestro_abi::control::{Advice, Options};
use numaestro_engine::{Engine, Settings, Wish};
use numaestro_host::cgroup::{Hierarchies, Limits};
use numaestro_host::procfs::{Busy, busy_of_all_processors};
use numaestro_host::{monotonic_ns, numa};
use numaestro_topology::{CpuSet, Machine, NumaNodeId, PuSet};
use std::fmt::Write;
use std::time::Duration;

/// Time for which the processors are watched.
const WINDOW: Duration = Duration::from_millis(200);
/// From this part of the window on a processor is somebody's, thousandths: as for the manager, load
/// that fills 400 of 1000.
const BUSY_PERMILLE: u64 = 400;

/// The machine, with its busy processors, free memory and quota.
struct Seen {
    machine: Machine,
    busy: PuSet,
    /// Bytes by NUMA node; empty: not known.
    free_memory: Vec<u64>,
    /// Processors that the cgroup's quota is worth, and the file that says so.
    quota: Option<(u32, String)>,
}

/// Looks at this machine.
pub fn look(options: &Options) -> anyhow::Result<Advice> {
    let machine = machine_here::this_machine()?;
    let busy = busy_for(WINDOW).map_or_else(|_| PuSet::new(), |cpus| machine.pu_set(&cpus));
    let memory = numa::node_memory().unwrap_or_default();
    let free = |os: u32| memory.iter().find(|memory| memory.node == os).map_or(0, |memory| memory.free);
    let free_memory =
        if memory.is_empty() { Vec::new() } else { machine.numa_nodes().iter().map(|n| free(n.os_index)).collect() };
    let limits = Limits::of(&Hierarchies::read(), std::process::id(), None).unwrap_or_default();
    let quota = limits.quota.map(|quota| (quota.processors(), quota.file.display().to_string()));
    divide(Seen { machine, busy, free_memory, quota }, options)
}

/// Processors that have been busy for the next while.
fn busy_for(window: Duration) -> anyhow::Result<CpuSet> {
    let before = busy_of_all_processors()?;
    std::thread::sleep(window);
    Ok(busy_between(&before, &busy_of_all_processors()?))
}

fn busy_between(before: &Busy, after: &Busy) -> CpuSet {
    let busy = |os: u32| {
        let (busy, idle) = after.since(before, |other| other == os);
        busy * 1000 >= (busy + idle).max(1) * BUSY_PERMILLE
    };
    after.processors.iter().map(|(os, ..)| *os).filter(|&os| busy(os)).collect()
}

/// The advice of a manager that begins now. Where all processors are busy, the program would share
/// all that it may use.
fn divide(seen: Seen, options: &Options) -> anyhow::Result<Advice> {
    let Seen { machine, busy, free_memory, quota } = seen;
    let allowed = machine.allowed().clone();
    let all_busy = allowed.is_subset(&busy);
    let reserved = if all_busy { PuSet::new() } else { busy.clone() };
    let usable = allowed.difference(&reserved).len() as u32;
    let most = quota.as_ref().map_or(usable, |(processors, _)| (*processors).min(usable)).max(1);
    let wish = Wish {
        min: options.min.unwrap_or(1),
        max: options.max.unwrap_or(u32::MAX).min(most.max(options.min.unwrap_or(1))),
        memory: options.memory.unwrap_or(0),
        ..Wish::new(options.max.unwrap_or(most).clamp(1, most))
    };
    let settings = Settings { reserved, ..Settings::default() };
    let engine = Engine::new(machine, settings, 1).context("the machine cannot be divided")?;
    let found = engine.advise(monotonic_ns(), &wish, &free_memory).map_err(|refusal| {
        say::Failure::error(say::REFUSED, format!("no manager runs, and {refusal}"), "ask for less, or wait for others")
    })?;
    let machine = engine.machine();
    let nodes = |nodes: &[NumaNodeId]| -> CpuSet {
        nodes.iter().map(|node| machine.numa_nodes()[node.index()].os_index).collect()
    };
    let (has, idle) = (allowed.len(), allowed.difference(&busy));
    let mut why = format!("{} of the {has} processors that may be used are idle", idle.len());
    if let Some((processors, file)) = quota.filter(|(processors, _)| (*processors as usize) < idle.len()) {
        let _ = write!(why, ", and {file} allows the time of {processors}");
    }
    Ok(Advice {
        count: if all_busy { 0 } else { found.count },
        cpus: machine.os_cpuset(&found.pus).to_string(),
        free: machine.os_cpuset(&found.pus.difference(&busy)).to_string(),
        shared: all_busy || found.shared,
        position: None,
        nodes: nodes(&found.nodes).to_string(),
        memory_nodes: nodes(&found.memory_nodes).to_string(),
        memory_free: found.memory_free,
        why,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use numaestro_topology::{PuId, synthetic};

    fn seen(busy: &[u32]) -> Seen {
        Seen {
            machine: synthetic::parse("numa:2 core:4 pu:1").unwrap(),
            busy: busy.iter().copied().map(PuId).collect(),
            free_memory: vec![1 << 30, 8 << 30],
            quota: None,
        }
    }

    fn options(min: Option<u32>, max: Option<u32>, memory: u64) -> Options {
        Options { min, max, memory: Some(memory), ..Options::default() }
    }

    #[test]
    fn busy_processors_are_left_alone() {
        let advice = divide(seen(&[0, 5]), &options(None, None, 0)).unwrap();
        assert_eq!((advice.count, advice.cpus.as_str(), advice.free.as_str()), (6, "1-4,6-7", "1-4,6-7"));
        assert_eq!((advice.shared, advice.nodes.as_str()), (false, "0-1"));
        assert_eq!(advice.why, "6 of the 8 processors that may be used are idle");
        let advice = divide(seen(&[0, 1, 2]), &options(None, Some(4), 0)).unwrap();
        assert_eq!((advice.cpus.as_str(), advice.memory_nodes.as_str()), ("4-7", "1"), "one node has enough");
    }

    #[test]
    fn where_all_are_busy_it_shares() {
        let advice = divide(seen(&[0, 1, 2, 3, 4, 5, 6, 7]), &options(None, Some(2), 0)).unwrap();
        assert_eq!((advice.count, advice.shared, advice.free.as_str()), (0, true, ""));
        assert_eq!(advice.cpus.parse::<CpuSet>().unwrap().len(), 2);
    }

    #[test]
    fn a_quota_is_a_limit_and_is_named() {
        let quota = Some((2, "cpu.max".to_owned()));
        let advice = divide(Seen { quota, ..seen(&[]) }, &options(None, None, 2 << 30)).unwrap();
        assert_eq!(advice.count, 2);
        assert!(advice.why.ends_with("are idle, and cpu.max allows the time of 2"), "{}", advice.why);
    }

    #[test]
    fn memory_goes_on_where_the_first_node_is_full() {
        let advice = divide(seen(&[4, 5, 6, 7]), &options(None, None, 2 << 30)).unwrap();
        assert_eq!((advice.nodes.as_str(), advice.memory_nodes.as_str()), ("0", "0-1"));
        assert_eq!(advice.memory_free, Some(9 << 30));
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let refused = divide(seen(&[0]), &options(Some(8), None, 0)).unwrap_err();
        assert!(refused.to_string().contains("at least 8"), "{refused}");
    }

    #[test]
    fn from_four_tenths_on_it_is_busy() {
        let before = Busy { processors: vec![(0, 100, 100), (1, 0, 0), (2, 5, 5)] };
        let after = Busy { processors: vec![(0, 112, 108), (1, 7, 13), (2, 5, 5)] };
        assert_eq!(busy_between(&before, &after).to_string(), "0");
    }
}
