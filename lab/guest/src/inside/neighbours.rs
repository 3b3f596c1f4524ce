//! The processors and nodes of several programs at one moment, as the kernel shows them, and the
//! programs that share one.
//!
//! It asks only the kernel, so that it can judge the manager.

use super::kernel;
use anyhow::{Context, Result, ensure};
use numaestro_topology::CpuSet;
use std::collections::BTreeMap;

/// Programs (by any number that stays theirs) and the processors on which all their threads may
/// run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Picture {
    /// Processors of each program.
    pub programs: BTreeMap<u32, CpuSet>,
}

/// Processors of every node that has some.
///
/// # Errors
/// The kernel does not say.
pub fn nodes() -> Result<BTreeMap<u32, CpuSet>> {
    let mut out = BTreeMap::new();
    for node in &kernel::list("/sys/devices/system/node/online")? {
        let cpus = kernel::node_cpus(node)?;
        if !cpus.is_empty() {
            out.insert(node, cpus);
        }
    }
    Ok(out)
}

/// The processors on which a program may run. All its threads must agree: a thread that is left
/// behind is an error.
/// # Errors
/// The program is gone, or its threads do not agree.
pub fn processors(pid: u32) -> Result<CpuSet> {
    let threads = kernel::threads(pid)?;
    let first = threads.first().with_context(|| format!("process {pid} has no threads"))?.allowed.clone();
    for thread in &threads {
        ensure!(
            thread.allowed == first,
            "thread {} of process {pid} may run on {}, the first one on {first}",
            thread.tid,
            thread.allowed
        );
    }
    Ok(first)
}

impl Picture {
    /// The picture of these processes.
    ///
    /// # Errors
    /// As [`processors`].
    pub fn take(pids: impl IntoIterator<Item = u32>) -> Result<Self> {
        let programs: Result<_> = pids.into_iter().map(|pid| Ok((pid, processors(pid)?))).collect();
        Ok(Self { programs: programs? })
    }

    /// Processors that some program may use.
    pub fn used(&self) -> CpuSet {
        let mut all = CpuSet::new();
        self.programs.values().for_each(|cpus| all.or_with(cpus));
        all
    }

    /// Programs in a node.
    pub fn within(&self, node: &CpuSet) -> Vec<u32> {
        self.programs.iter().filter(|(_, cpus)| cpus.intersects(node)).map(|(pid, _)| *pid).collect()
    }

    /// Checks that no program has a processor of another one (G1).
    ///
    /// # Errors
    /// Two programs have a processor in common.
    pub fn expect_apart(&self) -> Result<()> {
        for (a, of_a) in &self.programs {
            for (b, of_b) in self.programs.range(a + 1..) {
                ensure!(!of_a.intersects(of_b), "processes {a} ({of_a}) and {b} ({of_b}) have processors in common");
            }
        }
        Ok(())
    }

    /// Checks that no program has come into a node where another one was, while a node was and is
    /// all free. In pools of equal size I1 and I3 (worst fit) demand this together; for homes the
    /// fourth rule of base priority demands it. A program that shares a node from a time when none
    /// was free may stay.
    ///
    /// # Errors
    /// A program has come into such a node.
    pub fn expect_no_needless_sharing(&self, before: &Self, nodes: &BTreeMap<u32, CpuSet>) -> Result<()> {
        let empty: Vec<u32> = nodes
            .iter()
            .filter(|(_, cpus)| !before.used().intersects(cpus) && !self.used().intersects(cpus))
            .map(|(n, _)| *n)
            .collect();
        if empty.is_empty() {
            return Ok(());
        }
        for (node, cpus) in nodes {
            let now = self.within(cpus);
            let then = before.within(cpus);
            let new = now.iter().find(|pid| !then.contains(pid));
            ensure!(
                now.len() < 2 || new.is_none(),
                "process {} has come to node {node} beside others, while nodes {empty:?} are free: {self:?}, before: {before:?}",
                new.copied().unwrap_or_default()
            );
        }
        Ok(())
    }
}

/// Whether worst fit could have given a new program `found` of the processors that were free: the
/// pool with the most free processors first (of equals any), until it is full, and so on.
pub fn is_worst_fit(found: &CpuSet, free: &[CpuSet]) -> bool {
    let taken: Vec<usize> = free.iter().map(|pool| pool.intersection(found).len()).collect();
    let wanted: usize = taken.iter().sum();
    if wanted != found.len() {
        return false;
    }
    // Greedy: pools in falling order of free processors, each filled before the next is begun.
    let mut order: Vec<usize> = (0..free.len()).collect();
    order.sort_by_key(|&pool| (std::cmp::Reverse(free[pool].len()), std::cmp::Reverse(taken[pool])));
    let mut left = wanted;
    order.into_iter().all(|pool| {
        let share = left.min(free[pool].len());
        left -= share;
        share == taken[pool]
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(text: &str) -> CpuSet {
        text.parse().unwrap()
    }

    fn picture(of: &[(u32, &str)]) -> Picture {
        Picture { programs: of.iter().map(|(pid, cpus)| (*pid, set(cpus))).collect() }
    }

    #[test]
    fn worst_fit_is_told_from_others() {
        let free = [set("0-1"), set("2"), set("4-5"), CpuSet::new()];
        for (found, expected) in [
            ("0", true),
            ("5", true),
            ("2", false),
            ("0-1", true),
            ("0,4", false),
            ("0-1,4", true),
            ("0-1,2", false),
            ("0-1,4-5", true),
            ("0-2,4-5", true),
            ("0-1,6", false),
            ("", true),
        ] {
            assert_eq!(is_worst_fit(&set(found), &free), expected, "{found}");
        }
    }

    #[test]
    fn needless_sharing_is_seen() {
        let nodes = BTreeMap::from([(0, set("0-1")), (1, set("2-3")), (2, set("4-5"))]);
        let before = picture(&[(1, "0"), (2, "2")]);
        let fine = picture(&[(1, "0"), (2, "2"), (3, "4")]);
        fine.expect_no_needless_sharing(&before, &nodes).unwrap();
        let bad = picture(&[(1, "0"), (2, "2"), (3, "1")]);
        assert!(bad.expect_no_needless_sharing(&before, &nodes).is_err());
        // Nothing was free before, so a program that shares may stay.
        let full = picture(&[(1, "0"), (2, "2"), (3, "4"), (4, "1")]);
        picture(&[(1, "0"), (2, "2"), (4, "1")]).expect_no_needless_sharing(&full, &nodes).unwrap();
        assert!(picture(&[(1, "0-1"), (2, "1-2")]).expect_apart().is_err());
        fine.expect_apart().unwrap();
    }
}
