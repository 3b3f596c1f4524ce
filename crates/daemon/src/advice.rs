//! What a program would get if it came now: asked of a copy of the engine, for people and for programs. It must not change anything.

use std::os::fd::AsFd;

use numaestro_abi::attach::code;
use numaestro_abi::control::{self, Options, Reply};
use numaestro_engine::{Advice, Class, Wish};
use numaestro_host::{monotonic_ns, numa, socket};
use numaestro_topology::{CpuSet, Machine, NumaNodeId};

use crate::manager::Manager;
use crate::wire::{self, Question};

impl Manager {
    /// Somebody asks on the control socket.
    pub(crate) fn advise_asked(&mut self, number: u64, options: &Options) {
        match self.advice(options) {
            Ok(advice) => {
                let advice = self.advice_in_words(&advice);
                self.reply(number, &Reply::Advice(advice));
            }
            Err(reason) => self.refuse(number, &reason, "ask for less, or look at `numaestro status`"),
        }
    }

    /// A program asks on the attach socket.
    pub(crate) fn advise_program(&mut self, number: u64, question: Question) {
        let positive = |value: u32| (value > 0).then_some(value);
        let options = Options {
            min: positive(question.min),
            max: positive(question.processors),
            memory: (question.memory > 0).then_some(question.memory),
            ..Options::default()
        };
        let answer = match self.advice(&options) {
            Ok(advice) => wire::advised(&advice, self.brain.machine()),
            Err(reason) => wire::advised_against(code::REFUSED, &reason),
        };
        if let Some(connection) = self.connections.get(&number) {
            // Whoever does not read has asked in vain.
            let _ = socket::send(connection.fd.as_fd(), &answer, None);
        }
    }

    /// What `run` with these options would lead to, or why it would be refused.
    fn advice(&self, options: &Options) -> Result<Advice, String> {
        let most = (self.usable.len() as u32).max(1);
        let wish = Wish {
            min: options.min.unwrap_or(1).max(1),
            max: options.max.unwrap_or(u32::MAX).max(1),
            weight_milli: options.weight_milli.unwrap_or(1000).max(1),
            class: Class::Fold,
            wait: options.wait,
            estimate_ns: options.estimate_ns,
            memory: options.memory.unwrap_or(0),
            ..Wish::new(options.max.unwrap_or(most).clamp(1, most))
        };
        let free = free_memory(self.brain.machine());
        self.brain.advise(monotonic_ns(), &wish, &free)
    }

    /// The same with the numbers that Linux gives processors and nodes.
    fn advice_in_words(&self, advice: &Advice) -> control::Advice {
        let machine = self.brain.machine();
        control::Advice {
            count: advice.count,
            cpus: machine.os_cpuset(&advice.pus).to_string(),
            free: machine.os_cpuset(&advice.free).to_string(),
            shared: advice.shared,
            position: advice.position,
            nodes: node_list(machine, &advice.nodes).to_string(),
            memory_nodes: node_list(machine, &advice.memory_nodes).to_string(),
            memory_free: advice.memory_free,
            why: advice.why.clone(),
        }
    }
}

/// Bytes by NUMA node of the machine; empty where the system does not say.
fn free_memory(machine: &Machine) -> Vec<u64> {
    let Ok(found) = numa::node_memory() else { return Vec::new() };
    let free = |os: u32| found.iter().find(|memory| memory.node == os).map_or(0, |memory| memory.free);
    machine.numa_nodes().iter().map(|node| free(node.os_index)).collect()
}

/// Nodes by the numbers that Linux gives them.
pub(crate) fn node_list(machine: &Machine, nodes: &[NumaNodeId]) -> CpuSet {
    nodes.iter().map(|node| machine.numa_nodes()[node.index()].os_index).collect()
}
