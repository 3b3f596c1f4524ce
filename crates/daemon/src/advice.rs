//! What a program would get if it came now: asked of a copy of the engine, for people and for programs, within the rights, the party and the
//! cgroup's limits of whoever asks. It must not give anything.

use std::os::fd::AsFd;

use numaestro_abi::attach::code;
use numaestro_abi::control::{self, Options, Reply};
use numaestro_engine::{Advice, Class, Wish};
use numaestro_host::cgroup::Hierarchies;
use numaestro_host::{monotonic_ns, numa, procfs, socket};
use numaestro_topology::{CpuSet, Machine, NumaNodeId};

use crate::manager::Manager;
use crate::quota::Allowed;
use crate::rights::{Refusal, Who};
use crate::wire::{self, Question};

impl Manager {
    /// Somebody asks on the control socket.
    pub(crate) fn advise_asked(&mut self, number: u64, who: Who, options: &Options) {
        match self.advice(who, options) {
            Ok(advice) => {
                let advice = self.advice_in_words(&advice);
                self.reply(number, &Reply::Advice(advice));
            }
            Err(refusal) => self.say_no(number, &refusal),
        }
    }

    /// A program asks on the attach socket.
    pub(crate) fn advise_program(&mut self, number: u64, who: Who, question: Question) {
        let positive = |value: u32| (value > 0).then_some(value);
        let options = Options {
            min: positive(question.min),
            max: positive(question.processors),
            memory: (question.memory > 0).then_some(question.memory),
            ..Options::default()
        };
        let answer = match self.advice(who, &options) {
            Ok(advice) => wire::advised(&advice, self.brain.machine()),
            Err(refusal) => wire::advised_against(code::REFUSED, &refusal.reason),
        };
        if let Some(connection) = self.connections.get(&number) {
            // Whoever does not read has asked in vain.
            let _ = socket::send(connection.fd.as_fd(), &answer, None);
        }
    }

    /// What `run` with these options would lead to, or why it would be refused.
    fn advice(&mut self, who: Who, options: &Options) -> Result<Advice, Refusal> {
        self.may_start(who)?;
        self.may_wish(who.peer.uid, options)?;
        let most = (self.usable.len() as u32).max(1);
        let allowed = self.allowed_for(who.peer.pid);
        let wanted = options.max.unwrap_or(most).clamp(1, most);
        let wish = Wish {
            min: options.min.unwrap_or(1).max(1),
            max: options.max.unwrap_or(u32::MAX).max(1),
            weight_milli: options.weight_milli.unwrap_or(1000).max(1),
            class: Class::Fold,
            wait: options.wait,
            estimate_ns: options.estimate_ns,
            memory: options.memory.unwrap_or(0),
            party: self.user(who.peer.uid).party,
            ..Wish::new(wanted.min(allowed.most.unwrap_or(u32::MAX)))
        };
        let free = free_memory(self.brain.machine());
        let found = self.brain.advise(monotonic_ns(), &wish, &free);
        let mut found = found.map_err(|reason| Refusal::new(reason, "ask for less, or look at `numaestro status`"))?;
        if allowed.most.is_some_and(|most| most < wanted) {
            found.why = format!("{}; {}", found.why, allowed.why);
        }
        Ok(found)
    }

    /// What the groups of the asking process allow, which a program that it starts is in too; but for those that the manager has made.
    fn allowed_for(&self, pid: u32) -> Allowed {
        let in_ours = |pid: &u32| {
            let entry = self.by_pid.get(pid).and_then(|app| self.apps.get(app));
            entry.is_some_and(|entry| entry.cpuset.is_some())
        };
        let confined_by_us = in_ours(&pid) || procfs::ancestors(pid).iter().any(in_ours);
        Allowed::of(&Hierarchies::read(), pid, &self.usable, confined_by_us).unwrap_or_default()
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
