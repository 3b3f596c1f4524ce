//! The jobs of a build, read from its processes. Pure.
//!
//! A job is a process without children: a compiler and the shell that waits for it are one job. The
//! topmost build tool above a job is its client of the jobserver; tools further below are jobs of
//! that one, which share its tokens.

use std::collections::{BTreeMap, BTreeSet};

use numaestro_abi::control::BuildTool;
use numaestro_host::procfs::Stat;

/// The clients of a jobserver, and the tokens that their jobs can hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Jobs {
    /// Build tools that no other one has started. Each runs one job without a token.
    pub(super) clients: u32,
    /// Jobs beyond those.
    pub(super) holdable: u32,
}

/// The build tools that start jobs by themselves.
fn tool(process: &Stat) -> Option<BuildTool> {
    BuildTool::of_name(&process.name).filter(|tool| *tool != BuildTool::Gcc)
}

/// Counts the jobs of the processes below `root`, `root` included.
pub(super) fn count(root: u32, processes: &[Stat]) -> Jobs {
    let living: BTreeMap<u32, &Stat> =
        processes.iter().filter(|process| process.state != 'Z').map(|process| (process.pid, process)).collect();
    let parents: BTreeSet<u32> = living.values().map(|process| process.parent).collect();
    let mut by_client: BTreeMap<u32, u32> = BTreeMap::new();
    for process in living.values() {
        let client = client_of(process, &living).unwrap_or(root);
        let jobs = by_client.entry(client).or_default();
        let is_leaf = !parents.contains(&process.pid);
        *jobs += u32::from(is_leaf && process.pid != client);
        // The threads of a compiler ask for tokens, too.
        if tool(process).is_none() {
            *jobs += process.threads.saturating_sub(1);
        }
    }
    let is_tool = |pid: &u32| living.get(pid).is_some_and(|process| tool(process).is_some());
    let clients = by_client.keys().filter(|pid| is_tool(pid)).count() as u32;
    let exact = |pid: u32| living.get(&pid).is_some_and(|process| tool(process) == Some(BuildTool::Make));
    // make gives a token back whenever one of its jobs ends. Others may keep the token of a job
    // that goes on, while the job without one has ended.
    let holdable = by_client.into_iter().map(|(pid, jobs)| jobs.saturating_sub(u32::from(exact(pid)))).sum();
    Jobs { clients: clients.max(1), holdable }
}

/// The topmost build tool at or above a process.
fn client_of(process: &Stat, living: &BTreeMap<u32, &Stat>) -> Option<u32> {
    let mut client = None;
    let mut at = Some(process);
    // No longer than the table: a reading in which numbers were reused may have a loop.
    for _ in 0..living.len() {
        let Some(process) = at else { break };
        if tool(process).is_some() {
            client = Some(process.pid);
        }
        at = living.get(&process.parent).copied();
    }
    client
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(pid: u32, parent: u32, name: &str, state: char, threads: u32) -> Stat {
        let line = format!("{pid} ({name}) {state} {parent} 1 1 0 -1 0 0 0 0 0 1 1 0 0 20 0 {threads} 0 5 0 0");
        numaestro_host::procfs::parse_stat(&line).unwrap()
    }

    fn check(processes: &[(u32, u32, &str)], clients: u32, holdable: u32) {
        let processes: Vec<Stat> =
            processes.iter().map(|(pid, parent, name)| process(*pid, *parent, name, 'S', 1)).collect();
        assert_eq!(count(1, &processes), Jobs { clients, holdable }, "{processes:?}");
    }

    #[test]
    fn a_job_is_what_runs_at_the_bottom() {
        check(&[(1, 0, "make")], 1, 0);
        check(&[(1, 0, "make"), (2, 1, "sh"), (3, 2, "cc1")], 1, 0);
        check(&[(1, 0, "make"), (2, 1, "sh"), (3, 2, "cc1"), (4, 1, "sleep")], 1, 1);
        check(&[(1, 0, "ninja"), (2, 1, "cc1"), (3, 1, "cc1")], 1, 2);
        // A make below another one is a job of that one until it has jobs of its own.
        check(&[(1, 0, "make"), (2, 1, "make"), (3, 1, "cc1")], 1, 1);
        check(&[(1, 0, "make"), (2, 1, "make"), (3, 2, "cc1"), (4, 2, "cc1")], 1, 1);
    }

    #[test]
    fn every_build_in_a_shell_has_a_job_without_a_token() {
        check(&[(1, 0, "bash")], 1, 0);
        check(&[(1, 0, "bash"), (2, 1, "make"), (3, 2, "cc1"), (4, 1, "make"), (5, 4, "cc1"), (6, 4, "cc1")], 2, 1);
        // A program that nobody knows as a build tool may still be a client.
        check(&[(1, 0, "scons"), (2, 1, "cc1"), (3, 1, "cc1")], 1, 2);
    }

    #[test]
    fn threads_of_compilers_count_and_dead_processes_do_not() {
        let all = [process(1, 0, "cargo", 'S', 5), process(2, 1, "rustc", 'R', 4), process(3, 1, "rustc", 'Z', 1)];
        assert_eq!(count(1, &all), Jobs { clients: 1, holdable: 4 });
        let tangled = [process(2, 3, "make", 'S', 1), process(3, 2, "sh", 'S', 1)];
        assert_eq!(count(1, &tangled).clients, 1);
    }
}
