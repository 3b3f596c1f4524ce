//! Slurm's commands: what a cluster has, submitting an array job, watching it, ending it. Nothing
//! here knows what the tasks do.

use crate::say::{self, Failure};
use anyhow::Context;
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::io::{ErrorKind, Write};
use std::process::{Command, Stdio};

/// Numbers of tasks below this are allowed where the cluster does not say it.
const ARRAY_SIZE: u32 = 1001;

/// A part of the cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Partition {
    /// Its name.
    pub name: String,
    /// Jobs that name none come here.
    pub default: bool,
    /// Nodes.
    pub nodes: u32,
    /// Processors of the nodes that work.
    pub processors: u32,
}

/// An array job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Job {
    /// Its number.
    pub number: String,
    /// The cluster, where sbatch has said one.
    pub cluster: Option<String>,
}

/// Where a task is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum State {
    /// It has not begun; Slurm's reason.
    Waits(String),
    /// It runs, or is just ending.
    Runs,
    /// It has ended, in Slurm's word for it.
    Ended(String),
}

impl State {
    /// It has not ended.
    pub const fn is_active(&self) -> bool {
        matches!(self, Self::Waits(_) | Self::Runs)
    }
}

/// A task of an array job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Task {
    /// Its number in the array.
    pub number: u32,
    /// Where it is.
    pub state: State,
    /// The node it is or was on; empty if none.
    pub node: String,
}

/// Runs a command of Slurm; what it says.
fn ask(command: &mut Command, input: &[u8]) -> anyhow::Result<String> {
    let name = command.get_program().to_string_lossy().into_owned();
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = match command.spawn() {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let next = "call this where jobs can be submitted (on a login node), or leave --slurm out; \
                        `--part K/N` shares the runs by other means";
            return Err(Failure::error(say::UNAVAILABLE, format!("there is no `{name}` here: no Slurm"), next));
        }
        child => child.with_context(|| format!("cannot start {name}"))?,
    };
    if let Some(mut stdin) = child.stdin.take() {
        // One that ends without reading says why below.
        let _ = stdin.write_all(input);
    }
    let output = child.wait_with_output().with_context(|| format!("cannot wait for {name}"))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let own = |line: &str| line.trim_start_matches(&format!("{name}: ")).trim_start_matches("error: ").to_owned();
    let said: Vec<String> = said.lines().map(own).collect();
    let what = format!("{name} has failed: {}", said.join("; "));
    Err(if name == "sbatch" {
        let next = "--partition, --nodes, --workers and --sbatch go to sbatch; `man sbatch` has its options";
        Failure::error(say::FAILED, what, next)
    } else {
        let next =
            "try `sinfo`, which asks the same cluster; SLURM_CONF names its configuration if it is not the usual one";
        Failure::error(say::UNAVAILABLE, what, next)
    })
}

/// The partition of this name, or the cluster's default.
///
/// # Errors
/// There is none; the names that there are.
pub fn partition(name: Option<&str>) -> anyhow::Result<Partition> {
    let said = ask(Command::new("sinfo").args(["--noheader", "--all", "--format", "%P|%D|%C"]), b"")?;
    let all = partitions(&said);
    let of_sbatch = std::env::var("SBATCH_PARTITION").ok();
    let name = name.or(of_sbatch.as_deref());
    let wanted = |one: &&Partition| name.map_or(one.default, |name| one.name == name);
    if let Some(found) = all.iter().find(wanted) {
        return Ok(found.clone());
    }
    let names: Vec<&str> = all.iter().map(|one| one.name.as_str()).collect();
    let what = name.map_or_else(
        || "the cluster has no default partition".to_owned(),
        |name| format!("the cluster has no partition `{name}`"),
    );
    Err(Failure::error(say::USAGE, what, format!("name one by --partition: {}", names.join(", "))))
}

fn partitions(said: &str) -> Vec<Partition> {
    let mut all: Vec<Partition> = Vec::new();
    for line in said.lines() {
        let fields: Vec<&str> = line.split('|').collect();
        let &[name, nodes, processors] = fields.as_slice() else { continue };
        let (name, default) = name.strip_suffix('*').map_or((name, false), |name| (name, true));
        // Allocated, idle, other (of nodes that do not work), all.
        let counts: Vec<u32> = processors.split('/').filter_map(|count| count.parse().ok()).collect();
        let (nodes, works) = (nodes.parse().unwrap_or(0), counts.iter().take(2).sum());
        match all.iter_mut().find(|one| one.name == name) {
            Some(one) => (one.nodes, one.processors) = (one.nodes + nodes, one.processors + works),
            None => all.push(Partition { name: name.to_owned(), default, nodes, processors: works }),
        }
    }
    all
}

