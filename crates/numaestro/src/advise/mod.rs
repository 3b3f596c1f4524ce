//! `numaestro advise`: says which processors and nodes a program would get now. Asks the manager,
//! or looks at the machine where there is none, and prints the answer for people, shells,
//! `taskset`, `numactl` or programs. It starts and changes nothing.

mod alone;
mod forms;
mod words;

use crate::cli::AdviseArgs;
use crate::manager::{self, Manager};
use crate::{command_line, machine_here, say};
use numaestro_abi::control::{Advice, Options, Reply, Request};
use numaestro_host::numa::{NodeMemory, node_memory};
use numaestro_topology::Machine;
use serde::Serialize;
use std::ffi::OsString;
use std::io::Write;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

/// One NUMA node of the machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[allow(clippy::struct_field_names, reason = "the names are those of the JSON")]
pub struct Node {
    /// OS index.
    node: u32,
    /// Its processors, Linux list.
    cpus: String,
    /// Bytes; absent where the system does not say.
    memory: Option<u64>,
    /// Bytes.
    memory_free: Option<u64>,
    /// To each node in this order; 10 = local.
    distances: Vec<u32>,
}

/// The output of `--json`.
#[derive(Debug, Serialize)]
struct Shown<'a> {
    /// A manager has answered.
    running: bool,
    /// Its runtime directory.
    dir: &'a Path,
    #[serde(flatten)]
    advice: &'a Advice,
    /// Threads to use: the number of processors, as far as the program can use them.
    threads: u32,
    /// By OS index.
    nodes_of_machine: Vec<Node>,
    /// With a command: its words, after those that place it.
    #[serde(skip_serializing_if = "Option::is_none")]
    command: Option<Vec<String>>,
}

/// The subcommand.
pub fn advise(dir: Option<PathBuf>, args: &AdviseArgs) -> anyhow::Result<u8> {
    if let (Some(min), Some(cpus)) = (args.min, args.cpus)
        && min > cpus
    {
        let what = format!("--min {min} is more than --cpus {cpus}");
        return Err(say::Failure::error(say::USAGE, what, "give a --min that is not above --cpus"));
    }
    let memory = node_memory().unwrap_or_default();
    if let (Some(wanted), 1..) = (args.mem, memory.len()) {
        fits(wanted, memory.iter().map(|node| node.total).sum())?;
    }
    let dir = manager::directory(dir)?;
    let options = Options { min: args.min, max: args.cpus, memory: args.mem, ..Options::default() };
    let (advice, running) = match Manager::reach(&dir) {
        Ok(mut manager) => (asked(&mut manager, options)?, true),
        Err(error) if manager::is_absent(&error) => (alone::look(&options)?, false),
        Err(_) => (asked(&mut Manager::required(Some(dir.clone()))?, options)?, true),
    };
    let threads = threads(&advice, args.cpus);
    let waits = advice.cpus.is_empty();
    let form = Form::of(args);
    let out = match form {
        Form::Json => {
            let command = (!args.command.is_empty() && !waits).then(|| forms::placed(&advice, threads, &args.command));
            let lossy = |words: Vec<OsString>| words.iter().map(|word| word.to_string_lossy().into_owned()).collect();
            let nodes_of_machine = nodes(&machine_here::this_machine()?, &memory);
            let command = command.map(lossy);
            let shown = Shown { running, dir: &dir, advice: &advice, threads, nodes_of_machine, command };
            format!("{}\n", serde_json::to_string(&shown)?).into_bytes()
        }
        Form::Count => format!("{}\n", threads.max(1)).into_bytes(),
        Form::People if args.command.is_empty() => words::tell(
            &advice,
            running,
            &nodes(&machine_here::this_machine()?, &memory),
            say::colours(&std::io::stdout()),
        )
        .into_bytes(),
        _ if waits => Vec::new(),
        Form::Env if args.command.is_empty() => forms::exports(&advice, threads).into_bytes(),
        form => {
            let words = match form {
                Form::Env => forms::environment(&advice, threads),
                Form::Taskset => forms::taskset(&advice),
                Form::Numactl => forms::numactl(&advice),
                _ => forms::placed(&advice, threads, &[]),
            };
            command_line::line(words.into_iter().chain(args.command.iter().cloned())).into_vec()
        }
    };
    let mut stdout = std::io::stdout().lock();
    stdout.write_all(&out)?;
    stdout.flush()?;
    let free = memory.iter().map(|node| node.free).sum();
    if let (Some(wanted), 1.., true) = (args.mem, memory.len(), !matches!(form, Form::People | Form::Json))
        && wanted > free
    {
        say::note(&format!(
            "{} are free now, not {}: it may have to wait for memory",
            say::size(free),
            say::size(wanted)
        ));
    }
    if !waits {
        return Ok(say::OK);
    }
    if !matches!(form, Form::People | Form::Json) || !args.command.is_empty() {
        say::note(&format!(
            "{}: `numaestro run --wait -- PROGRAM` starts it as soon as it can",
            words::sentence(&advice)
        ));
    }
    Ok(say::REFUSED)
}

/// Refuses memory that the machine does not have.
fn fits(wanted: u64, total: u64) -> anyhow::Result<()> {
    if wanted <= total {
        return Ok(());
    }
    let what = format!("--mem asks for {}, and this machine has {} of memory", say::size(wanted), say::size(total));
    Err(say::Failure::error(say::USAGE, what, "give the memory that the program is going to use here"))
}

/// The form of the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    People,
    Json,
    Env,
    Taskset,
    Numactl,
    Count,
}

impl Form {
    fn of(args: &AdviseArgs) -> Self {
        let forms = [
            (args.json, Self::Json),
            (args.env, Self::Env),
            (args.taskset, Self::Taskset),
            (args.numactl, Self::Numactl),
            (args.count, Self::Count),
        ];
        forms.into_iter().find(|(wanted, _)| *wanted).map_or(Self::People, |(_, form)| form)
    }
}

fn asked(manager: &mut Manager, options: Options) -> anyhow::Result<Advice> {
    match manager.ask(&Request::Advise { options })? {
        Reply::Advice(advice) => Ok(advice),
        other => Err(manager::unexpected(&other)),
    }
}

/// Threads to use: as many as the processors that the program can use, its own or shared; 0 if it
/// would wait.
fn threads(advice: &Advice, wanted: Option<u32>) -> u32 {
    let on = advice.cpus.parse::<numaestro_topology::CpuSet>().map_or(0, |cpus| cpus.len() as u32);
    let most = if advice.count > 0 { advice.count } else { on };
    most.min(wanted.unwrap_or(u32::MAX))
}

/// The nodes of the machine, with their memory.
fn nodes(machine: &Machine, memory: &[NodeMemory]) -> Vec<Node> {
    let nodes = machine.numa_nodes();
    let ids = (0..nodes.len() as u32).map(numaestro_topology::NumaNodeId);
    ids.map(|id| {
        let node = &nodes[id.index()];
        let found = memory.iter().find(|memory| memory.node == node.os_index);
        let others = (0..nodes.len() as u32).map(numaestro_topology::NumaNodeId);
        Node {
            node: node.os_index,
            cpus: machine.os_cpuset(&node.pus).to_string(),
            memory: found.map(|memory| memory.total),
            memory_free: found.map(|memory| memory.free),
            distances: others.map(|other| machine.node_distance(id, other)).collect(),
        }
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_memory_than_the_machine_has_is_refused() {
        fits(24 << 30, 24 << 30).expect("all of it");
        let error = fits(900 << 30, 24 << 30).expect_err("more");
        assert_eq!(error.downcast_ref::<say::Failure>().map(|failure| failure.code), Some(say::USAGE));
        assert_eq!(error.to_string(), "--mem asks for 900.0 GiB, and this machine has 24.0 GiB of memory");
    }
}