/// The largest number that a task of an array can have here.
pub fn largest_task() -> u32 {
    let said = ask(Command::new("scontrol").args(["show", "config"]), b"").unwrap_or_default();
    let size = said.lines().find_map(|line| line.strip_prefix("MaxArraySize")?.trim_matches([' ', '=']).parse().ok());
    size.unwrap_or(ARRAY_SIZE).saturating_sub(1)
}

/// Submits a script.
///
/// # Errors
/// sbatch's own words.
pub fn submit(options: &[OsString], script: &[u8]) -> anyhow::Result<Job> {
    let said = ask(Command::new("sbatch").arg("--parsable").args(options), script)?;
    let said = said.lines().last().unwrap_or_default().trim();
    let (number, cluster) = said.split_once(';').map_or((said, None), |(number, cluster)| (number, Some(cluster)));
    anyhow::ensure!(number.parse::<u64>().is_ok(), "sbatch names no job, it says `{said}`");
    Ok(Job { number: number.to_owned(), cluster: cluster.map(ToOwned::to_owned) })
}

impl Job {
    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.args(self.cluster.iter().map(|cluster| format!("--clusters={cluster}")));
        command
    }

    /// Its tasks; none if Slurm has forgotten it, as it does some minutes after the end.
    ///
    /// # Errors
    /// Slurm does not answer.
    pub fn tasks(&self) -> anyhow::Result<Vec<Task>> {
        let mut command = self.command("squeue");
        command.args(["--noheader", "--array", "--states=all", "--format=%K|%T|%N|%r", "--jobs", &self.number]);
        match ask(&mut command, b"") {
            Ok(said) => Ok(said.lines().filter_map(task).collect()),
            Err(error) if error.to_string().contains("Invalid job id") => Ok(Vec::new()),
            Err(error) => Err(error),
        }
    }

    /// Ends all its tasks, those too that have not begun.
    ///
    /// # Errors
    /// Slurm does not answer.
    pub fn cancel(&self) -> anyhow::Result<()> {
        match ask(self.command("scancel").arg(&self.number), b"") {
            Err(error) if !error.to_string().contains("Invalid job id") => Err(error),
            _ => Ok(()),
        }
    }
}

fn task(line: &str) -> Option<Task> {
    let fields: Vec<&str> = line.split('|').collect();
    let &[number, state, node, reason] = fields.as_slice() else { return None };
    let state = match state {
        "PENDING" | "REQUEUED" | "REQUEUE_HOLD" | "SPECIAL_EXIT" => State::Waits(reason.to_owned()),
        "RUNNING" | "CONFIGURING" | "COMPLETING" | "SUSPENDED" | "STOPPED" | "SIGNALING" | "STAGE_OUT" | "RESIZING" => {
            State::Runs
        }
        ended => State::Ended(ended.to_owned()),
    };
    Some(Task { number: number.parse().ok()?, state, node: node.to_owned() })
}

/// `1-3,7` of numbers in order, as --array takes them.
pub fn array(numbers: &[u32]) -> String {
    let ranges = numbers.chunk_by(|one, next| one + 1 == *next);
    let words = ranges.map(|range| match range {
        [first, .., last] => format!("{first}-{last}"),
        _ => range[0].to_string(),
    });
    words.collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partitions_are_read_with_all_their_lines() {
        let all = partitions("main*|2|1/3/0/4\nmain*|1|0/0/2/2\nbig|10|0/640/0/640\n");
        let main = Partition { name: "main".to_owned(), default: true, nodes: 3, processors: 4 };
        assert_eq!(all[0], main);
        assert_eq!((all.len(), all[1].default, all[1].processors), (2, false, 640));
    }

    #[test]
    fn states_are_waiting_running_or_ended() {
        let of = |line: &str| task(line).expect(line);
        assert_eq!(of("3|PENDING||Resources").state, State::Waits("Resources".to_owned()));
        assert_eq!(of("3|COMPLETING|n1|None").state, State::Runs);
        let ended = Task { number: 12, state: State::Ended("NODE_FAIL".to_owned()), node: "n2".to_owned() };
        assert_eq!(of("12|NODE_FAIL|n2|NodeDown"), ended);
        assert_eq!((task("CLUSTER: c"), task("N/A|RUNNING|n1|None")), (None, None));
    }

    #[test]
    fn arrays_are_short() {
        assert_eq!(array(&[1, 2, 3, 4]), "1-4");
        assert_eq!(array(&[2, 4, 5, 9]), "2,4-5,9");
        assert_eq!((array(&[7]), array(&[])), ("7".to_owned(), String::new()));
    }
}
